"""A change of the webhook's certificate to one of another CA, while edits go on, without a restart."""

import shutil
import socket
import ssl
import time
from pathlib import Path
from urllib.parse import urlsplit

from support.kubernetes.admission import V0
from support.kubernetes.reviewed_namespace import open_shop
from testbed.certificates import Authority
from testbed.cluster import Cluster
from testbed.install import install_manifests
from testbed.product import Product


def served(product: Product) -> str:
    """Return the certificate of a new connection, as PEM."""
    url = urlsplit(product.webhook_url)
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((url.hostname, url.port), 10) as plain, trusting.wrap_socket(plain) as connection:
        return ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True) or b"")


def wait_until_served(product: Product, certificate: str) -> None:
    while served(product) not in certificate:
        time.sleep(0.1)


async def test_edits_are_reviewed_all_through_a_change_of_the_certificate_authority(
    webhook: Product, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    host = urlsplit(webhook.webhook_url).hostname or ""
    other = Authority.at(tmp_path / "other").issue("webhook", [host])
    both = tmp_path / "both.crt"
    both.write_text(webhook.certificate.ca.read_text() + other.ca.read_text())
    process = webhook.webhook.pid
    async with open_shop(cluster, namespace) as shop:

        def is_reviewed() -> bool:
            return "SYNTAX at line 1" in shop.apply(shop.topic_schema("{")).stderr

        assert is_reviewed()
        install_manifests(cluster, webhook.webhook_url, both)
        assert is_reviewed()
        shutil.copyfile(other.certificate, webhook.certificate.certificate)
        assert is_reviewed()  # the pair does not match now: the old one is still served
        shutil.copyfile(other.key, webhook.certificate.key)
        wait_until_served(webhook, other.certificate.read_text())
        assert is_reviewed()
        install_manifests(cluster, webhook.webhook_url, other.ca)
        assert is_reviewed()
        assert shop.apply(shop.topic_schema(V0)).returncode == 0
    assert webhook.webhook.pid == process
