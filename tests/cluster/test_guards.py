"""The guards of the manifests on a real API server: who may write and delete what is not to be lost."""

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.wrong_objects import HISTORY, STRING, changed
from support.kubernetes.reviewed_namespace import KubectlResult
from testbed import install
from testbed.cluster import Cluster
from testbed.product import NAMESPACE as SYSTEM

pytestmark = pytest.mark.timeout(180)

CONTROLLER = f"system:serviceaccount:{SYSTEM}:topicschema-controller"


@pytest.fixture(scope="module")
def guarded(cluster: Cluster) -> Iterator[Cluster]:
    install.install_crds(cluster)
    install.install_manifests(cluster)
    with install.guards(cluster):
        yield cluster


@pytest.fixture
def history(guarded: Cluster) -> Iterator[str]:
    """Yield the name of a history that the controller wrote."""
    name = HISTORY["metadata"]["name"]
    done = apply(guarded, changed(HISTORY, "metadata.namespace", SYSTEM), user=CONTROLLER)
    assert done.returncode == 0, done.stderr
    yield name
    guarded.kubectl("delete", "schemahistory", name, "-n", SYSTEM, f"--as={CONTROLLER}", "--ignore-not-found")


def apply(cluster: Cluster, wire: dict[str, Any], user: str = "", *options: str) -> KubectlResult:
    as_user = (f"--as={user}",) if user else ()
    return cluster.try_kubectl(
        "apply", "--server-side", "--force-conflicts", *as_user, *options, "-f", "-", stdin=install.as_list([wire])
    )


def topic_schema(namespace: str, **members: Any) -> dict[str, Any]:
    return {**changed(STRING, "metadata.namespace", namespace), **members}


def test_only_the_controller_writes_a_status(guarded: Cluster, namespace: str) -> None:
    assert apply(guarded, topic_schema(namespace)).returncode == 0
    forged = topic_schema(namespace, status={"observedGeneration": 1, "schemaVersion": 7})
    refused = apply(guarded, forged, "", "--subresource=status")
    assert "only topicschema's controller writes this" in refused.stderr
    done = apply(guarded, forged, CONTROLLER, "--subresource=status")
    assert done.returncode == 0, done.stderr


def test_the_controller_changes_only_finalizers_of_a_resource(guarded: Cluster, namespace: str) -> None:
    wire = topic_schema(namespace)
    assert apply(guarded, wire).returncode == 0
    place = ("patch", "tsc", STRING["metadata"]["name"], "-n", namespace, "--type=merge", f"--as={CONTROLLER}", "-p")
    for change in ('{"spec":{"suspend":true}}', '{"metadata":{"labels":{"a":"b"}}}'):
        refused = guarded.try_kubectl(*place, change)
        assert "may change only finalizers" in refused.stderr
    done = guarded.try_kubectl(*place, '{"metadata":{"finalizers":["topicschema.io/broker-delete"]}}')
    assert done.returncode == 0, done.stderr
    guarded.kubectl(*place, '{"metadata":{"finalizers":null}}')


def test_only_the_controller_writes_a_history(guarded: Cluster, history: str) -> None:
    wire = changed(changed(HISTORY, "metadata.namespace", SYSTEM), "spec.incarnation", 8)
    assert "only topicschema's controller writes this" in apply(guarded, wire).stderr
    assert apply(guarded, wire, CONTROLLER).returncode == 0


def test_a_history_is_deleted_only_with_the_annotation(guarded: Cluster, history: str) -> None:
    delete = ("delete", "schemahistory", history, "-n", SYSTEM)
    assert "topicschema.io/allow-deletion" in guarded.try_kubectl(*delete).stderr
    guarded.kubectl("annotate", "schemahistory", history, "-n", SYSTEM, "topicschema.io/allow-deletion=true")
    guarded.kubectl(*delete)


@pytest.mark.parametrize(
    "place",
    [("namespace", SYSTEM), ("crd", "topicschemas.topicschema.io"), ("crd", "schemahistories.topicschema.io")],
    ids=" ".join,
)
def test_the_namespace_of_the_histories_and_the_crds_stay(guarded: Cluster, place: tuple[str, str]) -> None:
    refused = guarded.try_kubectl("delete", *place, "--dry-run=server")
    assert "topicschema.io/allow-deletion" in refused.stderr


def test_other_namespaces_are_deleted_as_before(guarded: Cluster, namespace: str) -> None:
    assert guarded.try_kubectl("delete", "namespace", namespace, "--dry-run=server").returncode == 0
