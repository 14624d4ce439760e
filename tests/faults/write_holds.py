"""Holds: each blocks one write of one world in the proxy until the controller is killed.

Before: the write is blocked when it arrives, and never carried out. After: it is carried out, without a response. All
other writes to that world are blocked from then on, too: a client that times out and retries changes nothing. So the
state in which the controller dies depends on no time.
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
    """A write by its `kind_of`, its number among this kind, and the side of it on which the controller dies."""

    kind: str
    is_before: bool
    number: int = 1

    def __str__(self) -> str:
        """Return the place as in an assertion's message."""
        return f"{'before' if self.is_before else 'after'} {self.kind!r} number {self.number}"


def kind_of(call: Call) -> str:
    """Return the kind of a write, with the reason of a status and the counts of a policy's."""
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
    """Return True if another run of the same flow may end without such a write.

    A policy counts its topics some seconds after one of them changed, with all changes until then. If policy and topic
    are created together, either may be reconciled first. A Job that ends at once is never reported as running.
    """
    return _MAY_BE_MISSING.search(kind) is not None


@dataclass(slots=True)
class WriteHold:
    """A hold: the writes of a world, and the place of the blocked one; without a place, none is."""

    world: World
    place: Place | None = None
    kinds: list[str] = field(default_factory=list)
    is_held: threading.Event = field(default_factory=threading.Event)
    _is_blocking: bool = False
    _end: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, exchange: Exchange) -> web.StreamResponse:
        """Pass a write of the world on, or block it."""
        if not self._is_blocking:
            self.kinds.append(kind_of(exchange.call))
            if not self._is_at_place():
                return await exchange.forward()
            self._is_blocking = True
            if self.place is not None and not self.place.is_before:
                await exchange.forward()
            self.is_held.set()
        await self._end.wait()
        return web.Response(status=503)  # the caller is dead

    def _is_at_place(self) -> bool:
        place = self.place
        return place is not None and self.kinds[-1] == place.kind and self.kinds.count(place.kind) == place.number

    def end(self) -> None:
        """End the blocked calls, whose caller is dead. Belongs to the proxy's thread."""
        self._end.set()


@dataclass(frozen=True, slots=True)
class WriteHolds:
    """All holds that are set at once."""

    proxy: FaultProxy
    holds: tuple[WriteHold, ...]

    def set(self) -> None:
        """Block from now on."""
        self.proxy.forget()
        self.proxy.fault = self._take

    def remove(self) -> None:
        """End all holds."""
        self.proxy.forget()
        for hold in self.holds:
            self.proxy.call_soon(hold.end)

    async def _take(self, exchange: Exchange) -> web.StreamResponse:
        call = exchange.call
        if is_write(call):
            for hold in self.holds:
                if hold.world.is_concerned(call.path, call.body):
                    return await hold.take(exchange)
        return await exchange.forward()
