"""Bodies of requests, with limits on their bytes, their time and their number of values.

Any client that reaches the port can send a body. The limits bound the memory that such a client can use. They hold
before a body becomes Python objects: an empty object takes three bytes on the wire and 64 in memory.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

# The new and the old object, escaped: six bytes for each `<` of 900,000, and as much again of what is stored.
MAX_BODY_BYTES: Final = 16 * 1024 * 1024
IN_FLIGHT_BYTES: Final = 32 * 1024 * 1024
# Large bodies never fill all of it: edits of ordinary size proceed beside them.
_ORDINARY_BYTES: Final = 256 * 1024
_RESERVED_FOR_ORDINARY: Final = 8 * 1024 * 1024
# The least that a body counts: the buffers of its connection. So there are at most 512 bodies.
_LEAST_BYTES: Final = 64 * 1024
# The API server sends a body at once, from its memory.
_SECONDS: Final = 5.0
_GRACE: Final = 1.0
# A review of a TopicSchema whose status names 100 versions has a few thousand values, and fewer than 20 levels.
MAX_VALUES: Final = 20_000
_MAX_LEVELS: Final = 100
# Larger bodies are parsed in one thread, one at a time: it takes milliseconds, and meanwhile edits are answered.
_FEW_BYTES: Final = 64 * 1024
_FEW_VALUES: Final = 2_000
_PARSER: Final = ThreadPoolExecutor(1, "parse")
_NO_STRUCTURE: Final = bytes(set(range(256)) - set(b"[{,"))


class MalformedBodyError(Exception):
    """A body that is not JSON, or JSON with too many values."""


class BodyRefusedError(Exception):
    """A body that is not read to its end. `status` is HTTP's, `reason` the metric's."""

    def __init__(self, status: int, reason: str, text: str) -> None:
        super().__init__(text)
        self.status, self.reason = status, reason


@dataclass(slots=True)
class Bodies:
    """All bodies in flight: announced or received, and not answered yet. `senders` are their connections.

    A body has `seconds` to be complete, but only `grace` if another body needs its bytes.
    """

    seconds: float = _SECONDS
    grace: float = _GRACE
    in_flight: int = 0
    senders: set[web.RequestHandler] = field(default_factory=set)
    incomplete: dict["Body", asyncio.Timeout] = field(default_factory=dict)

    @contextmanager
    def body(self, request: web.Request) -> Iterator["Body"]:
        """Count the request's body while the context lasts."""
        body = Body(self)
        self.senders.add(request.protocol)
        try:
            yield body
        finally:
            self.senders.discard(request.protocol)
            self.in_flight -= body.counted

    def give_up_slow_ones(self, most: int) -> None:
        """Give up the oldest incomplete bodies until at most `most` bytes are in flight."""
        now = asyncio.get_running_loop().time()
        for body, deadline in list(self.incomplete.items()):
            if self.in_flight <= most or body.began + self.grace > now:
                return
            self.in_flight -= body.counted
            body.counted = 0
            del self.incomplete[body]
            deadline.reschedule(now)


@dataclass(slots=True, eq=False)
class Body:
    """One body: its size in bytes once it is read, and the bytes that it counts among those in flight."""

    bodies: Bodies
    size: int = 0
    counted: int = 0
    began: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    async def read(self, request: web.Request) -> bytes:
        """Return the whole body; BodyRefusedError if it is too large, comes too slowly or is cut off."""
        self._count(max(request.content_length or 0, _LEAST_BYTES))
        received = bytearray()
        try:
            async with asyncio.timeout(self.bodies.seconds) as deadline:
                self.bodies.incomplete[self] = deadline
                async for chunk in request.content.iter_any():
                    received += chunk
                    self._count(len(received))
        except TimeoutError:
            raise BodyRefusedError(408, "BodyTimeout", "the body was not complete in time; send it again") from None
        except (ConnectionError, web.RequestPayloadError):
            raise BodyRefusedError(400, "BodyIncomplete", "the body is incomplete; send it again") from None
        finally:
            self.bodies.incomplete.pop(self, None)
        self.size = len(received)
        return bytes(received)

    def _count(self, size: int) -> None:
        if size <= self.counted:
            return
        if size > MAX_BODY_BYTES:
            raise BodyRefusedError(413, "BodyTooLarge", f"the body has more than {MAX_BODY_BYTES:,} bytes")
        limit = IN_FLIGHT_BYTES - (0 if size <= _ORDINARY_BYTES else _RESERVED_FOR_ORDINARY)
        available = limit - (size - self.counted)
        if self.bodies.in_flight > available:
            self.bodies.give_up_slow_ones(available)
        if self.bodies.in_flight > available:
            text = f"reviews under way have {self.bodies.in_flight:,} bytes, too many to take this one, too; try again"
            raise BodyRefusedError(503, "TooManyBytes", text)
        self.bodies.in_flight += size - self.counted
        self.counted = size


async def parse(body: bytes, loads: Callable[[str], Any] = json.loads) -> Any:
    """Parse the JSON text. Raises MalformedBodyError if it is no JSON, or has too many values or levels."""
    if len(body) <= _FEW_BYTES and _most_values(body) <= _FEW_VALUES:
        return _parsed(body, loads)
    return await asyncio.get_running_loop().run_in_executor(_PARSER, _parsed, body, loads)


def _parsed(body: bytes, loads: Callable[[str], Any]) -> Any:
    if _most_values(body) > MAX_VALUES and _most_values(_without_strings(body)) > MAX_VALUES:
        raise MalformedBodyError(f"the body has more than {MAX_VALUES:,} JSON values")
    try:
        value = loads(body.decode())  # of bytes, json.loads takes UTF-16, too, where brackets are other bytes
    except (ValueError, RecursionError):
        raise MalformedBodyError("the body is not JSON") from None
    if _is_deep(value):
        raise MalformedBodyError(f"the body has more than {_MAX_LEVELS} levels of JSON")
    return value


def _most_values(text: bytes) -> int:
    """Return an upper bound of the number of values: each is the first one, or follows a bracket or a comma."""
    return 1 + len(text.translate(None, _NO_STRUCTURE))


def _without_strings(text: bytes) -> bytes:
    """Return the JSON text without its strings, at least up to its first syntax error."""
    unescaped = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A value has at most two strings, its name and itself. So a text that is cut beyond these already has too many
    # values.
    return b"".join(unescaped.split(b'"', 4 * MAX_VALUES)[::2])


def _is_deep(value: Any) -> bool:
    level: list[Iterable[Any]] = [[value]]
    for _ in range(_MAX_LEVELS):
        members = (member for parent in level for member in parent)
        level = [m.values() if isinstance(m, dict) else m for m in members if isinstance(m, dict | list)]
        if not level:
            return False
    return True
