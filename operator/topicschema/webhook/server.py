"""The webhook process: AdmissionReviews over TLS, with probes and metrics.

`admission` decides the answer. This module handles connections, deadlines, certificates that change, and errors. A bug
or an unreachable API server is answered with HTTP 500, and the API server then follows the configuration's
failurePolicy. The webhook calls nothing but the API server.
"""

import asyncio
import logging
import re
import signal
import ssl
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from aiohttp import web

from topicschema import checkers, telemetry
from topicschema.admission import policies, review, topicschemas
from topicschema.admission.review import MalformedReviewError, Review, ReviewResponse
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.checkers import UnusableCheckerError
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.core.errors import StalledError, TopicSchemaError
from topicschema.core.reasons import Reason
from topicschema.judging.judge import Judge
from topicschema.judging.policies import PolicyResolver
from topicschema.settings import InvalidSettingError, WebhookSettings
from topicschema.storage.protocol import SchemaStorage
from topicschema.telemetry import ADMISSION_REVIEW_DURATION, ADMISSION_REVIEWS, INTERNAL_ERRORS, log_to_stderr
from topicschema.webhook import bodies, connection_logs
from topicschema.webhook.bodies import Bodies, Body, BodyRefusedError
from topicschema.webhook.connections import Connections

_LOG = logging.getLogger(__name__)

_PAYLOAD_CACHE_BYTES = 16 * 1024 * 1024
_DEADLINE = 9.5
_ANSWERING_TIME = 0.5
_FILE_CHECK_INTERVAL = 1.0
# Endpoints are updated after a delay, and the API server uses its connections until an answer closes them.
_DRAIN = 3.0
_FINISH = 10.0
# Longer than the API server's idle timeout, so that the webhook never closes a connection that is about to be used.
_KEEP_ALIVE = 120.0
# At most twice as much of each connection is buffered before its handler reads it.
_READ_BYTES = 64 * 1024
# The API server sends a dozen short headers, and perhaps a token. All together have at most 64 KiB.
_LINE_BYTES = 1024
_HEADERS = 16
_HEADER_BYTES = 4096
# The rest of a refused body is read for this time, so that the client receives the answer.
_LINGERING = 0.5
_TIMEOUT = re.compile(r"(\d{1,3})s")

Reviewer = Callable[[Review], Awaitable[ReviewResponse]]


