"""The webhook's HTTP: sizes, deadlines, and what becomes of errors."""

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from support.kubernetes.admission import TOPIC, V0, World, new_topic, run_endpoint
from support.kubernetes.api_server import FakeApiServer
from support.metrics import counted
from testbed import ports
from testbed.certificates import Authority, Issued
from topicschema.admission.review import Review, ReviewResponse
from topicschema.https.certificate import Certificate
from topicschema.settings import ServerSettings
from topicschema.webhook.server import Endpoint, main, serve

OBJECT = new_topic({"topic": TOPIC, "type": "AVRO", "schema": V0})
BODY = {"request": {"uid": "1", "kind": {"kind": "TopicSchema"}, "object": OBJECT}}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff", b"{}", b'{"request": {}}', b'{"request": {"uid": 7}}', b"[" * 100_000]
)
async def test_an_invalid_admission_review_gets_400(world: World, body: bytes) -> None:
    assert (await world.post(body)).status == 400


async def test_a_foreign_kind_and_a_body_above_the_limit_are_refused(world: World) -> None:
    assert (await world.review({"kind": "Pod", "metadata": {"name": "x"}})).status == 400
    assert (await world.post(b" " * (16 * 1024 * 1024 + 1))).status == 413


async def test_a_refusing_api_server_gives_500_with_a_clear_message(world: World) -> None:
    await world.policy()
    world.api.is_unavailable = True
    reply = await world.create()
    assert reply.status == 500
    assert "cannot be judged now: ApiServerUnavailable" in reply.text
    assert (await world.create("{")).rules == ["SYNTAX"]  # found without the API server


async def test_a_silent_api_server_gives_500_before_the_timeout_of_the_request(world: World) -> None:
    world.api.is_silent = True
    reply = await world.post(json.dumps(BODY).encode(), timeout="1s")
    assert reply.status == 500
    assert "not judged within 0.5 s" in reply.text
    world.api.respond_again()
    assert (await world.create()).is_allowed


async def test_a_bug_is_500_and_its_log_has_no_schema(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(review: Review) -> ReviewResponse:
        raise KeyError(str(review.new))

    before = counted("internal_errors_total", component="webhook")
    with caplog.at_level(logging.ERROR, "topicschema.webhook.server"):
        async with (
            run_endpoint(Endpoint({"TopicSchema": fail})) as port,
            aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
            session.post("/review", json=BODY) as response,
        ):
            assert response.status == 500
            assert "KeyError" not in await response.text()
    assert counted("internal_errors_total", component="webhook") == before + 1
    assert "type" not in caplog.records[0].getMessage()


@pytest.fixture
def issued(tmp_path: Path) -> Issued:
    return Authority.at(tmp_path).issue("webhook", ["127.0.0.1"])


async def _served_certificate(certificate: Certificate) -> bytes:
    """Return the certificate that a client without SNI receives in a new connection."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=certificate.context)
    host, port = server.sockets[0].getsockname()
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    async with server:
        _, writer = await asyncio.open_connection(host, port, ssl=trusting, server_hostname="")
        shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
    return shown


async def test_a_changed_certificate_is_served_to_the_next_connection(issued: Issued, tmp_path: Path) -> None:
    certificate = Certificate(issued.certificate, issued.key)
    before = await _served_certificate(certificate)
    assert not certificate.reload()
    Authority.at(tmp_path).issue("webhook", ["127.0.0.1"])
    assert certificate.reload()
    after = await _served_certificate(certificate)
    assert after != before
    assert after == ssl.PEM_cert_to_DER_cert(
        issued.certificate.read_text().split("-----END")[0] + "-----END CERTIFICATE-----\n"
    )


async def test_a_half_written_pair_leaves_the_old_certificate_in_place(issued: Issued, tmp_path: Path) -> None:
    certificate = Certificate(issued.certificate, issued.key)
    before = await _served_certificate(certificate)
    old_key = issued.key.read_bytes()
    Authority.at(tmp_path).issue("webhook", ["127.0.0.1"])
    matching_key = issued.key.read_bytes()
    issued.key.write_bytes(old_key)
    assert not certificate.reload()
    assert await _served_certificate(certificate) == before
    issued.key.unlink()
    assert not certificate.reload()
    assert await _served_certificate(certificate) == before
    issued.key.write_bytes(matching_key)
    assert certificate.reload()
    assert await _served_certificate(certificate) != before


@dataclass(frozen=True, slots=True)
class Serving:
    """The process of the webhook, ready, and a client that trusts it."""

    api: FakeApiServer
    stop: asyncio.Event
    task: asyncio.Task[None]
    session: aiohttp.ClientSession
    probe: str
    url: str


@asynccontextmanager
async def serving(issued: Issued, drain: float) -> AsyncIterator[Serving]:
    """Serve until the test ends, with `drain` seconds between the stop and the end."""
    settings = ServerSettings(issued.certificate, issued.key, port=ports.free(), probe_port=ports.free())
    probe, stop = f"http://127.0.0.1:{settings.probe_port}", asyncio.Event()
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=issued.ca))
    async with FakeApiServer().running() as api, aiohttp.ClientSession(connector=connector) as session:
        task = asyncio.create_task(serve(settings, api.connection, stop, drain=drain))
        await _until_ready(session, probe)
        yield Serving(api, stop, task, session, probe, f"https://127.0.0.1:{settings.port}/review")
        task.cancel()
        await asyncio.wait([task])


async def test_after_the_stop_the_webhook_is_not_ready_and_each_response_closes_its_connection(issued: Issued) -> None:
    async with serving(issued, drain=600) as process:
        async with process.session.post(process.url, data=b"") as before:
            assert "Connection" not in before.headers
        process.stop.set()
        assert await _get(process.session, f"{process.probe}/readyz") == 503
        for _ in ("the connection of before", "a new one"):
            async with process.session.post(process.url, data=b"") as drained:
                assert (drained.status, drained.headers["Connection"]) == (400, "close")


async def test_after_the_stop_the_webhook_finishes_its_reviews(issued: Issued) -> None:
    async with serving(issued, drain=0.1) as process:
        process.api.is_silent = True
        url = f"{process.url}?timeout=2s"
        review = asyncio.create_task(_status(process.session, url, BODY))
        await process.api.request_received.wait()
        process.stop.set()
        assert await review == 500
        await process.task
        with pytest.raises(aiohttp.ClientConnectorError):
            await _status(process.session, url, BODY)


async def test_probes_and_metrics_are_served_beside_the_reviews(issued: Issued) -> None:
    async with serving(issued, drain=0.1) as process:
        assert await _get(process.session, f"{process.probe}/livez") == 200
        async with process.session.get(f"{process.probe}/metrics") as response:
            assert "topicschema_admission_reviews_total" in await response.text()
        process.stop.set()
        await process.task


async def _status(session: aiohttp.ClientSession, url: str, body: object) -> int:
    async with session.post(url, json=body) as response:
        return response.status


async def _get(session: aiohttp.ClientSession, url: str) -> int:
    async with session.get(url) as response:
        return response.status


async def _until_ready(session: aiohttp.ClientSession, probe: str) -> None:
    while True:
        try:
            if await _get(session, f"{probe}/readyz") == 200:
                return
        except aiohttp.ClientError:
            pass
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("TOPICSCHEMA_WEBHOOK_PORT", "https", "TOPICSCHEMA_WEBHOOK_PORT"),
        ("KUBECONFIG", "/nowhere/kubeconfig", "/nowhere/kubeconfig"),
    ],
)
def test_invalid_settings_end_the_process_with_a_message(
    variable: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, value)
    assert main() == 2
    assert words in capsys.readouterr().err
