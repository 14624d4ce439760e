"""The webhook process: AdmissionReviews over TLS, with probes and metrics.

`admission` decides the answer. This module handles connections, deadlines, certificates that change, and errors. A bug
or an unreachable API server is answered with HTTP 500, and the API server then follows the configuration's
failurePolicy. The webhook calls nothing but the API server.
"""

import asyncio
import logging
import re
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

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
from topicschema.https import bodies, connection_logs, serving
from topicschema.https.bodies import Bodies, Body, BodyRefusedError, MalformedBodyError
from topicschema.https.certificate import Certificate
from topicschema.https.serving import HeaderLimits
from topicschema.judging.judge import Judge
from topicschema.judging.policies import PolicyResolver
from topicschema.settings import InvalidSettingError, ServerSettings
from topicschema.storage.protocol import SchemaStorage
from topicschema.telemetry import ADMISSION_REVIEW_DURATION, ADMISSION_REVIEWS, INTERNAL_ERRORS, log_to_stderr

_LOG = logging.getLogger(__name__)

_PAYLOAD_CACHE_BYTES = 16 * 1024 * 1024
_DEADLINE = 9.5
_ANSWERING_TIME = 0.5
# Endpoints are updated after a delay, and the API server uses its connections until an answer closes them.
_DRAIN = 3.0
# The API server sends a dozen short headers, and perhaps a token. All together have at most 64 KiB.
_LIMITS = HeaderLimits(line_bytes=1024, headers=16, header_bytes=4096)
_TIMEOUT = re.compile(r"(\d{1,3})s")

Reviewer = Callable[[Review], Awaitable[ReviewResponse]]


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
        return serving.runner(application, _LIMITS)

    async def answer(self, request: web.Request) -> web.Response:
        """Answer an AdmissionReview. The status is 4xx for any other body, 5xx if no answer is possible now."""
        with self.bodies.body(request) as body:
            try:
                response = await self._review(request, body)
            except BodyRefusedError as error:
                ADMISSION_REVIEWS.labels("unknown", "error", error.reason).inc()
                response = web.Response(status=error.status, text=f"topicschema: {error}")
            except (MalformedReviewError, MalformedBodyError) as error:
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
    settings: ServerSettings, connection: ApiConnection, stop: asyncio.Event, drain: float = _DRAIN
) -> None:
    """Serve until `stop` is set, and `drain` seconds more as not ready. Then finish the open requests."""
    certificate, health = Certificate(settings.certificate, settings.key, settings.client_ca), WebhookHealth()
    async with ApiClient(connection) as client, telemetry.serve(health, settings.probe_port):
        storage = settings.storage(client, settings.namespace, cache_bytes=_PAYLOAD_CACHE_BYTES)
        judge = Judge(storage, checkers=settings.checkers)
        endpoint = Endpoint(reviewers(client, judge, storage), stop=stop)
        try:
            async with serving.served(endpoint.runner(), certificate, endpoint.bodies, settings.port):
                health.is_ready = True
                _LOG.info("serving reviews on port %d", settings.port)
                await stop.wait()
                health.is_ready = False
                await asyncio.sleep(drain)
        finally:
            judge.close()
            await storage.aclose()


def main() -> int:
    """Run the webhook until SIGTERM. Return 2 if the settings or the certificate cannot be used."""
    try:
        settings = replace(ServerSettings.load(), checkers=checkers.load())
        log_to_stderr(settings.log_level)
        with connection_logs.limited():
            asyncio.run(serving.until_signal(partial(serve, settings, ApiConnection.load(settings.kubeconfig))))
    except (InvalidSettingError, UnusableCheckerError, StalledError, OSError) as error:  # ssl.SSLError is an OSError
        sys.stderr.write(f"topicschema webhook: {error}\n")
        return 2
    return 0
