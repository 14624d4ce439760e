"""The manifests on a real API server: each account may do what its process does, and nothing else."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from cluster.wrong_objects import POLICY, STRING, TOPIC
from support.kubernetes.plain_api import Api
from testbed import install
from testbed.cluster import Cluster
from testbed.controlplane import ControlPlane

BASE = Path(__file__).parents[2] / "manifests" / "base"
OWN = "topicschema-system"
OTHER = "default"
RUNS = "topicschema-validation"

CONTROLLER_MAY = [
    ("get list watch patch", "topicschemas", OTHER),
    ("get list watch", "namespaceschemapolicies", OTHER),
    ("get list watch", "schemaregistries", ""),
    ("patch update", "schemaregistries/status", ""),
    ("patch update", "topicschemas/status", OTHER),
    ("patch update", "namespaceschemapolicies/status", OTHER),
    ("get list watch", "namespaces", ""),
    ("get create patch", "events.events.k8s.io", OTHER),
    ("get list watch", "secrets", OWN),
    ("get list watch create patch delete", "schemahistories", OWN),
    ("get list create patch delete", "schemaversions", OWN),
    ("get list create patch", "pulsarnamespaceclaims", OWN),
    ("create", "leases", OWN),
    ("get update", "leases/topicschema-controller", OWN),
    ("get list watch create patch delete", "jobs.batch", RUNS),
    ("get create", "configmaps", RUNS),
    ("list watch", "pods", RUNS),
    ("get", "pods/log", RUNS),
    ("list", "events", RUNS),
    ("create patch delete", "configmaps", OTHER),
]
CONTROLLER_MAY_NOT = [
    ("create update delete deletecollection", "topicschemas", OTHER),
    ("create update patch delete", "namespaceschemapolicies", OTHER),
    ("get list create", "schemahistories", OTHER),
    ("watch", "schemaversions", OWN),
    ("watch delete", "pulsarnamespaceclaims", OWN),
    ("update deletecollection", "schemaversions", OWN),
    ("delete deletecollection", "events.events.k8s.io", OTHER),
    ("get update", "leases/another", OWN),
    ("create", "leases", OTHER),
    ("update patch delete", "namespaces", ""),
    ("create update patch delete deletecollection", "schemaregistries", ""),
    ("get list watch create update patch delete deletecollection", "secrets", OTHER),
    ("get list watch create update patch delete deletecollection", "secrets", RUNS),
    ("create update patch delete deletecollection", "secrets", OWN),
    ("get create delete", "pods", RUNS),
    ("get list watch create delete", "pods", OTHER),
    ("get list update deletecollection", "configmaps", OTHER),
    ("update", "jobs.batch", RUNS),
    ("get list watch create patch delete", "jobs.batch", OTHER),
    ("get", "pods/log", OTHER),
    ("get update", "validatingwebhookconfigurations", ""),
]
WEBHOOK_MAY = [
    ("get", "topicschemas", OTHER),
    ("get", "schemaregistries", ""),
    ("get list", "namespaceschemapolicies", OTHER),
    ("get", "namespaces", ""),
    ("get list", "schemahistories", OWN),
    ("get list", "schemaversions", OWN),
    ("get list", "pulsarnamespaceclaims", OWN),
]
WEBHOOK_MAY_NOT = [
    ("create update patch delete", "topicschemas", OTHER),
    ("patch update", "topicschemas/status", OTHER),
    ("create update patch delete", "schemahistories", OWN),
    ("list", "topicschemas", OTHER),
    ("get list", "schemahistories", OTHER),
    ("create", "events.events.k8s.io", OTHER),
    ("get list", "secrets", OWN),
    ("create", "subjectaccessreviews.authorization.k8s.io", ""),
    ("list watch create update patch delete", "schemaregistries", ""),
]
DRIVERS_MAY = [("get list watch create delete deletecollection", "pods", RUNS)]
DRIVERS_MAY_NOT = [
    ("update patch", "pods", RUNS),
    ("create", "pods", OTHER),
    ("get list", "secrets", RUNS),
    ("get list", "configmaps", RUNS),
    ("create", "jobs.batch", RUNS),
    ("get list", "topicschemas", OTHER),
]


GROUPS = {
    "leases": "coordination.k8s.io",
    "validatingwebhookconfigurations": "admissionregistration.k8s.io",
} | dict.fromkeys(
    (
        "topicschemas",
        "namespaceschemapolicies",
        "schemaregistries",
        "schemahistories",
        "schemaversions",
        "pulsarnamespaceclaims",
    ),
    "topicschema.io",
)


class Grant(NamedTuple):
    """One query of the server's authorizer, and the expected answer."""

    account: str
    expected: str
    verbs: str
    resource: str
    namespace: str


