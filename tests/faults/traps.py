"""Traps: each waits in the proxy for one write of one world, and holds it there until the controller is killed.

Before: the write is held when it arrives, and never carried out. After: it is carried out, and nobody hears of it.
Whatever else the controller wants to write of that world is held from then on, too: a client that grows tired of
waiting, and tries again, changes nothing. So the state in which the controller dies depends on no time.
"""

import asyncio
import json
import re
import threading
from dataclasses import dataclass, field

from aiohttp import web

from faults.calls import is_write, target_of
from faults.world import World
from testbed.calls import Call, Exchange
from testbed.fault_proxy import FaultProxy

_VERBS = {"POST": "create", "PUT": "replace", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class Place:
    """A write as `kind_of` tells it, the how manieth of that kind, and on which side of it the controller dies."""

    kind: str
    is_before: bool
    number: int = 1

    def __str__(self) -> str:
        """As it stands in an assertion's message."""
        return f"{'before' if self.is_before else 'after'} {self.kind!r} number {self.number}"


def kind_of(call: Call) -> str:
    """The write by what it does; of a status also the reason that it tells, of a policy's also how many it counts."""
    kind = f"{_VERBS[call.method]} {target_of(call)}"
    if call.method == "DELETE" or not call.body:
        return kind
    wire = json.loads(call.body)
    if target_of(call) == "events":
        return f"{kind} {wire.get('reason', 'counted')}"
    status = wire.get("status", {}) if isinstance(wire, dict) else {}
    if not isinstance(status, dict) or "conditions" not in status:
        return kind
    reason = next((one["reason"] for one in status["conditions"] if one["type"] == "Ready"), "")
    topics = status.get("topics") or {}
    counted = f" {topics.get('ready', 0)} of {topics['total']}" if "total" in topics else ""
    return f"{kind} {reason}{counted}"


_MAY_BE_MISSING = re.compile(
    r"namespaceschemapolicies/status Active \d+ of \d+|topicschemas/status (?:PolicyNotFound|Validating)"
)


def may_be_missing(kind: str) -> bool:
    """Whether another run of the same flow may come to its end without such a write.

    A policy counts its topics some seconds after one of them changed: what changes meanwhile is one count. And whether
    a topic is looked at before its policy is in force, when both are made together, nobody decides. A Job that ends
    at once is never reported as running.
    """
    return _MAY_BE_MISSING.search(kind) is not None


@dataclass(slots=True)
class Trap:
    """What was written of a world, and the write of it that is held; with no place, none is."""

    world: World
    place: Place | None = None
    kinds: list[str] = field(default_factory=list)
    holds: threading.Event = field(default_factory=threading.Event)
    _is_sprung: bool = False
    _end: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, exchange: Exchange) -> web.StreamResponse:
        """Pass a write of the world on, or hold it."""
        if not self._is_sprung:
            self.kinds.append(kind_of(exchange.call))
            if not self._is_meant():
                return await exchange.forward()
            self._is_sprung = True
            if self.place is not None and not self.place.is_before:
                await exchange.forward()
            self.holds.set()
        await self._end.wait()
        return web.Response(status=503)  # to nobody

    def _is_meant(self) -> bool:
        place = self.place
        return place is not None and self.kinds[-1] == place.kind and self.kinds.count(place.kind) == place.number

    def let_go(self) -> None:
        """Answer what is held, to nobody: whoever asked is dead. Belongs to the proxy's thread."""
        self._end.set()


@dataclass(frozen=True, slots=True)
class Traps:
    """All traps that are set at once."""

    proxy: FaultProxy
    traps: tuple[Trap, ...]

    def set(self) -> None:
        """From now on they wait."""
        self.proxy.clear()
        self.proxy.fault = self._take

    def remove(self) -> None:
        """Whoever is held is let go; nothing is disturbed any more."""
        self.proxy.clear()
        for trap in self.traps:
            self.proxy.call_soon(trap.let_go)

    async def _take(self, exchange: Exchange) -> web.StreamResponse:
        call = exchange.call
        if is_write(call):
            for trap in self.traps:
                if trap.world.is_concerned(call.path, call.body):
                    return await trap.take(exchange)
        return await exchange.forward()
