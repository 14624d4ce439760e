"""Chunked messages, joined in bounded memory. The time for each chunk is independent of the others."""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple

from topicschema.validation.errors import SourceError
from topicschema.validation.sources.pulsar.ranges import Position

_PENDING_BYTES: Final = 128 << 20
_MOST_PENDING: Final = 100_000
_MOST_ENDED: Final = 10_000
_UNKNOWN: Final = Position(-1, -1)


class Ended(NamedTuple):
    """Message whose last chunk has arrived: its first position and its body. The body is None if it was too large."""

    begins: Position
    body: bytes | None


@dataclass(slots=True)
class _Pending:
    """Message with some of its chunks. A lost message has no parts."""

    begins: Position
    chunks: int = 0
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    is_lost: bool = False


class Chunks:
    """Chunked messages, each joined when its last chunk arrives. Chunks of other messages may lie between.

    Above the memory limit, the oldest pending message loses its chunks. `add` then returns it without a body after its
    last chunk. A message that its producer left unfinished is never returned. With `is_farthest`, no reader searches
    further back for first chunks: a message that ends at or after `first` without one is lost, too.
    """

    def __init__(self, first: Position, *, is_farthest: bool = False) -> None:
        self._first = first
        self._is_farthest = is_farthest
        self._ended: dict[bytes, None] = {}
        self._pending: dict[bytes, _Pending] = {}
        self._by_age: dict[bytes, None] = {}
        self._size = 0
        self.has_incomplete = False
        """True if a message that ended at or after `first` had no first chunk."""

    def add(self, uuid: bytes, chunk: tuple[int, int], position: Position, body: bytes) -> Ended | None:
        """Return the message after the last chunk of its count. Return None before that.

        Raises SourceError if too many messages are pending.
        """
        number, count = chunk
        name = _brief(uuid)
        if number == 0:
            self._begin(name, position)
        pending = self._pending.get(name)
        if pending is None or number > pending.chunks:
            is_end = number == count - 1 and name not in self._ended and position >= self._first
            self.has_incomplete = self.has_incomplete or is_end
            return Ended(_UNKNOWN, None) if is_end and self._is_farthest else None
        if number < pending.chunks:
            return None  # sent again by a producer that received no receipt
        self._keep(pending, body)
        if number == count - 1:
            self._end(name)
            return Ended(pending.begins, None if pending.is_lost else b"".join(pending.parts))
        return None

    def _begin(self, name: bytes, position: Position) -> None:
        self._forget(name)
        if len(self._pending) >= _MOST_PENDING:
            raise SourceError(f"more than {_MOST_PENDING:,} messages in chunks have no end", str(position))
        self._pending[name], self._by_age[name] = _Pending(position), None

    def _end(self, name: bytes) -> None:
        """Remember the message for some time: its producer may send it, or a part of it, again."""
        self._forget(name)
        self._ended[name] = None
        if len(self._ended) > _MOST_ENDED:
            del self._ended[next(iter(self._ended))]

    def _forget(self, name: bytes) -> None:
        message = self._pending.pop(name, None)
        self._by_age.pop(name, None)
        self._size -= 0 if message is None else message.size

    def _keep(self, pending: _Pending, body: bytes) -> None:
        pending.chunks += 1
        if pending.is_lost:
            return
        pending.parts.append(body)
        pending.size += len(body)
        self._size += len(body)
        while self._size > _PENDING_BYTES:
            oldest = next(iter(self._by_age))
            del self._by_age[oldest]
            lost = self._pending[oldest]
            self._size -= lost.size
            lost.parts, lost.size, lost.is_lost = [], 0, True


def _brief(name: bytes) -> bytes:
    """Return a short name for a producer's name of any length."""
    return blake2b(name, digest_size=16).digest()