TABLE = [
    Grant(account, expected, *row)
    for account, rows, expected in (
        ("topicschema-controller", CONTROLLER_MAY, "yes"),
        ("topicschema-controller", CONTROLLER_MAY_NOT, "no"),
        ("topicschema-webhook", WEBHOOK_MAY, "yes"),
        ("topicschema-webhook", WEBHOOK_MAY_NOT, "no"),
        ("topicschema-validation", DRIVERS_MAY, "yes"),
        ("topicschema-validation", DRIVERS_MAY_NOT, "no"),
    )
    for row in rows
]


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Cluster:
    install.install_crds(cluster)
    install.install_manifests(cluster)
    return cluster


@pytest.mark.parametrize("grant", TABLE, ids=" ".join)
def test_an_account_may_do_what_its_process_does_and_no_more(installed: Cluster, grant: Grant) -> None:
    place = RUNS if grant.account == RUNS else OWN
    user = f"system:serviceaccount:{place}:{grant.account}"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{place}", "system:authenticated"]
    for verb in grant.verbs.split():
        attributes = {"namespace": grant.namespace, "verb": verb, **target(grant.resource)}
        review = {"spec": {"user": user, "groups": groups, "resourceAttributes": attributes}}
        answer = Api(installed).create("subjectaccessreviews", "", review)["status"]
        assert answer["allowed"] == (grant.expected == "yes"), f"{verb}: {answer}"


def test_the_roles_of_kubernetes_contain_the_resources_of_users(installed: Cluster, namespace: str) -> None:
    """Wait until the controller-manager has aggregated the roles."""
    for role in ("view", "edit", "admin"):
        installed.kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--user={role}er", "-n", namespace)

    def may(user: str, verb: str, resource: str) -> bool:
        done = installed.try_kubectl("auth", "can-i", verb, resource, "-n", namespace, f"--as={user}")
        return done.stdout.strip() == "yes"

    deadline = time.monotonic() + 120
    while not (may("adminer", "create", "topicschemas") and may("viewer", "list", "topicschemas")):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    for user, verb, resource, expected in (
        ("viewer", "get", "namespaceschemapolicies", True),
        ("viewer", "create", "topicschemas", False),
        ("editer", "delete", "topicschemas", True),
        ("editer", "get", "namespaceschemapolicies", True),
        ("adminer", "patch", "namespaceschemapolicies", False),
        ("adminer", "get", "schemahistories", False),
        ("editer", "create", "schemaregistries", False),
        ("adminer", "get", "schemaregistries", False),
    ):
        assert may(user, verb, resource) is expected, (user, verb, resource)


def target(resource: str) -> dict[str, str]:
    """Return the attributes of `RESOURCE[.GROUP][/status]` or `RESOURCE[.GROUP]/NAME`, as in `kubectl auth can-i`."""
    kind, _, rest = resource.partition("/")
    plural, _, group = kind.partition(".")
    part = {"subresource": rest} if rest in ("status", "log") else {"name": rest}
    return {"resource": plural, "group": group or GROUPS.get(plural, ""), **part}


def test_everything_is_accepted_by_the_server_and_the_pods_are_restricted(installed: Cluster) -> None:
    documents = install.render(installed, BASE)
    done = installed.try_kubectl(
        "apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-", stdin=install.as_list(documents)
    )
    assert done.returncode == 0, done.stderr
    assert "PodSecurity" not in done.stderr
    assert {document["kind"] for document in documents} >= {"Deployment", "PodDisruptionBudget", "Service"}


