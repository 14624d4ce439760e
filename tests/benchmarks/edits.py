"""The time of an edit: server-side apply with our webhook, with a Go webhook that does nothing, and with none.

The controller is stopped, so that the figures are those of admission. Every edit adds an optional field to the
registered version and replaces the edit before, which is not registered: the most expensive case, judged in both
possible worlds.
"""

import itertools
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.rows import Goal, Row, beside, row
from benchmarks.schemas import schema
from benchmarks.stage import Stage, apply_request, create, stage
from benchmarks.traffic import Outcome, build, send
from testbed import ports
from testbed.install import install_manifests
from testbed.product import wait_until_listening

_ROUNDS = 3
_GOAL_SIZE = 20_000
_GOAL = Goal(2.0, at_most=True)


@dataclass(frozen=True, slots=True)
class Load:
    """Edits of a kind: their size, the number of parallel streams, and the edits of each."""

    label: str
    size: int
    streams: int
    edits: int


_LOADS = (
    Load("20 kB, 1 in flight", 20_000, 1, 120),
    Load("20 kB, 32 in flight", 20_000, 32, 12),
    Load("377 kB, 1 in flight", 377_000, 1, 30),
    Load("377 kB, 8 in flight", 377_000, 8, 12),
)


def measure() -> Iterator[Row]:
    """Yield rows of p50 and p99 per load."""
    with stage() as on:
        names = _register(on)
        modes = _modes(on)
        revisions = itertools.count(1)
        for load in _LOADS:
            outcomes: dict[str, list[Outcome]] = {mode: [] for mode in modes}
            for _ in range(_ROUNDS):
                for mode, enter in modes.items():
                    enter()
                    _edit(on, names[load.size], Load(load.label, load.size, load.streams, 1), revisions)
                    outcomes[mode].append(_edit(on, names[load.size], load, revisions))
            yield from _rows(load, outcomes)


def _register(on: Stage) -> dict[int, list[str]]:
    on.product.start_controller()
    names = {size: create(on, f"edit-{size}", 32, size) for size in {load.size for load in _LOADS}}
    on.wait_until_ready(64)
    on.product.controller.terminate()
    return names


def _modes(on: Stage) -> dict[str, Callable[[], None]]:
    product, port = on.product, ports.free()
    product.start_webhook()
    arguments = [build("noop"), "-address", f"127.0.0.1:{port}"]
    arguments += ["-cert", product.certificate.certificate, "-key", product.certificate.key]
    on.plane.instance.run("noop", [str(argument) for argument in arguments])
    wait_until_listening(port)

    def noop() -> None:
        install_manifests(on.plane.cluster, f"https://127.0.0.1:{port}", product.certificate.ca)

    return {"none": product.admit_all, "noop": noop, "ours": product.admit}


def _edit(on: Stage, names: list[str], load: Load, revisions: Iterator[int]) -> Outcome:
    requests = []
    for _ in range(load.edits):
        text = schema(load.size, next(revisions))
        requests += [apply_request(stream, names[stream], text) for stream in range(load.streams)]
    return send(on.target, requests)


def _rows(load: Load, outcomes: dict[str, list[Outcome]]) -> Iterator[Row]:
    p50 = {mode: statistics.median(one.p50 for one in results) for mode, results in outcomes.items()}
    p99 = {mode: statistics.median(one.p99 for one in results) for mode, results in outcomes.items()}
    goal = _GOAL if load.size == _GOAL_SIZE else None
    yield beside(f"edit p50, {load.label}", p50["ours"], "ms", ("Go no-op webhook", p50["noop"]), goal)
    yield beside(f"edit p99, {load.label}", p99["ours"], "ms", ("Go no-op webhook", p99["noop"]))
    yield row(f"edit p50 without a webhook, {load.label}", p50["none"], "ms")
