"""Reader of messages one by one, by the codec of the reader's schema: JSON, protobuf and primitives."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from topicschema.payload.arrow import values
from topicschema.payload.arrow.decoder import ColumnFault
from topicschema.payload.arrow.shapes import Shape
from topicschema.payload.columnar.base import in_schema
from topicschema.payload.columnar.column import Column, Flags
from topicschema.payload.columnar.reasons import NUMBERS
from topicschema.payload.finding import PayloadFinding, Unreadable

Read = Callable[[bytes, list[PayloadFinding]], Any]


class SingleReader:
    """Reader of single messages. `read` is that of a codec."""

    def __init__(self, shape: Shape, read: Read) -> None:
        self._shape = shape
        self._read = read

    def read(self, payloads: Column, keys: Column | None, skipped: Flags) -> tuple[pa.Array, list[ColumnFault]]:
        """Return the values, and the faults of the messages that the column cannot hold."""
        del keys
        read: list[Any] = []
        faults: list[ColumnFault] = []
        for row, is_skipped in enumerate(skipped.tolist()):
            payload = None if is_skipped else payloads[row]
            findings: list[PayloadFinding] = []
            value = None if payload is None else self._value(payload, findings)
            fatal = next((each for each in findings if not each.is_tolerated), None)
            if fatal is not None:
                reason = fatal.rule if fatal.rule in NUMBERS else "INVALID_FOR_COLUMN"
                faults.append(ColumnFault(row, reason, in_schema(fatal.path), fatal.offset))
            read.append(None if fatal else value)
        array, unfit = values.array_of(self._shape, read)
        if unfit:
            array, _ = values.array_of(self._shape, [None if row in unfit else each for row, each in enumerate(read)])
        return array, faults + [ColumnFault(row, "INVALID_FOR_COLUMN", path, -1) for row, path in unfit.items()]

    def _value(self, payload: bytes, findings: list[PayloadFinding]) -> Any:
        try:
            return self._read(payload, findings)
        except Unreadable as stop:
            findings.append(stop.finding)
            return None