def test_the_webhook_reviews_creations_and_updates_and_fails_closed() -> None:
    configuration, *_ = yaml.safe_load_all((BASE / "webhook.yaml").read_text())
    assert [rule["resources"] for each in configuration["webhooks"] for rule in each["rules"]] == [
        ["topicschemas"],
        ["namespaceschemapolicies"],
    ]
    for webhook in configuration["webhooks"]:
        assert (webhook["failurePolicy"], webhook["sideEffects"]) == ("Fail", "None")
        assert [rule["operations"] for rule in webhook["rules"]] == [["CREATE", "UPDATE"]]


def test_the_overlay_to_copy_is_the_base_with_its_images_and_metrics(cluster: Cluster) -> None:
    made = install.render(cluster, BASE.parent / "examples" / "overlay")
    by_kind = {each["kind"]: each for each in made}
    assert by_kind.keys() >= {"Certificate", "PodMonitor", "PrometheusRule"}
    scraped = by_kind["PodMonitor"]["spec"]
    for deployment in (each for each in made if each["kind"] == "Deployment"):
        template = deployment["spec"]["template"]
        [container] = template["spec"]["containers"]
        assert container["image"] == "registry.example/topicschema:0.1.0"
        environment = {each["name"]: each.get("value") for each in container["env"]}
        assert environment.get("TOPICSCHEMA_VALIDATION_IMAGE", "registry.example/").startswith("registry.example/")
        assert scraped["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
        assert scraped["podMetricsEndpoints"][0]["port"] in {each["name"] for each in container["ports"]}


@pytest.fixture(scope="module")
def unavailable_webhook(spare: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield the spare cluster, whose webhook does not respond; its objects were stored before."""
    ca = tmp_path_factory.mktemp("ca") / "ca.pem"
    ca.write_text("no process reads this")
    cluster = spare.cluster
    install.install_crds(cluster)
    cluster.kubectl("create", "-f", "-", stdin=install.as_list([TOPIC, POLICY]))
    install.install_manifests(cluster, "https://127.0.0.1:1", ca)
    try:
        deadline = time.monotonic() + 120
        while cluster.try_kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(STRING)).returncode == 0:
            assert time.monotonic() < deadline, "the webhook configuration never took effect"
        yield cluster
    finally:
        install.remove_webhooks(cluster)
        cluster.kubectl("delete", "-f", "-", stdin=install.as_list([TOPIC, POLICY]))


PATCH = ("patch", "--type=merge", "-p")
UNREVIEWED = {
    "a label": ["label", "--overwrite", "tsc/created", "a=b"],
    "a label on a policy": ["label", "--overwrite", "nsp/orders", "a=b"],
    "a finalizer": [*PATCH, '{"metadata": {"finalizers": ["example.com/a"]}}', "tsc/created"],
    "a finalizer's removal": [*PATCH, '{"metadata": {"finalizers": null}}', "tsc/created"],
    "a status": [*PATCH, '{"status": {"versionCount": 1}}', "tsc/created", "--subresource=status"],
    "a spec as it was": [*PATCH, '{"spec": {"type": "AVRO"}}', "tsc/created"],
    "a deletion": ["delete", "--dry-run=server", "tsc/created"],
}
REVIEWED = {
    "another schema": [*PATCH, '{"spec": {"schema": "another"}}', "tsc/created"],
    "suspension": [*PATCH, '{"spec": {"suspend": true}}', "tsc/created"],
    "another strategy": [*PATCH, '{"spec": {"strictness": null}}', "nsp/orders"],
}


@pytest.mark.cluster  # a cluster of its own, which no fixture's name shows
@pytest.mark.parametrize("name", UNREVIEWED)
def test_a_write_that_needs_no_review_is_accepted_without_the_webhook(unavailable_webhook: Cluster, name: str) -> None:
    unavailable_webhook.kubectl(*UNREVIEWED[name])


@pytest.mark.cluster  # a cluster of its own, which no fixture's name shows
@pytest.mark.parametrize("name", REVIEWED)
def test_an_edit_is_refused_without_the_webhook(unavailable_webhook: Cluster, name: str) -> None:
    assert "failed calling webhook" in unavailable_webhook.try_kubectl(*REVIEWED[name]).stderr