class Certificate:
    """The serving certificate, reloaded when its files change. Later handshakes use the new one, without a restart.

    With `client_ca`, handshakes without a client certificate of that authority fail. Unusable files (half written, or a
    key that does not match) leave the old certificate in place.
    """

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None = None) -> None:
        self._certificate, self._key, self._client_ca = certificate, key, client_ca
        self._loaded = self._signature()
        self._current = self._load()
        self.context = self._load()
        self.context.sni_callback = self._choose
        self._is_usable = True

    async def follow(self) -> None:
        """Check the files for ever."""
        while True:
            await asyncio.sleep(_FILE_CHECK_INTERVAL)
            self.reload()

    def reload(self) -> bool:
        """Load the files if they changed. Return True if a new certificate is used."""
        signature = self._signature()
        if signature == self._loaded and self._is_usable:
            return False
        try:
            self._current = self._load()
        except (OSError, ssl.SSLError) as error:
            if self._is_usable or signature != self._loaded:
                _LOG.warning("the certificate's files cannot be used, the old one stays: %s", type(error).__name__)
            self._is_usable, self._loaded = False, signature
            return False
        self._is_usable, self._loaded = True, signature
        _LOG.info("serving with a changed certificate")
        return True

    def _choose(self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current

    def _load(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.num_tickets = 0  # a resumed session would continue with the old certificate
        context.load_cert_chain(self._certificate, self._key)
        if self._client_ca:
            context.load_verify_locations(self._client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _signature(self) -> tuple[tuple[int, int, int], ...]:
        try:
            stats = [path.stat() for path in (self._certificate, self._key, self._client_ca) if path]
        except OSError:
            return ()
        return tuple((s.st_ino, s.st_mtime_ns, s.st_size) for s in stats)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """POST /review, with `reviewers` by kind. Once `stop` is set, each answer closes its connection."""

    reviewers: Mapping[str, Reviewer]
    bodies: Bodies = field(default_factory=Bodies)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    def runner(self) -> web.AppRunner:
        """Return a runner of the application that serves the endpoint."""
        application = web.Application()
        application.router.add_post("/review", self.answer)
        return web.AppRunner(
            application,
            access_log=None,
            auto_decompress=False,  # the API server compresses nothing, and a few bytes could become many
            read_bufsize=_READ_BYTES,
            max_line_size=_LINE_BYTES,
            max_headers=_HEADERS,
            max_field_size=_HEADER_BYTES,
            keepalive_timeout=_KEEP_ALIVE,
            lingering_time=_LINGERING,
            shutdown_timeout=_FINISH,
        )

    async def answer(self, request: web.Request) -> web.Response:
        """Answer an AdmissionReview. The status is 4xx for any other body, 5xx if no answer is possible now."""
        with self.bodies.body(request) as body:
            try:
                response = await self._review(request, body)
            except BodyRefusedError as error:
                ADMISSION_REVIEWS.labels("unknown", "error", error.reason).inc()
                response = web.Response(status=error.status, text=f"topicschema: {error}")
            except MalformedReviewError as error:
                response = web.Response(status=400, text=str(error))
        if self.stop.is_set():
            response.force_close()
        return response

    async def _review(self, request: web.Request, body: Body) -> web.Response:
        started = time.perf_counter()
        requested = review.read(await bodies.parse(await body.read(request)), body.size)
        judge = self.reviewers.get(requested.kind)
        if judge is None:
            return web.Response(status=400, text=f"nothing of kind {requested.kind[:80]!r} is reviewed here")
        response = await _answer_in_time(judge, requested, _deadline(request))
        ADMISSION_REVIEW_DURATION.labels(requested.kind).observe(time.perf_counter() - started)
        return response


async def _answer_in_time(judge: Reviewer, requested: Review, deadline: float) -> web.Response:
    try:
        async with asyncio.timeout(deadline):
            answer = await judge(requested)
    except TimeoutError:
        text = f"not judged within {deadline:g} s: the webhook or the API server is busy; try again"
        return _error_response(requested, "Timeout", text)
    except TopicSchemaError as error:
        return _error_response(requested, error.reason, f"cannot be judged now: {error.reason}: {error.message[:500]}")
    except Exception:  # noqa: BLE001 - a bug is counted, logged and answered only here
        INTERNAL_ERRORS.labels("webhook").inc()
        _LOG.exception(
            "unexpected error during review", extra={"fields": {"kind": requested.kind, "uid": requested.uid}}
        )
        return _error_response(
            requested, Reason.INTERNAL_ERROR, "a bug in topicschema; the webhook's log has its traceback"
        )
    ADMISSION_REVIEWS.labels(requested.kind, "allowed" if answer.is_allowed else "denied", answer.reason).inc()
    return web.json_response(review.to_wire(requested, answer))


def _error_response(requested: Review, reason: str, text: str) -> web.Response:
    ADMISSION_REVIEWS.labels(requested.kind, "error", reason).inc()
    return web.Response(status=500, text=f"topicschema: {text}")


def _deadline(request: web.Request) -> float:
    """Return the seconds until the API server stops waiting, less the time for the answer."""
    match = _TIMEOUT.fullmatch(request.query.get("timeout", ""))
    allowed = int(match[1]) - _ANSWERING_TIME if match else _DEADLINE
    return min(max(allowed, _ANSWERING_TIME), _DEADLINE)


@dataclass(slots=True)
class WebhookHealth:
    """State for the probes: ready from the first review until a signal stops the process."""

    is_ready: bool = False
    is_alive: bool = True

    def collect(self) -> None:
        """Set no gauge."""


def reviewers(client: ApiClient, judge: Judge, storage: SchemaStorage) -> dict[str, Reviewer]:
    """Return the reviewer of each kind."""
    resolver = PolicyResolver(client, storage, None)
    return {
        TOPIC_SCHEMA.name: topicschemas.TopicSchemaReviewer(client, storage, resolver, judge).review,
        NAMESPACE_SCHEMA_POLICY.name: policies.Policies(client, storage, judge).review,
    }


async def serve(
    settings: WebhookSettings, connection: ApiConnection, stop: asyncio.Event, drain: float = _DRAIN
) -> None:
    """Serve until `stop` is set, and `drain` seconds more as not ready. Then finish the open requests."""
    certificate, health = Certificate(settings.certificate, settings.key, settings.client_ca), WebhookHealth()
    async with ApiClient(connection) as client, telemetry.serve(health, settings.probe_port):
        storage = settings.storage(client, settings.namespace, cache_bytes=_PAYLOAD_CACHE_BYTES)
        judge = Judge(storage, checkers=settings.checkers)
        endpoint = Endpoint(reviewers(client, judge, storage), stop=stop)
        runner = endpoint.runner()
        following = asyncio.create_task(certificate.follow())
        try:
            await runner.setup()
            server = cast("web.Server", runner.server)  # None before the setup
            async with Connections(server, certificate.context, endpoint.bodies.senders).accepted_on(settings.port):
                health.is_ready = True
                _LOG.info("serving reviews on port %d", settings.port)
                await stop.wait()
                health.is_ready = False
                await asyncio.sleep(drain)
        finally:
            following.cancel()
            await runner.cleanup()
            judge.close()
            await storage.aclose()


async def _serve_until_signal(settings: WebhookSettings, connection: ApiConnection) -> None:
    stop = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
    await serve(settings, connection, stop)


def main() -> int:
    """Run the webhook until SIGTERM. Return 2 if the settings or the certificate cannot be used."""
    try:
        settings = replace(WebhookSettings.load(), checkers=checkers.load())
        log_to_stderr(settings.log_level)
        with connection_logs.limited():
            asyncio.run(_serve_until_signal(settings, ApiConnection.load(settings.kubeconfig)))
    except (InvalidSettingError, UnusableCheckerError, StalledError, OSError) as error:  # ssl.SSLError is an OSError
        sys.stderr.write(f"topicschema webhook: {error}\n")
        return 2
    return 0
