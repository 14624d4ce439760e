"""Reader of messages one by one: JSON by its text, protobuf and primitives by the codec of the reader's schema."""

import json
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
from topicschema.payload.json import document

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
        array, unheld = values.array_of_messages(self._shape, read, payloads)
        return array, faults + [ColumnFault(row, each.reason, each.path, -1) for row, each in unheld.items()]

    def _value(self, payload: bytes, findings: list[PayloadFinding]) -> Any:
        try:
            return self._read(payload, findings)
        except Unreadable as stop:
            findings.append(stop.finding)
            return None


def json_reader(shape: Shape) -> Read:
    """Return the reader of JSON messages that a consumer reads. The shape converts the values of the text."""
    is_exact = _is_exact(shape)
    parse = json.JSONDecoder(parse_float=document.exact_number).decode if is_exact else json.loads

    def read(payload: bytes, findings: list[PayloadFinding]) -> Any:
        del findings  # the validator has none
        try:
            return parse(payload.decode())
        except (ValueError, RecursionError):  # limits of Python's reader, which are no faults
            return document.read(payload, is_exact=is_exact).value

    return read


def _is_exact(shape: Shape) -> bool:
    ahead = [shape]
    while ahead:
        each = ahead.pop()
        if each.is_exact:
            return True
        ahead += each.parts
    return False
