"""The testbed's own promises, on a real control plane.

A killed API server needs some seconds to start again.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed import audit, cluster_part, install, paths
from testbed.cluster import Cluster
from testbed.controlplane import ControlPlane
from testbed.errors import TestbedError
from testbed.identity import ProcessIdentity
from testbed.programs import recorded

pytestmark = pytest.mark.cluster

_OWNER = """
import sys, time
from testbed.controlplane import owned
with owned() as plane:
    print(plane.instance.folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def plane(spare: ControlPlane) -> ControlPlane:
    return spare


def _gone(identities: list[ProcessIdentity]) -> bool:
    deadline = time.monotonic() + 30
    while any(identity.alive() for identity in identities):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.full  # a control plane of its own; that any program does, tests/unit/testbed asks
def test_an_owned_cluster_dies_when_its_owner_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", _OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        processes = recorded(folder)
        assert {"", "etcd", "apiserver", "controller-manager"} <= processes.keys()
        assert all(identity.alive() for identity in processes.values())
        owner.kill()
    assert _gone(list(processes.values()))
    deadline = time.monotonic() + 60
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not folder.exists()


def test_two_clusters_side_by_side_do_not_see_each_other(cluster: Cluster, plane: ControlPlane) -> None:
    plane.cluster.kubectl("create", "namespace", "only-there")

    assert cluster.server() != plane.cluster.server()
    assert cluster.try_kubectl("get", "namespace", "only-there").returncode == 1


def test_objects_and_address_outlive_a_killed_api_server(plane: ControlPlane) -> None:
    plane.cluster.kubectl("create", "namespace", "stays")
    server = plane.cluster.server()
    plane.stop_apiserver()
    assert plane.cluster.try_kubectl("get", "namespace", "stays").returncode == 1

    plane.start_apiserver()

    assert plane.cluster.server() == server
    assert plane.cluster.get("namespace", "stays")["metadata"]["name"] == "stays"


def test_a_paused_api_server_answers_nobody_until_it_goes_on(plane: ControlPlane) -> None:
    plane.apiserver.pause()
    with pytest.raises(subprocess.TimeoutExpired):
        plane.cluster.kubectl("get", "namespaces", seconds=2)

    plane.apiserver.resume()

    plane.wait_until_ready()
    assert "default" in plane.cluster.kubectl("get", "namespaces")


def test_a_service_account_may_do_what_its_role_says_and_no_more(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    cluster.kubectl("create", "serviceaccount", "reader", "-n", namespace)
    cluster.kubectl("create", "role", "reader", "-n", namespace, "--verb=list", "--resource=configmaps")
    binding = ["--role=reader", f"--serviceaccount={namespace}:reader"]
    cluster.kubectl("create", "rolebinding", "reader", "-n", namespace, *binding)
    kubeconfig = cluster.service_account_kubeconfig(namespace, "reader", tmp_path / "kubeconfig")
    reader = Cluster(kubeconfig, cluster.kubectl_program)

    assert "kube-root-ca.crt" in reader.kubectl("get", "configmaps")
    refused = reader.try_kubectl("get", "secrets")
    assert f"system:serviceaccount:{namespace}:reader" in refused.stderr
    assert "Forbidden" in refused.stderr


def test_the_audit_log_tells_who_wrote_what(cluster: Cluster, namespace: str) -> None:
    if cluster.audit_log is None:
        pytest.skip("this cluster's audit log is not ours to read")
    before = audit.settled(cluster.audit_log)
    cluster.kubectl("create", "configmap", "written", "-n", namespace)
    audit.settled(cluster.audit_log)

    seen = [request for request in audit.writes(cluster.audit_log, before) if request.namespace == namespace]

    assert [(request.verb, request.resource, request.name, request.code) for request in seen] == [
        ("create", "configmaps", "written", 201)
    ]


def test_the_api_server_reaches_the_webhook_that_the_manifests_name(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """Nothing listens on that port: the API server's own words show which address it called."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    webhook = {
        "name": "none.testbed.topicschema.io",
        "rules": rules,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "clientConfig": {"service": {"name": "webhook", "namespace": "system", "path": "/review"}},
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"testbed-{namespace}"},
        "webhooks": [webhook],
    }
    (tmp_path / "webhook.yaml").write_text(json.dumps(configuration), encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text("resources: [webhook.yaml]\n", encoding="utf-8")
    ca = tmp_path / "ca.crt"
    ca.write_text(cluster.get("configmap", "kube-root-ca.crt", "-n", "default")["data"]["ca.crt"], encoding="utf-8")

    install.install_manifests(cluster, "https://127.0.0.1:1", ca, tmp_path)
    try:
        refused = cluster.try_kubectl("create", "configmap", "refused", "-n", namespace)
    finally:
        install.remove_webhooks(cluster, tmp_path)

    assert "127.0.0.1:1/review" in refused.stderr
    assert "connection refused" in refused.stderr


@pytest.mark.full  # two starts of a control plane; of a plain program, tests/unit/testbed asks it
def test_up_goes_on_with_the_same_objects_after_the_supervisor_was_killed() -> None:
    name = f"killed-{os.getpid()}"
    folder = paths.instance(name)
    testbed = [sys.executable, "-m", "testbed"]
    environment = {key: value for key, value in os.environ.items() if key != "TOPICSCHEMA_TEST_KUBECONFIG"}
    try:
        subprocess.run([*testbed, "up", "cluster", "--name", name], env=environment, check=True, capture_output=True)
        cluster_part.running(name).kubectl("create", "namespace", "stays")
        processes = recorded(folder)
        os.kill(processes[""].pid, signal.SIGKILL)
        assert _gone(list(processes.values()))

        subprocess.run([*testbed, "up", "cluster", "--name", name], env=environment, check=True, capture_output=True)

        assert "stays" in cluster_part.running(name).kubectl("get", "namespaces")
        subprocess.run([*testbed, "down", "cluster", "--name", name], check=True, capture_output=True)
        with pytest.raises(TestbedError, match="has no cluster"):
            cluster_part.running(name)
    finally:
        subprocess.run([*testbed, "down", "--name", name], check=True, capture_output=True)
    assert not folder.exists()
