"""Speed at which 2,000 new TopicSchemas settle, beside a bare client that issues the same writes; and its costs."""

import asyncio
import datetime as dt
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bare_writes import write_all
from benchmarks.rows import Goal, Row, beside, bounded, row
from benchmarks.stage import Stage, create, stage
from testbed import audit
from testbed.product import NAMESPACE as SYSTEM
from testbed.programs import Program

_COUNT, _SIZE, _AT_REST_SECONDS = 2_000, 2_000, 30
_WRITES, _CONTROLLER_MB = 3.05, 105  # a status can be written a second time
_GOAL = Goal(0.5, at_most=False)
_USER = f"system:serviceaccount:{SYSTEM}:topicschema-controller"
_RECORD = {"schemahistories": "history", "schemaversions": "payload", "topicschemas": "status"}


def measure() -> Iterator[Row]:
    """Yield rows of topics per second, writes per version, writes at rest, and memory."""
    with stage() as on:
        on.product.start_webhook()
        create(on, "settle", _COUNT, _SIZE)
        log = on.plane.cluster.audit_log
        if log is None:
            raise RuntimeError("the stage's API server writes no audit log")
        since = audit.settled(log)
        on.product.start_controller()
        on.wait_until_ready(_COUNT, 900)
        writes = audit.writes(log, since, _USER)
        yield from _per_version(writes)
        yield from _at_rest(log)
        yield from _memory(on)
        bare = _COUNT / asyncio.run(write_all(on, _COUNT))
        yield beside("settled TopicSchemas", _rate(writes), "1/s", ("the same writes by bare aiohttp", bare), _GOAL)


def _rate(writes: list[audit.Request]) -> float:
    """Return the topics per second between the first payload and the last status."""
    first = min(one.at for one in writes if one.resource == "schemaversions")
    last = max(one.at for one in writes if one.resource == "topicschemas" and one.subresource == "status")
    return _COUNT / (dt.datetime.fromisoformat(last) - dt.datetime.fromisoformat(first)).total_seconds()


def _per_version(writes: list[audit.Request]) -> Iterator[Row]:
    counted = Counter(one.resource for one in writes)
    for resource, what in _RECORD.items():
        yield row(f"{what} writes per new version", counted[resource] / _COUNT, "")
    others = sum(count for resource, count in counted.items() if resource not in {*_RECORD, "leases"})
    yield row("other writes per new version (policy status, events)", others / _COUNT, "")
    yield bounded("writes per new version", sum(map(counted.__getitem__, _RECORD)) / _COUNT, "", _WRITES)


def _at_rest(log: Path) -> Iterator[Row]:
    since = audit.settled(log, 2)
    time.sleep(_AT_REST_SECONDS)
    written = [one for one in audit.writes(log, since, _USER) if one.resource != "leases"]
    yield bounded(f"writes at rest in {_AT_REST_SECONDS} s, besides the Lease", len(written), "", 0)


def _memory(on: Stage) -> Iterator[Row]:
    controller, webhook = (resident(each) for each in (on.product.controller, on.product.webhook))
    yield bounded(f"resident memory of the controller, {_COUNT} topics", controller, "MB", _CONTROLLER_MB)
    yield row(f"resident memory of the webhook, {_COUNT} topics", webhook, "MB")


def resident(program: Program) -> float:
    """Return the MB of memory that the program has now."""
    status = Path(f"/proc/{program.pid}/status").read_text(encoding="ascii")
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return int(kilobytes) / 1024
