"""Validator of protobuf payloads: runs the loop, and determines the paths of its findings."""

from typing import Final

import numpy as np

from topicschema.core.schemas import SchemaType
from topicschema.payload import MessageReader
from topicschema.payload.columnar import reasons as why
from topicschema.payload.columnar.base import BaseValidator, FirstFinding, VerdictBuilder, in_schema
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.compiled import cached, mark
from topicschema.payload.columnar.protobuf import layout as to
from topicschema.payload.columnar.protobuf import lookups, loop, wire
from topicschema.payload.columnar.protobuf.tables import TableBuilder
from topicschema.payload.columnar.reasons import Reasons
from topicschema.payload.columnar.verdicts import Verdicts
from topicschema.payload.path import MapEntry, Path, shown
from topicschema.payload.protobuf_native import FieldPlan, MessagePlan, ProtobufCodec

REASONS: Final[Reasons] = {
    **dict.fromkeys(("TRUNCATED", "VARINT_TOO_LONG", "INVALID_FIELD_NUMBER", "INVALID_WIRE_TYPE"), False),
    **dict.fromkeys(("NEGATIVE_LENGTH", "UNMATCHED_GROUP", "TOO_DEEP", "TOO_MANY_VALUES"), False),
    **dict.fromkeys(("INVALID_UTF8", "MISSING_FIELD"), False),
    **dict.fromkeys(("UNKNOWN_FIELD", "WRONG_WIRE_TYPE", "UNKNOWN_SYMBOL"), True),
}
_RUN: Final = cached(loop.marked(mark((why, to, lookups, loop, wire))))


class ProtobufValidator(BaseValidator):
    """Validator of messages of `writer`, or None if it is unknown."""

    def __init__(self, reader: MessagePlan, writer: MessagePlan | None) -> None:
        super().__init__(REASONS)
        self._codec = ProtobufCodec(reader)
        self._drawing = TableBuilder(reader, writer)
        self._places: dict[tuple[int, int], int] = {}
        self._losses = self._drawing.losses

    def _verdicts(self, payloads: Column) -> Verdicts:
        """Return the verdicts. Raises ValueError if the offsets do not match the values."""
        payloads = payloads.checked
        count = len(payloads)
        result = to.empty_result(count)
        machine = to.machine(payloads.values, self._drawing.tables, len(self.losses))
        _RUN(machine, (payloads.starts, payloads.ends), result)
        builder = VerdictBuilder(count)
        for row in np.flatnonzero(result.reasons).tolist():
            reason = int(result.reasons[row])
            if reason == why.MISSING_FIELD:
                self._note(builder, row, self._examine(payloads[row] or b""))
                continue
            key = reason, int(result.paths[row])
            if key not in self._places:
                self._places[key] = self._paths.number(self._path(payloads, row))
            builder.put(row, reason, self._places[key], int(result.offsets[row]))
        return builder.verdicts(machine.tally[: len(self.losses), to.LOSSES_COUNT].copy())

    def _examine(self, payload: bytes) -> FirstFinding | None:
        """Return the missing required field of a message, if any."""
        findings = MessageReader(self._codec, SchemaType.PROTOBUF_NATIVE).read(payload)[1]
        return FirstFinding.first([each for each in findings if each.rule == "MISSING_FIELD"])

    def _path(self, payloads: Column, row: int) -> str:
        """Return the path of a message's fault, by a second reading."""
        machine = to.machine(payloads.values, self._drawing.tables, len(self.losses))
        one = payloads.only(slice(row, row + 1))
        _RUN(machine, (one.starts, one.ends), to.empty_result(1))
        depth, field, is_bare = (int(machine.state[each]) for each in (to.DEPTH, to.FIELD, to.IS_BARE))
        path: Path | None = None
        in_entry = False
        for each in machine.stack[:depth, to.BY_FIELD].tolist():
            held = self._drawing.fields[each]
            path = path if in_entry else _below(path, held)
            in_entry = held.pair is not None
        if field >= 0:
            held = self._drawing.fields[field]
            path = (path, held.name) if is_bare else path if in_entry else _below(path, held)
        return in_schema(shown(path))


def _below(path: Path | None, field: FieldPlan) -> Path:
    if not field.is_repeated:
        return (path, field.name)
    return ((path, field.name), 0 if field.pair is None else MapEntry(0))
