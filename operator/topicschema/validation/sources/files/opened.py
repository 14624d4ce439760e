"""A file of a source, and pieces of it: what all forms share."""

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
"""Room for any message that is stored as its bytes: a broker takes 5 MiB, unless it is told otherwise."""

_SECOND: Final = 1_000_000_000
_CHANGED: Final = "the file has changed since the run began; start it again"


@dataclass(frozen=True, slots=True)
class File:
    """A file as the plan saw it; `number` is its place among the source's files.

    `changed` is when it was changed last, in ns since 1970; None or 0 where the system does not tell.
    """

    uri: str
    path: str
    size: int
    changed: int | None
    number: int
    system: fs.FileSystem

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """The file, open for reading at any place; SourceError where it cannot be read, or is no longer the same."""
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
        # Of all in a folder a store may tell it to the millisecond, and of one of them in whole seconds.
        return changed is not None and abs(changed - self.changed) >= _SECOND

    @contextmanager
    def failing(self, where: str = "") -> Iterator[None]:
        """What Arrow and the system fail with, as SourceError of this file."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            message = getattr(error, "strerror", None) or str(error).split("\n", 1)[0] or type(error).__name__
            raise SourceError(message[:300], self.place(where)) from None

    def place(self, where: str) -> str:
        """What people find the place by."""
        return f"{self.uri}, {where}" if where else self.uri


@dataclass(frozen=True, slots=True)
class Piece:
    """What of a file is read at once: from `first` up to and without `last`, in whatever the form counts.

    `before` is how many messages stand before it, where the form knows.
    """

    first: int
    last: int
    messages: int
    before: int = 0


@dataclass(slots=True)
class Rows:
    """Messages that become batches."""

    file: File
    columns: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in BATCH.names})
    held: int = 0

    def add(self, payload: bytes | None, entry: int, batch_index: int = -1, **more: Any) -> None:
        """One more message; `more` are columns whose value is not that of a message which tells nothing."""
        row = _PLAIN | {"partition": self.file.number, "ledger": self.file.number} | more
        row |= {"payload": payload, "entry": entry, "batch_index": batch_index}
        for name, values in self.columns.items():
            values.append(row[name])
        self.held += len(payload or b"") + len(row["key"] or b"")

    @property
    def are_enough(self) -> bool:
        """Whether they are a batch."""
        return len(self.columns["entry"]) >= MAX_MESSAGES or self.held >= MAX_BYTES

    def taken(self) -> Iterator[pa.RecordBatch]:
        """The batch, if there are any messages; none are left."""
        columns, self.columns, self.held = self.columns, {name: [] for name in BATCH.names}, 0
        if columns["entry"]:
            yield pa.record_batch([pa.array(columns[each.name], each.type) for each in BATCH], schema=BATCH)


def ranges(size: int, step: int) -> Sequence[tuple[int, int]]:
    """The bytes of a file in pieces of about one size."""
    count = max(1, round(size / step))
    bounds = [size * number // count for number in range(count + 1)]
    return list(pairwise(bounds))


_PLAIN: Final[dict[str, Any]] = {"key": None, "writer": NO_VERSION, "publish_time": NO_TIME}
