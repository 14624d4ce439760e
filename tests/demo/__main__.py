"""`python -m demo` runs the demo. `python -m demo down` stops it.

With CI=true the demo stops what it started. Exit status: 0 if every command had its announced result, 1 if one had not,
130 if the demo was interrupted.
"""

import contextlib
import fcntl
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from demo import backstage, brokers, command, kinds, releases, steps
from demo.errors import DemoError
from demo.narrator import Narrator
from demo.stage import OPERATOR_NAMESPACE, Stage
from testbed import clusters, instances, paths
from testbed.brokers import start as start_broker
from testbed.instances import Instance
from testbed.progress import Progress

_NAME = "demo"
_LOG_TAIL = 3000


def perform() -> None:
    """Start everything, run all steps, and print how to explore the result."""
    narrator = Narrator()
    narrator.step(
        "Setting the stage", "Start a Kubernetes API server, a broker if this machine can run one, and the operator."
    )
    stays = os.environ.get("CI") != "true" or Instance.find(_NAME) is not None
    try:
        began = time.monotonic()
        no_broker = brokers.why_absent()
        with instances.locked(_NAME):
            instance = Instance.open(_NAME)
            cluster = clusters.start(instance, Progress(), manager=False)  # no step needs it
            pulsar = None if no_broker else start_broker(instance)
        narrator.timed(f"the cluster, at {cluster.server()}{'' if no_broker else ', and a Pulsar broker'}", began)
        stage = backstage.set_up(instance, cluster, narrator, pulsar)
        steps.perform(stage)
        releases.perform(stage)
        kinds.perform(stage)
        if no_broker:
            brokers.skip(stage, no_broker)
        else:
            brokers.perform(stage)
        narrator.step("The demo succeeded", "Every command had the announced result, and every check passed.")
        if stays:
            print_next_steps(stage, instance)
    except DemoError:
        show_logs(narrator)
        raise
    finally:
        if not stays:
            down()


def print_next_steps(stage: Stage, instance: Instance) -> None:
    """Print what still runs, how to explore it, and how to stop it."""
    environment = stage.environment()
    program = stage.cluster.kubectl_program.parent
    stage.narrator.note(
        "Cluster, controller and webhook keep running. After a day their service account tokens "
        "expire. To look around, run:"
    )
    of_broker = [
        f"export {name}={shlex.quote(environment[name])}"
        for name in ("PULSAR_SERVICE_URL", "SCHEMAS")
        if name in environment
    ]
    for line in (
        "",
        *of_broker,
        f"export KUBECONFIG={shlex.quote(environment['KUBECONFIG'])}",
        f"export PATH={shlex.quote(str(program))}:$PATH",
        f"cd {shlex.quote(str(stage.folder))}",
        "",
        "kubectl get topicschemas,namespaceschemapolicies -A",
        f"kubectl describe tsc {steps.NAME} -n {steps.NAMESPACE}",
        f"kubectl get schemahistories,schemaversions,pulsarnamespaceclaims -n {OPERATOR_NAMESPACE}",
        f"kubectl edit tsc {steps.NAME} -n {steps.NAMESPACE}      # break something",
        f"tail -f {shlex.quote(str(instance.folder / 'logs'))}/{{controller,webhook}}.log",
        "",
        f"make -C {shlex.quote(str(Path.cwd()))} demo-down      # stop everything",
    ):
        stage.narrator.line(line)


def show_logs(narrator: Narrator) -> None:
    for log in (paths.instance(_NAME) / "logs" / f"{role}.log" for role in ("controller", "webhook")):
        if log.exists():
            narrator.line(f"\nthe end of {log}:")
            narrator.line(log.read_bytes()[-_LOG_TAIL:].decode("utf-8", errors="replace"))


def down() -> None:
    """End all processes of the demo's supervisor."""
    with instances.locked(_NAME):
        gone = instances.remove(_NAME)
    print("the demo has ended" if gone else "no demo is running")


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Allow one demo at a time. The kernel releases the lock if a demo is killed."""
    folder = paths.instances()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / f".{_NAME}.performing").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DemoError("another demo is running; wait for its end, or stop it first") from error
        yield


def perform_exclusively() -> None:
    """Run the demo unless another process runs it."""
    with alone():
        perform()


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    return command.run(_NAME, __doc__, perform_exclusively, down, arguments)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # on SIGTERM it still ends what it started
    sys.exit(main())
