"""Certificates that real TLS takes."""

import asyncio
import contextlib
import ssl
from pathlib import Path

import pytest

from testbed.certificates import Authority, Issued
from testbed.ports import LOOPBACK


def _server(issued: Issued) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    return context


async def _shake_hands(issued: Issued, ca: Path, host: str = LOOPBACK) -> None:
    """One TLS handshake with a server that has the certificate, as a client that trusts the CA."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), LOOPBACK, 0, ssl=_server(issued))
    async with server:
        port = server.sockets[0].getsockname()[1]
        trusting = ssl.create_default_context(cafile=str(ca))
        _, writer = await asyncio.open_connection(LOOPBACK, port, ssl=trusting, server_hostname=host)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def test_a_client_that_trusts_the_ca_takes_the_certificate_for_each_of_its_hosts(tmp_path: Path) -> None:
    issued = Authority.at(tmp_path).issue("webhook", [LOOPBACK, "localhost", "webhook.system.svc"])
    for host in (LOOPBACK, "localhost", "webhook.system.svc"):
        await _shake_hands(issued, issued.ca, host)


async def test_a_host_that_the_certificate_does_not_name_is_refused(tmp_path: Path) -> None:
    issued = Authority.at(tmp_path).issue("webhook", [LOOPBACK])
    with pytest.raises(ssl.SSLCertVerificationError, match="localhost"):
        await _shake_hands(issued, issued.ca, "localhost")


async def test_another_authority_does_not_vouch_for_the_certificate(tmp_path: Path) -> None:
    issued = Authority.at(tmp_path / "one").issue("webhook", [LOOPBACK])
    other = Authority.at(tmp_path / "two")
    with pytest.raises(ssl.SSLCertVerificationError):
        await _shake_hands(issued, other.certificate)


async def test_a_second_certificate_of_the_same_name_replaces_the_first_under_the_same_authority(
    tmp_path: Path,
) -> None:
    first = Authority.at(tmp_path).issue("webhook", [LOOPBACK])
    before = first.certificate.read_bytes()

    second = Authority.at(tmp_path).issue("webhook", [LOOPBACK])

    assert second == first
    assert second.certificate.read_bytes() != before
    await _shake_hands(second, second.ca)


def test_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    issued = Authority.at(tmp_path).issue("webhook", [LOOPBACK])
    assert [path.stat().st_mode & 0o777 for path in (issued.key, tmp_path / "ca.key")] == [0o600, 0o600]
