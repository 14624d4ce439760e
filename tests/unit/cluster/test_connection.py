"""The cluster of a connection: the configured one, never an ambient one."""

import json
import ssl
from pathlib import Path
from typing import Any

import pytest
from kubernetes.config import incluster_config

from testbed.certificates import Authority
from testbed.cluster import client_kubeconfig, write_kubeconfig
from topicschema.cluster.connection import ApiConnection
from topicschema.core.errors import StalledError


def kubeconfig(folder: Path, user: dict[str, Any], **cluster: Any) -> str:
    return str(write_kubeconfig(folder / "config", {"server": "https://127.0.0.1:1/", **cluster}, user))


@pytest.fixture(autouse=True)
def _ambient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set an ambient kubeconfig of the user, which must not be used."""
    home = tmp_path / "home"
    (home / ".kube").mkdir(parents=True)
    write_kubeconfig(home / ".kube/config", {"server": "https://production.invalid"}, {"token": "ambient"})
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("KUBECONFIG", str(home / ".kube/config"))
    for name in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_kubeconfig_only_the_pods_own_account_counts() -> None:
    with pytest.raises(StalledError, match="run in a pod") as caught:
        ApiConnection.load(None)
    assert caught.value.reason == "NoCluster"


def test_in_a_pod_the_service_account_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority.at(tmp_path / "pki")
    (tmp_path / "token").write_text("pod-token")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authority.certificate))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    connection = ApiConnection.load(None)
    assert connection.server == "https://10.0.0.1:443"
    assert connection.headers()["Authorization"].lower() == "bearer pod-token"
    assert connection.ssl.verify_mode == ssl.CERT_REQUIRED


def test_a_kubeconfig_with_a_token_is_used_and_a_proxy_of_the_environment_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:3128")
    connection = ApiConnection.load(kubeconfig(tmp_path, {"token": "secret-token"}))
    assert connection.server == "https://127.0.0.1:1"
    assert connection.headers() == {"Authorization": "Bearer secret-token"}
    assert connection.tls_server_name is None


def test_a_kubeconfig_with_a_client_certificate(tmp_path: Path) -> None:
    authority = Authority.at(tmp_path / "pki")
    issued = authority.issue_client("admin", "system:masters")
    connection = ApiConnection.load(str(client_kubeconfig(tmp_path / "config", "https://127.0.0.1:1", issued)))
    assert connection.headers() == {}
    assert len(connection.ssl.get_ca_certs()) == 1


def test_a_server_name_for_tls_is_used(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"token": "t"}, **{"tls-server-name": "kubernetes"})
    assert ApiConnection.load(path).tls_server_name == "kubernetes"


@pytest.mark.parametrize("content", ["", "[]", "{", json.dumps({"kind": "Config"}), None])
def test_a_kubeconfig_that_is_missing_or_cannot_be_used_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)
    with pytest.raises(StalledError) as caught:
        ApiConnection.load(str(path))
    assert caught.value.reason == "NoCluster"


def test_a_proxy_of_the_kubeconfig_is_refused_rather_than_passed_by(tmp_path: Path) -> None:
    with pytest.raises(StalledError, match="proxy-url"):
        ApiConnection.load(kubeconfig(tmp_path, {"token": "t"}, **{"proxy-url": "http://127.0.0.1:3128"}))
