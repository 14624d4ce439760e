"""Decoder: messages of one writer as a column of the reader's values, with the verdicts of the validator."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from topicschema.payload.columnar.avro.outputs import BatchTooLargeError
from topicschema.payload.columnar.base import InternTable
from topicschema.payload.columnar.column import Column, Flags
from topicschema.payload.columnar.reasons import NUMBERS, Reasons
from topicschema.payload.columnar.verdicts import ELSEWHERE, Loss, Validator, Verdicts

OWN_REASONS: Final[Reasons] = {"INVALID_FOR_COLUMN": False, "TOO_MANY_VALUES": False}
"""Reasons of messages that a consumer reads, and a column cannot hold."""
_PERHAPS_TOLERATED: Final = tuple(
    NUMBERS[each]
    for each in (
        *("TRAILING_BYTES", "INVALID_UTF8", "INVALID_TEXT", "INVALID_BOOLEAN", "BLOCK_SIZE", "SKIPPED_SYMBOL"),
        *("OUT_OF_RANGE", "MISSING_FIELD", "UNEXPECTED_NULL", "UNKNOWN_FIELD", "WRONG_WIRE_TYPE", "UNKNOWN_SYMBOL"),
    )
)
"""Reasons that a Java consumer tolerates, at least in some types and places."""


class ColumnFault(NamedTuple):
    """A message that its column cannot hold. The offset is -1 if it is unknown."""

    row: int
    reason: str
    path: str
    offset: int


class ColumnReader(Protocol):
    """Reader of the values of valid messages."""

    def read(self, payloads: Column, keys: Column | None, skipped: Flags) -> tuple[pa.Array, list[ColumnFault]]:
        """Return the values, null for each message that is skipped, with the faults of the others.

        Raises BatchTooLargeError.
        """


class TolerantReader(Protocol):
    """Reader of the values of messages with faults."""

    def read(self, payloads: Column, keys: Column | None) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return the values, and the rows of those that a Java consumer reads and the column holds. Others are null.

        Raises BatchTooLargeError.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """Values of a column of messages: `array` is null for a message that is bad, or null itself.

    `verdicts` are those of the validator. Their paths index `paths`. A message that the validator passes and the column
    cannot hold has a reason of OWN_REASONS. `is_bad` marks the messages with a reason, without those that a Java
    consumer reads in spite of it: these have the value that it reads.
    """

    array: pa.Array
    verdicts: Verdicts
    paths: Sequence[str]
    is_bad: Flags


class Decoder:
    """Decoder of the messages of one writer for one reader, for many columns in one thread. See `arrow.decoder_for`."""

    def __init__(
        self,
        kind: pa.DataType,
        validator: Validator,
        reader: ColumnReader,
        tolerated: Callable[[], TolerantReader | None],
    ) -> None:
        self.type = kind
        self._validator = validator
        self._reader = reader
        self._tolerated = cache(tolerated)  # most topics have no such message
        self._paths = InternTable(["$"], ELSEWHERE)

    @property
    def reasons(self) -> Reasons:
        """The possible reasons, and whether a Java consumer always tolerates them."""
        return {**self._validator.reasons, **OWN_REASONS}

    @property
    def losses(self) -> Sequence[Loss]:
        """The losses that the verdicts count."""
        return self._validator.losses

    def decode(self, payloads: Column, keys: Column | None = None) -> Decoded:
        """Return the values and the verdicts. `keys` are those of a SEPARATED KEY_VALUE.

        Raises BatchTooLargeError if several messages exceed the memory of a column (see `decode_in_parts`), and
        ValueError if the offsets do not match the values.
        """
        verdicts = self._validator.validate(payloads, keys)
        skipped = verdicts.reasons != 0
        array, faults = self._read(payloads, keys, skipped)
        array, is_bad = self._with_tolerated(array, payloads, keys, verdicts)
        paths = verdicts.paths
        if skipped.any():
            numbers = [self._paths.number(each) for each in self._validator.paths]
            paths = np.where(skipped, np.array(numbers, np.int32)[paths], 0).astype(np.int32)
        for row, reason, path, offset in faults:
            verdicts.reasons[row], verdicts.offsets[row] = NUMBERS[reason], offset
            paths[row], is_bad[row] = self._paths.number(path), True
        judged = Verdicts(verdicts.reasons, paths, verdicts.offsets, verdicts.losses)
        return Decoded(array, judged, self._paths.listed, is_bad)

    def _read(self, payloads: Column, keys: Column | None, skipped: Flags) -> tuple[pa.Array, list[ColumnFault]]:
        """Return the values and the faults. A single message that exceeds the memory of a column has a fault."""
        try:
            return self._reader.read(payloads, keys, skipped)
        except BatchTooLargeError:
            if len(payloads) > 1:
                raise
            return pa.nulls(1, self.type), [ColumnFault(0, "TOO_MANY_VALUES", "$", -1)]

    def _with_tolerated(
        self, array: pa.Array, payloads: Column, keys: Column | None, verdicts: Verdicts
    ) -> tuple[pa.Array, Flags]:
        """Return the values, also those of messages that a Java consumer reads in spite of their faults.

        The second item marks the messages with other faults.
        """
        is_bad = verdicts.reasons != 0
        rows = np.flatnonzero(np.isin(verdicts.reasons, _PERHAPS_TOLERATED))
        reader = self._tolerated() if len(rows) else None
        if reader is None:
            return array, is_bad
        try:
            read, held = reader.read(payloads.only(rows), None if keys is None else keys.only(rows))
        except BatchTooLargeError:
            if len(payloads) > 1:
                raise
            return array, is_bad
        is_bad[rows[held]] = False
        places = np.arange(len(array))
        places[rows[held]] = len(array) + held
        return pa.concat_arrays([array, read]).take(pa.array(places)), is_bad

    def decode_in_parts(self, payloads: Column, keys: Column | None = None) -> Iterator[Decoded]:
        """Yield the values of the messages in order, in as many parts as their memory needs: mostly one."""
        ahead = [slice(0, len(payloads))]
        while ahead:
            part = ahead.pop()
            try:
                decoded = self.decode(payloads.only(part), None if keys is None else keys.only(part))
            except BatchTooLargeError:
                middle = (part.start + part.stop) // 2
                ahead += [slice(middle, part.stop), slice(part.start, middle)]
                continue
            yield decoded


class NoReader:
    """Reader of messages of which none is valid."""

    def __init__(self, kind: pa.DataType) -> None:
        self._type = kind

    def read(self, payloads: Column, keys: Column | None, skipped: Flags) -> tuple[pa.Array, list[ColumnFault]]:
        """Return nulls."""
        del keys, skipped
        return pa.nulls(len(payloads), self._type), []
