"""A hold: one call of a flow that does not return while its caller is killed."""

import asyncio
from dataclasses import dataclass
from typing import Self

from aiohttp import web

from testbed import broker_faults
from testbed.calls import Call, Exchange, Fault

_STEP_SECONDS = 0.02
ANY_CALL, ANY_WRITE = "any call", "any write"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place before or after a call of a flow, by its request and its number among its kind.

    `request` is ANY_CALL, ANY_WRITE or one request. The number is not that among all calls: reconciles of a policy and
    its topics run side by side.
    """

    request: str
    repeat: int
    is_before: bool

    @classmethod
    def of(cls, call: Call, namespace: str, *, is_before: bool) -> Self:
        """Return the place before that call, or after it, in any Pulsar namespace."""
        return cls(_named(call, namespace), call.repeat, is_before)

    def concerns(self, call: Call, namespace: str) -> bool:
        """Return True if the call is of the kind whose calls are counted."""
        if self.request in (ANY_CALL, ANY_WRITE):
            return call.is_write or self.request == ANY_CALL
        return _named(call, namespace) == self.request

    def __str__(self) -> str:
        """Return the place as in a report."""
        return f"{'before' if self.is_before else 'after'} {self.request} ({self.repeat})"


@dataclass(slots=True)
class Hold:
    """A fault that blocks the call of that place until `is_over`, and every call after it, without a response.

    So a caller that gives up and retries gets no response, either. However late the kill comes, nothing of the flow has
    happened at the broker after the place. `fault` is that of the calls before it. `is_there` is True once the call is
    blocked: before it was passed on, or when the broker has done it.
    """

    place: Place
    namespace: str
    fault: Fault = broker_faults.untouched
    is_there: bool = False
    is_over: bool = False
    _count: int = 0

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """See `testbed.calls.Fault`."""
        is_concerned = self.place.concerns(exchange.call, self.namespace)
        self._count += is_concerned
        is_after = self._count > self.place.repeat or (self._count == self.place.repeat and not is_concerned)
        is_it = is_concerned and self._count == self.place.repeat
        if not is_it and not is_after:
            return await self.fault(exchange)
        if is_it and not self.place.is_before:
            await self.fault(exchange)
        self.is_there = self.is_there or is_it
        while not self.is_over:  # noqa: ASYNC110 - another thread ends it
            await asyncio.sleep(_STEP_SECONDS)
        exchange.reset()
        return web.Response(status=502)


def _named(call: Call, namespace: str) -> str:
    return str(call).replace(f"/{namespace}", "/NAMESPACE")
