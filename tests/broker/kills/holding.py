"""One call of a flow, held at the proxy while whoever made it is killed."""

import asyncio
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web

from testbed import broker_faults
from testbed.fault_proxy import Call, Exchange, Fault

_STEP_SECONDS = 0.02


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A moment of a flow: the call, by what it asks and the how manieth of its kind it is; before it, or after it.

    Not by its number: passes over a policy and its topics run side by side.
    """

    request: str
    repeat: int
    is_before: bool

    @classmethod
    def of(cls, call: Call, namespace: str, *, is_before: bool) -> Self:
        """The moment before that call, or after it, in whichever Pulsar namespace the flow runs."""
        return cls(str(call).replace(f"/{namespace}", "/NAMESPACE"), call.repeat, is_before)

    def __str__(self) -> str:
        """As it stands in a report."""
        return f"{'before' if self.is_before else 'after'} {self.request} ({self.repeat})"


@dataclass(slots=True)
class Hold:
    """A fault that holds the call of that place until `is_over`; nobody is answered.

    `fault` is what happens to all other calls. `call` is None until it has come, and is there once it is held: before
    it was passed on, or when the broker has done it, which `done` tells by the broker's status.
    """

    place: Place
    namespace: str
    fault: Fault = broker_faults.untouched
    call: Call | None = None
    done: int | None = None
    is_over: bool = False
    _exchanges: list[Exchange] = field(default_factory=list)

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """See `testbed.fault_proxy.Fault`."""
        place = Place.of(exchange.call, self.namespace, is_before=self.place.is_before)
        if place != self.place or self.call is not None:
            return await self.fault(exchange)
        if not place.is_before:
            self.done = (await self.fault(exchange)).status
        self._exchanges.append(exchange)
        self.call = exchange.call
        while not self.is_over:  # noqa: ASYNC110 - who ends it is in another thread
            await asyncio.sleep(_STEP_SECONDS)
        exchange.reset()
        return web.Response(status=502)

    @property
    def is_in_flight(self) -> bool:
        """Whether the call is held, and who made it still waits for an answer."""
        transports = [exchange.request.transport for exchange in self._exchanges]
        is_open = any(each is not None and not each.is_closing() for each in transports)
        has_come = self.call is not None and self.call.status is None
        return has_come and is_open and (self.done is None) is self.place.is_before
