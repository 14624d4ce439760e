"""A webhook that responds to the API server alone, which presents a client certificate.

The control plane is its own (15 s): an API server reads its client certificates for webhooks at its start.
"""

import contextlib
import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.kubernetes.admission import V0
from support.kubernetes.reviewed_namespace import opened
from testbed.certificates import Authority
from testbed.cluster import Cluster, client_kubeconfig
from testbed.controlplane import owned
from testbed.product import Product

pytestmark = pytest.mark.cluster  # a cluster of its own, which no fixture's name shows

NAMESPACE = "shop"


@dataclass(frozen=True, slots=True)
class Closed:
    """A cluster whose API server presents a certificate, and the webhook that requires it."""

    cluster: Cluster
    product: Product


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    folder = tmp_path_factory.mktemp("admission")
    client = Authority.at(folder / "clients").issue_client("kube-apiserver", "topicschema")
    kubeconfig = client_kubeconfig(folder / "kubeconfig", "https://webhooks.invalid", client)
    flags = (f"--admission-control-config-file={admission_configuration(folder, kubeconfig)}",)
    with owned(flags=flags) as plane:
        product = Product.install(plane.instance, plane.cluster, {"TOPICSCHEMA_WEBHOOK_CLIENT_CA": str(client.ca)})
        product.start_webhook()
        product.admit()
        plane.cluster.kubectl("create", "namespace", NAMESPACE)
        yield Closed(plane.cluster, product)
        product.stop()


def admission_configuration(folder: Path, kubeconfig: Path) -> Path:
    """Write the file that names the kubeconfig for webhooks, as in docs/operations.md. Return its path."""
    of_webhooks = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(kubeconfig),
    }
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": "ValidatingAdmissionWebhook", "configuration": of_webhooks}],
    }
    path = folder / "admission.json"
    path.write_text(json.dumps(configuration))
    return path


async def test_edits_are_reviewed_for_an_api_server_that_presents_its_certificate(closed: Closed) -> None:
    async with opened(closed.cluster, NAMESPACE) as shop:
        assert "SYNTAX at line 1" in shop.apply(shop.topic_schema("{")).stderr
        done = shop.apply(shop.topic_schema(V0))
        assert done.returncode == 0, done.stderr


def test_a_client_without_a_certificate_gets_no_response(closed: Closed) -> None:
    url = urlsplit(closed.product.webhook_url)
    trusting = ssl.create_default_context(cafile=closed.product.certificate.ca)
    with (
        socket.create_connection((url.hostname, url.port), 30) as plain,
        trusting.wrap_socket(plain, server_hostname=url.hostname) as connection,
        contextlib.suppress(ssl.SSLError),
    ):
        assert connection.recv(1) == b"", "in TLS 1.3 a client learns after its handshake that it is refused"
