"""The quick start: the operator alone in a kind cluster, with its own store as the registry. No broker, no Spark.

    python -m demo.quickstart          create the cluster, install the chart, apply the manifests, leave it running
    python -m demo.quickstart down     delete the cluster

It needs Docker and the standard library. The testbed downloads or builds the rest.
"""

import os
import shlex
import shutil
import sys
import time
from typing import Final

from demo import command
from demo.narrator import Narrator
from testbed import docker, helm, images, instances, kind
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.paths import REPOSITORY
from testbed.progress import Progress

_NAME: Final = "quickstart"
_APPLY: Final = "kubectl apply --server-side -f"
_FILES: Final = "manifests/quickstart"
_EDITED: Final = f"{_FILES}/orders-created-with-currency.yaml"
_WITH_DEFAULT: Final = f"""sed 's/"currency", "type": "string"/&, "default": "EUR"/' {_EDITED}"""
_INSTALL: Final = (
    "helm upgrade --install topicschema charts/topicschema --namespace topicschema-system --create-namespace "
    "--set validation.enabled=false --wait --timeout 4m"
)
NEXT: Final = (
    ("Give the new field a default: the edit becomes version 1", f"{_WITH_DEFAULT} | {_APPLY} -"),
    ("See what the operator did", "kubectl describe tsc orders-created -n shop"),
    ("Delete the resource: the versions stay", "kubectl delete tsc orders-created -n shop"),
    ("The versions", "kubectl get schemahistories,schemaversions -n topicschema-system"),
)
"""Next steps for a person, with their commands."""


def start(narrator: Narrator) -> None:
    """Create the cluster, install the operator, run the steps, and print the next ones."""
    narrator.step(
        "A cluster for the operator",
        "kind creates a Kubernetes cluster in Docker. It needs no Pulsar: the operator's own store is the registry.",
    )
    began = time.monotonic()
    with instances.locked(_NAME):
        instance, progress = Instance.open(_NAME), Progress()
        docker.start(instance, progress)
        image = images.build("operator", progress)
        node = kind.Node.start(instance, progress)
        node.load(image.archive)
    narrator.timed("the cluster, with the operator's image", began)
    environment = _environment(node.cluster)
    narrator.step("Install", "The chart, without validation jobs: they need a second image and a Pulsar cluster.")
    narrator.run(_INSTALL, REPOSITORY, environment)
    run_steps(narrator, environment)
    _print_next_steps(narrator, environment)


def run_steps(narrator: Narrator, environment: dict[str, str]) -> None:
    """Apply the manifests. Raise DemoError at the first unexpected result."""

    def run(line: str, *, fails: bool = False) -> str:
        return narrator.run(line, REPOSITORY, environment, fails=fails).output

    narrator.step("A policy and a schema", "Each accepted text becomes the topic's next schema version.")
    run(f"{_APPLY} {_FILES}/namespace.yaml")
    run(f"cat {_FILES}/policy.yaml")
    run(f"{_APPLY} {_FILES}/policy.yaml")
    run(f"cat {_FILES}/orders-created.yaml")
    run(f"{_APPLY} {_FILES}/orders-created.yaml")
    run("kubectl wait --for=condition=Ready nsp/orders tsc/orders-created -n shop --timeout=60s")
    run("kubectl get tsc -n shop")
    narrator.step("A rejected edit", "Consumers with this schema could not read the messages that the topic holds.")
    run(f"diff -U1 {_FILES}/orders-created.yaml {_EDITED}", fails=True)
    refused = run(f"{_APPLY} {_EDITED}", fails=True)
    named = "FIELD_WITHOUT_DEFAULT at $.fields[2]" in refused
    narrator.claim("the webhook rejects the edit, with rule and path", holds=named, instead=refused)


def _environment(cluster: Cluster) -> dict[str, str]:
    """Return the environment in which kubectl and helm use the cluster."""
    environment = {**cluster.environment(), **helm.environment()}
    if shutil.which("helm") is None:
        environment["PATH"] += f"{os.pathsep}{helm.program().parent}"
    return environment


def _print_next_steps(narrator: Narrator, environment: dict[str, str]) -> None:
    narrator.step("What next", "The cluster keeps running. In the folder of this repository, try:")
    narrator.line(f"\nexport KUBECONFIG={shlex.quote(environment['KUBECONFIG'])}")
    if missing := [each for each in ("kubectl", "helm") if shutil.which(each) is None]:
        folders = [os.path.dirname(shutil.which(each, path=environment["PATH"]) or "") for each in missing]  # noqa: PTH120
        narrator.line(f"export PATH=$PATH:{shlex.quote(os.pathsep.join(dict.fromkeys(folders)))}")
    for title, line in NEXT:
        narrator.line(f"\n# {title}\n{line}")
    narrator.line("\n# With a Pulsar cluster: docs/first-steps.md. The end:\nmake quickstart-down")


def down() -> None:
    with instances.locked(_NAME):
        gone = instances.remove(_NAME)
        if gone and (engine := docker.of_the_machine()):
            kind.clusters(engine, Progress())  # deletes one that was running when the machine went down
    print("the quick start's cluster is deleted" if gone else "the quick start does not run")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    return command.run(_NAME, __doc__, lambda: start(Narrator(timeout=300)), down, arguments)


if __name__ == "__main__":
    sys.exit(main())
