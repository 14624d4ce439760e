"""Messages that come in chunks, put together: in bounded memory, and in time that hangs on each chunk alone."""

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
    """A message whose last chunk is here: where it begins, and all of it; None where it was too much to be kept."""

    begins: Position
    body: bytes | None


@dataclass(slots=True)
class _Pending:
    """A message of which some chunks are here; without parts once it is lost."""

    begins: Position
    chunks: int = 0
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    is_lost: bool = False


class Chunks:
    """Messages that come in chunks, each put together when its last one is here; chunks of others may lie between.

    Where more is pending than may be, the oldest message loses what it has, which is told when its last chunk comes. Of
    one that its producer left unfinished none comes. With `is_farthest`, nobody looks farther back for a first chunk:
    what ends from `first` on without one is lost, too.
    """

    def __init__(self, first: Position, *, is_farthest: bool = False) -> None:
        self._first = first
        self._is_farthest = is_farthest
        self._ended: dict[bytes, None] = {}
        self._pending: dict[bytes, _Pending] = {}
        self._kept: dict[bytes, None] = {}
        self._size = 0
        self.has_incomplete = False
        """Whether a message ended from `first` on whose first chunk did not come."""

    def add(self, uuid: bytes, chunk: tuple[int, int], position: Position, body: bytes) -> Ended | None:
        """The message once the last of `chunk`'s count is here; None before that. SourceError for far too many."""
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
            return None  # sent once more by a producer that saw no receipt
        self._keep(pending, body)
        if number == count - 1:
            self._end(name)
            return Ended(pending.begins, None if pending.is_lost else b"".join(pending.parts))
        return None

    def _begin(self, name: bytes, position: Position) -> None:
        self._forget(name)
        if len(self._pending) >= _MOST_PENDING:
            raise SourceError(f"more than {_MOST_PENDING:,} messages in chunks have no end", str(position))
        self._pending[name], self._kept[name] = _Pending(position), None

    def _end(self, name: bytes) -> None:
        """Remember it a while: its producer may send it once more, or a part of it."""
        self._forget(name)
        self._ended[name] = None
        if len(self._ended) > _MOST_ENDED:
            del self._ended[next(iter(self._ended))]

    def _forget(self, name: bytes) -> None:
        found = self._pending.pop(name, None)
        self._kept.pop(name, None)
        self._size -= 0 if found is None else found.size

    def _keep(self, pending: _Pending, body: bytes) -> None:
        pending.chunks += 1
        if pending.is_lost:
            return
        pending.parts.append(body)
        pending.size += len(body)
        self._size += len(body)
        while self._size > _PENDING_BYTES:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            lost = self._pending[oldest]
            self._size -= lost.size
            lost.parts, lost.size, lost.is_lost = [], 0, True


def _brief(name: bytes) -> bytes:
    """A name that is short however long the one is that a producer gave."""
    return blake2b(name, digest_size=16).digest()
