"""What the processes tell about themselves: structured log lines, and the list of metrics in Prometheus' text format.

One line of JSON per log record on standard error. No schema text, token or body belongs in either; texts are capped.
Metrics are plain counters that one event loop changes, so they need no locks.
"""

import bisect
import json
import logging
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol
from weakref import WeakSet

from aiohttp import web
from typing_extensions import override

_MAX_TEXT = 2048
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class JsonLines(logging.Formatter):
    """One JSON object per record: time, level, logger, message, and the fields given as `extra={"fields": {...}}`."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        """The record as one line; a traceback stands in `error`, capped from its front."""
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
    # The type and the places, never the message: a foreign error may quote what it choked on.
    if error is None:
        return ""
    places = "".join(traceback.format_tb(error.__traceback__))
    return f"{places[-_MAX_TEXT:]}{type(error).__name__}"


def log_to_stderr(level: str) -> None:
    """Send all logs from `level` on to standard error, as JSON lines."""
    destination = logging.StreamHandler(sys.stderr)
    destination.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[destination], force=True)


class Metric:
    """A named family of samples; `labels` are the names of its labels, in order."""

    kind = "untyped"

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.text = text
        self.labels = tuple(labels)
        METRICS.append(self)

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """Suffix of the name, labels as text and value of each sample."""
        raise NotImplementedError

    def _labelled(self, values: tuple[str, ...], *more: tuple[str, str]) -> str:
        pairs = (*zip(self.labels, values, strict=True), *more)
        return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs) + "}" if pairs else ""


METRICS: list[Metric] = []
"""Every metric of the process, in the order of their making."""


class Counter(Metric):
    """Counts up."""

    kind = "counter"

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, text, labels)
        self._values: dict[tuple[str, ...], float] = {}

    def add(self, *values: str, amount: float = 1) -> None:
        """Count `amount` more under these label values."""
        self._values[values] = self._values.get(values, 0) + amount

    def value(self, *values: str) -> float:
        """What has been counted under these label values."""
        return self._values.get(values, 0)

    @override
    def samples(self) -> Iterator[tuple[str, str, float]]:
        for values, value in sorted(self._values.items()):
            yield "", self._labelled(values), value


class Gauge(Counter):
    """Goes up and down."""

    kind = "gauge"

    def set(self, value: float, *values: str) -> None:
        """Say that it is `value` now."""
        self._values[values] = value


class Census(Metric):
    """How many things are in a state now; what is gone is in none."""

    kind = "gauge"

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, text, labels)
        self._there: dict[tuple[str, ...], WeakSet[object]] = {}

    def enter(self, thing: object, *values: str) -> None:
        """It is in that state from now on."""
        self._there.setdefault(values, WeakSet()).add(thing)

    def leave(self, thing: object, *values: str) -> None:
        """It is not any more."""
        self._there.setdefault(values, WeakSet()).discard(thing)

    def value(self, *values: str) -> int:
        """How many are in that state."""
        return len(self._there.get(values, ()))

    @override
    def samples(self) -> Iterator[tuple[str, str, float]]:
        for values, there in sorted(self._there.items()):
            yield "", self._labelled(values), len(there)


class Histogram(Metric):
    """Counts durations, in seconds, in buckets."""

    kind = "histogram"

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, text, labels)
        self._buckets: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def observe(self, seconds: float, *values: str) -> None:
        """Count one duration under these label values."""
        buckets = self._buckets.setdefault(values, [0] * (len(_SECONDS) + 1))
        buckets[bisect.bisect_left(_SECONDS, seconds)] += 1
        self._sums[values] = self._sums.get(values, 0) + seconds

    @override
    def samples(self) -> Iterator[tuple[str, str, float]]:
        for values, buckets in sorted(self._buckets.items()):
            total = 0
            for limit, count in zip((*(f"{s:g}" for s in _SECONDS), "+Inf"), buckets, strict=True):
                total += count
                yield "_bucket", self._labelled(values, ("le", limit)), total
            yield "_sum", self._labelled(values), self._sums[values]
            yield "_count", self._labelled(values), total


def exposition() -> str:
    """All metrics in Prometheus' text format, version 0.0.4."""
    return "".join(f"{line}\n" for metric in METRICS for line in _lines(metric))


