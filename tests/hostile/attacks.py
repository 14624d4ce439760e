"""Attack the product on a cluster of its own, and measure the others: `python -m hostile.attacks [ATTACK ...]`.

By hand, on a quiet machine. While an attack lasts, another tenant edits small schemas all the time. The report has the
latency of those edits and the number of failures. It has the peak memory of webhook and controller with their worker
processes, and that of some seconds after the attack. Last is the number of lines in the webhook's log.
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp

from benchmarks.processes import family
from benchmarks.stage import NAMESPACE, Stage, stage, topic_schema
from hostile.attacker import ATTACKER, ATTACKS, Target, apply, attack
from testbed.programs import Program

_SECONDS: Final = 30.0
_EVERY: Final = 0.1
_AFTERWARDS: Final = 5.0
_MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Others:
    """The other tenant, with the measurements."""

    on: Stage
    session: aiohttp.ClientSession
    latencies: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    peaks: dict[str, int] = field(default_factory=dict)

    async def edit(self) -> None:
        """Edit small schemas until the task is cancelled."""
        number = 0
        while True:
            number += 1
            began = time.monotonic()
            text = json.dumps({"type": "record", "name": "R", "doc": str(number), "fields": []})
            response = await apply(self.session, NAMESPACE, "topicschemas", topic_schema(f"small-{number % 5}", text))
            self.latencies.append(time.monotonic() - began)
            if not response.startswith("2"):
                self.failures.append(response)
            await asyncio.sleep(_EVERY)

    async def watch_memory(self) -> None:
        """Record the peak memory of the programs, their worker processes included, until the task is cancelled."""
        while True:
            for program in (self.on.product.webhook, self.on.product.controller):
                now = _memory(program)
                self.peaks[program.name] = max(now, self.peaks.get(program.name, 0))
            await asyncio.sleep(0.2)

    def summary(self, name: str) -> str:
        """Return the measurements as a line."""
        ordered = sorted(self.latencies)
        p50, p99 = (ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99))
        memory = ", ".join(f"{program} {peak // _MIB} MiB" for program, peak in self.peaks.items())
        webhook = self.on.product.webhook
        after, lines = _memory(webhook) // _MIB, len(webhook.log.read_bytes().splitlines())
        failed = f"{len(self.failures)} failed {self.failures[:1]}" if self.failures else "none failed"
        return (
            f"{name}: {len(ordered)} edits of others, p50 {p50:.2f} s, p99 {p99:.2f} s, max {ordered[-1]:.2f} s, "
            f"{failed}; {memory}, webhook afterwards {after} MiB; {lines} lines in its log"
        )


def _memory(program: Program) -> int:
    return sum(map(_resident, family(program.pid))) if program.pid else 0


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


async def measure(on: Stage, name: str, seconds: float) -> str:
    """Attack for the time. Return the measurements as a line."""
    target = Target(str(on.plane.cluster.kubeconfig), on.plane.cluster.server(), on.product.webhook_url)
    context = multiprocessing.get_context("spawn")
    is_prepared = context.Event()
    attacker = context.Process(target=attack, args=(name, target, is_prepared))
    attacker.start()
    while not await asyncio.to_thread(is_prepared.wait, 1):
        assert attacker.is_alive(), f"{name} failed"
    async with target.session() as session:
        others = Others(on, session)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(others.edit(), others.watch_memory())
    assert attacker.is_alive(), f"{name} failed"
    attacker.kill()
    attacker.join()
    await asyncio.sleep(_AFTERWARDS)
    return others.summary(name)


def main() -> int:
    """Run the attacks that are named, or all, each on a fresh cluster."""
    parser = argparse.ArgumentParser(prog="hostile.attacks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *ATTACKS], help="all when none is named")
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="how long each lasts")
    chosen = parser.parse_args()
    for name in chosen.names or ATTACKS:
        with stage() as on:
            namespace = {"name": ATTACKER, "annotations": {"topicschema.io/pulsar-namespaces": "evil/*"}}
            wire = {"apiVersion": "v1", "kind": "Namespace", "metadata": namespace}
            on.plane.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(wire))
            on.product.start_webhook()
            on.product.start_controller()
            on.product.admit()
            sys.stdout.write(f"{asyncio.run(measure(on, name, chosen.seconds))}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
