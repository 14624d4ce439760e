"""Reader of messages that a Java consumer reads in spite of their faults: one by one, as that consumer does."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from topicschema.payload import MessageReader, Pair
from topicschema.payload.arrow import values
from topicschema.payload.arrow.shapes import Shape
from topicschema.payload.arrow.singles import Read
from topicschema.payload.codec import Codec
from topicschema.payload.columnar.column import Column
from topicschema.payload.finding import PayloadFinding


@dataclass(frozen=True, slots=True)
class TextCodec:
    """Codec of JSON for columns: it has the findings of `codec`, and the values of the text, which `parse` reads."""

    codec: Codec
    parse: Read

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> Any:
        """Return the value of the text, as in Codec."""
        self.codec.read(payload, findings)
        return self.parse(payload, findings)

    def write(self, value: Any) -> bytes:
        """Return the payload, as in Codec."""
        return self.codec.write(value)


class ToleratedReader:
    """Reader of the messages of one writer, by the codec of their reader."""

    def __init__(self, shape: Shape, reader: MessageReader) -> None:
        self._shape = shape
        self._reader = reader

    def read(self, payloads: Column, keys: Column | None) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return the values and their rows, as in TolerantReader."""
        read: list[Any] = []
        rows: list[int] = []
        for row in range(len(payloads)):
            value, findings = self._reader.read(payloads[row], None if keys is None else keys[row])
            is_read = all(each.is_tolerated for each in findings)
            read.append((value._asdict() if isinstance(value, Pair) else value) if is_read else None)
            rows += [row] if is_read else []
        array, unheld = values.array_of_messages(self._shape, read, payloads)
        return array, np.array([row for row in rows if row not in unheld], np.int64)