class Probes(Protocol):
    """What a process answers when it is asked how it is."""

    @property
    def is_alive(self) -> bool:
        """False when only a restart can help."""

    @property
    def is_ready(self) -> bool:
        """Whether it does its work, or stands by to."""

    def measure(self) -> None:
        """Set the gauges that nobody sets in passing."""


@asynccontextmanager
async def serve(probes: Probes, port: int) -> AsyncIterator[None]:
    """Answer `/livez`, `/readyz` and `/metrics` in plain HTTP, on every address, while the context lasts."""

    async def livez(_: web.Request) -> web.Response:
        return _answer(is_well=probes.is_alive)

    async def readyz(_: web.Request) -> web.Response:
        return _answer(is_well=probes.is_ready)

    async def metrics(_: web.Request) -> web.Response:
        probes.measure()
        return web.Response(body=exposition().encode(), headers={"Content-Type": "text/plain; version=0.0.4"})

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


def _lines(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.text}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for suffix, labels, value in metric.samples():
        yield f"{metric.name}{suffix}{labels} {value:g}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


RECONCILES = Counter("topicschema_reconciles_total", "Passes over an object, by how they ended.", ("kind", "reason"))
RECONCILE_SECONDS = Histogram("topicschema_reconcile_seconds", "How long one pass took.", ("kind",))
REGISTERED = Counter("topicschema_versions_registered_total", "Schema versions put on record.")
VALIDATIONS = Counter("topicschema_validations_total", "Verdicts on retained messages.", ("phase",))
BUGS = Counter("topicschema_bugs_total", "Unexpected errors; each has a traceback in the log.", ("place",))
WAITING_KEYS = Gauge("topicschema_queue_depth", "Objects that are due for a pass now.")
LEADING = Gauge("topicschema_leader", "1 while this process leads.")
REVIEWS = Counter("topicschema_reviews_total", "Admission reviews, by answer.", ("kind", "answer", "reason"))
REVIEW_SECONDS = Histogram("topicschema_review_seconds", "How long one admission review took.", ("kind",))
SETTINGS_WRITTEN = Counter("topicschema_broker_settings_total", "Settings of Pulsar namespaces written.", ("setting",))
BROKER_REQUESTS = Counter(
    "topicschema_broker_requests_total", "What brokers were asked, and the outcome.", ("call", "outcome")
)
BROKER_SECONDS = Histogram("topicschema_broker_seconds", "How long a broker took, tries and waits included.", ("call",))
OPEN_CIRCUITS = Census(
    "topicschema_broker_circuits_open",
    "Circuits that are open: brokers that nobody reaches, and policies that their broker does not let in.",
    ("of",),
)
EVENTS_LOST = Counter("topicschema_events_lost_total", "Kubernetes Events that could not be written.")
"""The list of metrics that more than one room adds to; docs/operations.md explains them."""


@dataclass(slots=True)
class Health:
    """What the controller's probes ask: whether it leads, and when each kind that it watches was heard of last.

    `kinds` is how many it watches.
    """

    silence_limit: float
    is_leading: Callable[[], bool]
    kinds: int
    is_served: bool = False
    heard: dict[str, float] = field(default_factory=dict)
    waiting: Callable[[], int] = int

    def hear(self, plural: str) -> None:
        """The API server answered a list or watch of the kind."""
        self.heard[plural] = time.monotonic()

    @property
    def is_alive(self) -> bool:
        """False once a kind that is watched was silent for too long: a restart may help."""
        oldest = min(self.heard.values(), default=time.monotonic())
        return not self.is_leading() or time.monotonic() - oldest < self.silence_limit

    @property
    def is_ready(self) -> bool:
        """Whether it works, or stands by to."""
        return len(self.heard) == self.kinds if self.is_leading() else self.is_served

    def measure(self) -> None:
        """Set the gauges that nobody sets in passing."""
        LEADING.set(self.is_leading())
        WAITING_KEYS.set(self.waiting())
