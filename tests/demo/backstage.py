"""The preparation of the stage: it installs the product on a cluster and removes the objects of an earlier run.

Controller and webhook are separate processes under the instance's supervisor. Each has its own service account with the
shipped roles, and TLS by a CA of `testbed.product`.
"""

import json
import shutil
import time
from pathlib import Path
from typing import Any

from demo import brokers, kinds, releases, steps
from demo.errors import DemoError
from demo.narrator import Narrator
from demo.stage import OPERATOR_NAMESPACE, REGISTRIES, WEBHOOK_FILE, Stage
from testbed import install
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.paths import REPOSITORY
from testbed.product import Product
from testbed.pulsar import Pulsar

_MANIFESTS = Path(__file__).parent / "manifests"
_NAMESPACES = (steps.NAMESPACE, releases.NAMESPACE, kinds.NAMESPACE, brokers.NAMESPACE)
_APPLIED = "topicschemas,namespaceschemapolicies"
_RECORD = ("-n", OPERATOR_NAMESPACE)


def set_up(instance: Instance, cluster: Cluster, narrator: Narrator, pulsar: Pulsar | None = None) -> Stage:
    """Install the product on the cluster, start its processes in the instance, and return the stage of the steps."""
    if cluster.webhook_host is None:
        raise DemoError(
            "TOPICSCHEMA_TEST_WEBHOOK_HOST must be the address at which the cluster's API server reaches this machine"
        )
    began = time.monotonic()
    product = Product.install(instance, cluster)
    narrator.timed("custom resources, service accounts, roles, certificates", began)
    began = time.monotonic()
    product.stop()  # an earlier run's processes may run other code
    clear(cluster)
    narrator.timed("objects of an earlier run are removed", began)
    began = time.monotonic()
    product.start_webhook()
    product.start_controller()
    product.admit()
    narrator.timed("controller and webhook, each with its own service account", began)
    stage = Stage(narrator, cluster, _folder(instance), pulsar)
    (stage.folder / WEBHOOK_FILE).write_text(json.dumps(_webhooks(product), indent=1), encoding="utf-8")
    return stage


def clear(cluster: Cluster) -> None:
    """Delete the resources, events and topic records of an earlier run. No controller or webhook runs.

    The namespaces stay: deleting one takes longer than all the rest, and never ends where no controller-manager runs.
    """
    for namespace in _NAMESPACES:
        for item in cluster.get(_APPLIED, "-n", namespace)["items"]:
            if item["metadata"].get("finalizers"):
                address = (f"{item['kind']}.topicschema.io", item["metadata"]["name"], "-n", namespace)
                cluster.kubectl("patch", *address, "--type=merge", '-p={"metadata":{"finalizers":null}}')
        cluster.kubectl("delete", f"{_APPLIED},events.events.k8s.io", "--all", "-n", namespace)
    for history in _names(cluster, "schemahistories"):
        cluster.kubectl("delete", "schemaversions", *_RECORD, "-l", f"topicschema.io/history={history}")
        cluster.kubectl("delete", "schemahistories", *_RECORD, history)
    for claim in _names(cluster, "pulsarnamespaceclaims"):
        cluster.kubectl("delete", "pulsarnamespaceclaims", *_RECORD, claim)
    cluster.kubectl("delete", "schemaregistries", *REGISTRIES, "--ignore-not-found")


def _names(cluster: Cluster, kind: str) -> list[str]:
    """Return the names of the record's objects for the demo's registries."""
    items = cluster.get(kind, *_RECORD)["items"]
    return [item["metadata"]["name"] for item in items if item["spec"].get("registry") in REGISTRIES]


def _folder(instance: Instance) -> Path:
    """Return the folder in which the steps run their commands, with a fresh copy of the files that they apply."""
    folder = instance.folder / "stage"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_MANIFESTS, folder)
    return folder


def _webhooks(product: Product) -> dict[str, Any]:
    """Return the webhook configuration as `product.admit` applies it, for the step that deletes it."""
    documents = install.render(product.cluster, REPOSITORY / "manifests" / "base")
    (configuration,) = (each for each in documents if each["kind"] == "ValidatingWebhookConfiguration")
    install.point_at(configuration, product.webhook_url, product.certificate.ca)
    return configuration
