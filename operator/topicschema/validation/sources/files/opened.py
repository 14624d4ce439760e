"""File of a source and its pieces, shared by all formats."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from topicschema.validation.errors import SourceError
from topicschema.validation.run.batches import BATCH, MAX_BYTES, MAX_MESSAGES, NO_TIME, NO_VERSION

MAX_MESSAGE: Final = 32 * 1024 * 1024
"""Maximum bytes of a message that is stored as its bytes. A broker accepts 5 MiB by default."""

_SECOND: Final = 1_000_000_000
_CHANGED: Final = "the file has changed since the run began; start it again"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """File at the time of the plan. `number` is its index among the source's files.

    `changed` is the time of its last change in ns since 1970. It is None or 0 if the file system has none.
    """

    uri: str
    path: str
    size: int
    changed: int | None
    number: int
    system: fs.FileSystem

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the file for random access. Raises SourceError if it cannot be read, or has changed."""
        with self.failing(), self.system.open_input_file(self.path) as stream:
            if stream.size() != self.size or self._is_newer():
                raise SourceError(_CHANGED, self.uri)
            yield stream
            if self._is_newer():
                raise SourceError(_CHANGED, self.uri)

    def _is_newer(self) -> bool:
        if not self.changed:
            return False
        changed: int | None = self.system.get_file_info(self.path).mtime_ns
        # A store may list a folder with milliseconds, and a single file with whole seconds.
        return changed is not None and abs(changed - self.changed) >= _SECOND

    @contextmanager
    def failing(self, where: str = "") -> Iterator[None]:
        """Turn errors of Arrow and the system into a SourceError of this file."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            message = getattr(error, "strerror", None) or str(error).split("\n", 1)[0] or type(error).__name__
            raise SourceError(message[:300], self.place(where)) from None

    def place(self, where: str) -> str:
        """Return the location for messages to users."""
        return f"{self.uri}, {where}" if where else self.uri


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a file that is read at once, from `first` to before `last`, in the unit of the format.

    `before` is the number of messages before the piece, if the format has it.
    """

    first: int
    last: int
    messages: int
    before: int = 0


@dataclass(slots=True)
class MessageRows:
    """Messages that are collected for a batch."""

    file: SourceFile
    columns: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in BATCH.names})
    held: int = 0

    def add(self, payload: bytes | None, entry: int, batch_index: int = -1, **more: Any) -> None:
        """Add a message. `more` are the columns whose values are not the default."""
        row = _PLAIN | {"partition": self.file.number, "ledger": self.file.number} | more
        row |= {"payload": payload, "entry": entry, "batch_index": batch_index}
        for name, values in self.columns.items():
            values.append(row[name])
        self.held += len(payload or b"") + len(row["key"] or b"")

    @property
    def are_enough(self) -> bool:
        """True if the messages fill a batch."""
        return len(self.columns["entry"]) >= MAX_MESSAGES or self.held >= MAX_BYTES

    def taken(self) -> Iterator[pa.RecordBatch]:
        """Yield the batch if there are any messages, and start an empty one."""
        columns, self.columns, self.held = self.columns, {name: [] for name in BATCH.names}, 0
        if columns["entry"]:
            yield pa.record_batch([pa.array(columns[each.name], each.type) for each in BATCH], schema=BATCH)


def ranges(size: int, step: int) -> Sequence[tuple[int, int]]:
    """Return a file's bytes divided into ranges of about `step` bytes."""
    count = max(1, round(size / step))
    bounds = [size * number // count for number in range(count + 1)]
    return list(pairwise(bounds))


_PLAIN: Final[dict[str, Any]] = {"key": None, "writer": NO_VERSION, "publish_time": NO_TIME}
