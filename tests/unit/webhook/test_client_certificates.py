"""With a client CA, the webhook's handshake fails unless the client shows a certificate of that authority."""

import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

from support.kubernetes.admission import new_topic, run_endpoint
from testbed.certificates import Authority, Issued
from topicschema.admission.review import Review, ReviewResponse, allow
from topicschema.https.certificate import Certificate
from topicschema.webhook.server import Endpoint

REVIEW = {"request": {"uid": "1", "kind": {"kind": "TopicSchema"}, "object": new_topic({})}}


@pytest.fixture
def serving(tmp_path: Path) -> Issued:
    return Authority.at(tmp_path / "serving").issue("webhook", ["127.0.0.1"])


@pytest.fixture
def client(tmp_path: Path) -> Issued:
    return Authority.at(tmp_path / "clients").issue_client("kube-apiserver", "masters")


def for_servers(issued: Issued) -> Issued:
    """Sign the certificate again for servers only: trustme's are valid for clients, too."""
    both = x509.load_pem_x509_certificate(issued.certificate.read_bytes())
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    builder = x509.CertificateBuilder(
        issuer_name=both.issuer,
        subject_name=both.subject,
        public_key=both.public_key(),
        serial_number=both.serial_number,
        not_valid_before=both.not_valid_before_utc,
        not_valid_after=both.not_valid_after_utc,
        extensions=[each for each in both.extensions if each.oid != usage.oid],
    ).add_extension(usage, critical=True)
    key = serialization.load_pem_private_key(Authority(issued.ca.parent).key.read_bytes(), None)
    issued.certificate.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    return issued


@asynccontextmanager
async def serve(certificate: Certificate) -> AsyncIterator[str]:
    """Serve an endpoint that allows everything with the certificate, and yield its URL."""

    async def answer(_: Review) -> ReviewResponse:
        return allow()

    async with run_endpoint(Endpoint({"TopicSchema": answer}), certificate.context) as port:
        yield f"https://127.0.0.1:{port}/review"


async def is_served(url: str, serving: Issued, shown: Issued | None) -> bool:
    """Return True if a client with this certificate gets a response in a new connection."""
    trusting = ssl.create_default_context(cafile=serving.ca)
    if shown:
        trusting.load_cert_chain(shown.certificate, shown.key)
    async with aiohttp.ClientSession() as session:
        try:
            async with session.post(url, json=REVIEW, ssl=trusting) as response:
                return response.status == 200
        except (aiohttp.ClientError, ssl.SSLError, ConnectionError):
            return False


async def test_only_a_client_certificate_of_the_authority_is_served(
    serving: Issued, client: Issued, tmp_path: Path
) -> None:
    strange = Authority.at(tmp_path / "others").issue_client("kube-apiserver", "masters")
    of_a_server = for_servers(Authority.at(client.ca.parent).issue("server", ["127.0.0.1"]))
    async with serve(Certificate(serving.certificate, serving.key, client.ca)) as url:
        assert await is_served(url, serving, client)
        for shown in (None, strange, of_a_server, serving):
            assert not await is_served(url, serving, shown)


async def test_without_an_authority_for_clients_everybody_is_served(serving: Issued, client: Issued) -> None:
    async with serve(Certificate(serving.certificate, serving.key)) as url:
        assert await is_served(url, serving, None)
        assert await is_served(url, serving, client)


async def test_a_changed_authority_counts_for_the_next_connection(
    serving: Issued, client: Issued, tmp_path: Path
) -> None:
    following = Authority.at(tmp_path / "others").issue_client("kube-apiserver", "masters")
    bundle = tmp_path / "bundle.crt"
    shutil.copyfile(client.ca, bundle)
    certificate = Certificate(serving.certificate, serving.key, bundle)
    async with serve(certificate) as url:
        bundle.write_text("half")
        assert not certificate.reload()
        assert await is_served(url, serving, client)
        shutil.copyfile(following.ca, bundle)
        assert certificate.reload()
        assert await is_served(url, serving, following)
        assert not await is_served(url, serving, client)


def test_an_authority_that_is_not_there_ends_the_start(serving: Issued, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Certificate(serving.certificate, serving.key, tmp_path / "nothing.crt")
