"""Logs, metrics and probes of the processes.

Each log record is one line of JSON on standard error, its long texts cut. Neither logs nor metrics hold a schema text,
a token or a body.
"""

import json
import logging
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Protocol
from weakref import WeakSet

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.aiohttp import make_aiohttp_handler
from typing_extensions import override

_MAX_TEXT = 2048
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class JsonFormatter(logging.Formatter):
    """Formatter of one JSON object per record: time, level, logger, message and `extra={"fields": {...}}`."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line, with the end of its traceback in `error`."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:_MAX_TEXT],
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, Mapping):
            line.update(fields)
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = _frames(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False, default=str)


def _frames(error: BaseException | None) -> str:
    # Type and frames without the message, which may quote a schema or a token.
    if error is None:
        return ""
    places = "".join(traceback.format_tb(error.__traceback__))
    return f"{places[-_MAX_TEXT:]}{type(error).__name__}"


def log_to_stderr(level: str) -> None:
    """Send all logs from `level` on to standard error, as JSON lines."""
    destination = logging.StreamHandler(sys.stderr)
    destination.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[destination], force=True)


class CallbackGauge:
    """Gauge of the size of a set. An object that is garbage-collected leaves the set."""

    def __init__(self, gauge: Gauge) -> None:
        self._members: WeakSet[object] = WeakSet()
        gauge.set_function(lambda: len(self._members))

    def add(self, member: object) -> None:
        """Add an object to the set."""
        self._members.add(member)

    def discard(self, member: object) -> None:
        """Remove an object from the set, if it is there."""
        self._members.discard(member)


class Probes(Protocol):
    """State of a process, for its probes and metrics."""

    @property
    def is_alive(self) -> bool:
        """False if only a restart can help."""

    @property
    def is_ready(self) -> bool:
        """True if the process works or stands by."""

    def collect(self) -> None:
        """Set the gauges whose values are read at each scrape."""


@asynccontextmanager
async def serve(probes: Probes, port: int) -> AsyncIterator[None]:
    """Answer `/livez`, `/readyz` and `/metrics` in plain HTTP, on every address, while the context lasts."""
    answer_metrics = make_aiohttp_handler(REGISTRY)

    async def livez(_: web.Request) -> web.Response:
        return _answer(is_well=probes.is_alive)

    async def readyz(_: web.Request) -> web.Response:
        return _answer(is_well=probes.is_ready)

    async def metrics(request: web.Request) -> web.StreamResponse:
        probes.collect()
        return await answer_metrics(request)

    application = web.Application()
    for path, answer in (("/livez", livez), ("/readyz", readyz), ("/metrics", metrics)):
        application.router.add_get(path, answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, None, port).start()
        yield
    finally:
        await runner.cleanup()


def _answer(*, is_well: bool) -> web.Response:
    return web.Response(text="ok\n") if is_well else web.Response(text="not ok\n", status=503)


# They would be one more unused series for each counter and histogram.
disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()
"""Every metric of the processes. docs/operations.md explains them."""

_counter, _gauge = partial(Counter, registry=REGISTRY), partial(Gauge, registry=REGISTRY)
_seconds = partial(Histogram, registry=REGISTRY, buckets=_SECONDS)

RECONCILES = _counter("topicschema_reconcile_total", "Reconciles, by kind and result.", ("kind", "result"))
RECONCILE_DURATION = _seconds("topicschema_reconcile_duration_seconds", "Duration of a reconcile.", ("kind",))
REGISTERED = _counter("topicschema_versions_registered_total", "Schema versions recorded.")
VALIDATIONS = _counter("topicschema_validations_total", "Verdicts on retained messages.", ("phase",))
INTERNAL_ERRORS = _counter(
    "topicschema_internal_errors_total",
    "Internal errors, by component. The log has a line of level error for each.",
    ("component",),
)
WORKQUEUE_DEPTH = _gauge("topicschema_workqueue_depth", "Objects that are due for a reconcile now.")
IS_LEADER = _gauge("topicschema_leader_election_is_leader", "1 while this process is the leader.")
ADMISSION_REVIEWS = _counter(
    "topicschema_admission_reviews_total", "Admission reviews, by decision.", ("kind", "decision", "reason")
)
REGISTRY_REQUESTS = _counter(
    "topicschema_registry_requests_total", "Requests to the REST registry, by call and HTTP status.", ("call", "status")
)
REGISTRY_REQUEST_DURATION = _seconds(
    "topicschema_registry_request_duration_seconds", "Duration of a request to the REST registry.", ("call",)
)
ADMISSION_REVIEW_DURATION = _seconds(
    "topicschema_admission_review_duration_seconds", "Duration of an admission review.", ("kind",)
)
UNKNOWN_PULSAR_VERSIONS = _gauge(
    "topicschema_registries_with_unknown_pulsar_version",
    "SchemaRegistries whose broker has a release that is not known.",
)
RECORD_USE = _gauge(
    "topicschema_record_use_ratio",
    "Largest share of limits.bytes that the histories of one policy take, by registry.",
    ("registry",),
)
AUDIT_INVALID = _gauge(
    "topicschema_audit_invalid_messages",
    "Messages with a fault in the last complete audit of a policy.",
    ("namespace", "policy"),
)
AUDIT_COMPLETED = _gauge(
    "topicschema_audit_completed_timestamp_seconds",
    "End of the last complete audit of a policy, in seconds since 1970.",
    ("namespace", "policy"),
)
BROKER_SETTINGS_WRITES = _counter(
    "topicschema_broker_settings_writes_total", "Writes of Pulsar namespaces' settings.", ("setting",)
)
BROKER_REQUESTS = _counter(
    "topicschema_broker_requests_total", "Requests to brokers, by outcome.", ("operation", "outcome")
)
BROKER_REQUEST_DURATION = _seconds(
    "topicschema_broker_request_duration_seconds",
    "Duration of a request to a broker, retries and waits included.",
    ("operation",),
)
OPEN_CIRCUIT_BREAKERS = CallbackGauge(
    _gauge("topicschema_broker_circuit_breakers_open", "Brokers that do not answer: their circuit breaker is open.")
)
RESOURCE_CONDITIONS = _gauge(
    "topicschema_resource_condition",
    "Resources with a condition in that status and with that reason.",
    ("kind", "namespace", "condition", "status", "reason"),
)
EVENT_WRITE_FAILURES = _counter("topicschema_event_write_failures_total", "Kubernetes Events that were not written.")


@dataclass(slots=True)
class ControllerHealth:
    """Health of the controller: whether it leads, and when each kind that it watches last got a response.

    `watch_timeout` is in seconds, `kinds` the number of kinds, `last_activity` the monotonic time by plural.
    `conditions` returns the number of resources by the labels of RESOURCE_CONDITIONS.
    """

    watch_timeout: float
    is_leading: Callable[[], bool]
    kinds: int
    is_served: bool = False
    last_activity: dict[str, float] = field(default_factory=dict)
    waiting: Callable[[], int] = int
    conditions: Callable[[], Mapping[tuple[str, str, str, str, str], int]] = dict

    def record_activity(self, plural: str) -> None:
        """Record that the API server answered a list or watch of the kind."""
        self.last_activity[plural] = time.monotonic()

    @property
    def is_alive(self) -> bool:
        """False if a watch of the leader got no response within `watch_timeout`: a restart may help."""
        oldest = min(self.last_activity.values(), default=time.monotonic())
        return not self.is_leading() or time.monotonic() - oldest < self.watch_timeout

    @property
    def is_ready(self) -> bool:
        """True if a leader has listed all kinds, or if a standby could take over."""
        return len(self.last_activity) == self.kinds if self.is_leading() else self.is_served

    def collect(self) -> None:
        """Set the gauges whose values are read at each scrape."""
        IS_LEADER.set(self.is_leading())
        WORKQUEUE_DEPTH.set(self.waiting())
        RESOURCE_CONDITIONS.clear()
        for labels, count in self.conditions().items() if self.is_leading() else ():
            RESOURCE_CONDITIONS.labels(*labels).set(count)
