"""Tables of a reader's and a writer's descriptors: messages and fields as numbers, with their names.

A message has one row for each path to it, so that a loss has a path of its own. If it contains itself, or if there are
too many paths, one row stands for several.
"""

from collections import deque
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from topicschema.core.formats.protobuf_native import Kind
from topicschema.core.formats.protobuf_native.fields import NOT_EXTENDABLE
from topicschema.payload.columnar.base import InternTable
from topicschema.payload.columnar.protobuf import layout as to
from topicschema.payload.columnar.verdicts import ELSEWHERE, MAX_PATHS, Loss
from topicschema.payload.protobuf_native import FieldPlan, MessagePlan, kinds

FIELD_DROPPED: Final = "FIELD_DROPPED"
_MOST_BITS: Final = 62


@dataclass(frozen=True, slots=True, eq=False)
class _Spot:
    """A message of the reader, the type that it was written as (None if unknown), and its path."""

    row: int
    reader: MessagePlan
    writer: MessagePlan | None
    path: str
    parent: "_Spot | None"

    @property
    def key(self) -> tuple[str, str | None]:
        """The properties that decide how it is read, and which fields are lost."""
        return self.reader.full_name, None if self.writer is None else self.writer.full_name


class TableBuilder:
    """Builder of the tables. `fields` has the plan of each row, `losses` the possible losses."""

    def __init__(self, reader: MessagePlan, writer: MessagePlan | None) -> None:
        self.fields: list[FieldPlan] = []
        self.losses = InternTable[Loss]([], Loss(FIELD_DROPPED, ELSEWHERE))
        self._spots: list[_Spot] = []
        self._made: dict[object, _Spot] = {}
        self._waiting: deque[_Spot] = deque()
        self._numbers: list[int] = []
        self._placed: dict[str, tuple[int, int]] = {}
        self._messages: list[list[int]] = []
        self._rows: list[list[int]] = []
        self._direct: list[list[int]] = []
        self._spot(reader, writer, "$", None)
        while self._waiting:
            self._draw(self._waiting.popleft())
        self.tables = to.Tables(
            np.array(self._messages, np.int64),
            np.array(self._rows, np.int64).reshape(-1, to.FIELD_COLUMNS),
            np.array(self._numbers, np.int64),
            np.array(self._direct, np.int32),
        )

    def _spot(self, reader: MessagePlan, writer: MessagePlan | None, path: str, parent: _Spot | None) -> int:
        """Return the row of a message at the end of a path."""
        key = reader.full_name, None if writer is None else writer.full_name
        outer = parent
        while outer is not None:
            if outer.key == key:
                return outer.row
            outer = outer.parent
        is_shared = writer is None or len(self._spots) >= MAX_PATHS
        place: object = key if is_shared else (key, path)
        if place not in self._made:
            spot = self._made[place] = _Spot(len(self._spots), reader, writer, path, parent)
            self._spots.append(spot)
            self._waiting.append(spot)
        return self._made[place].row

    def _draw(self, spot: _Spot) -> None:
        """Add the rows of a message, in the order of the spots."""
        read = spot.reader.read
        written = {} if spot.writer is None else spot.writer.read
        first, direct = len(self._rows), [-1] * to.DIRECT
        bits = _bits(spot.reader)
        for number in sorted(read.keys() | written.keys()):
            if number < to.DIRECT:
                direct[number] = len(self._rows)
            if number in read:
                self._rows.append(self._field(spot, read[number], written.get(number), bits.get(number, 0)))
                self.fields.append(read[number])
            else:
                self._rows.append(self._dropped(spot, written[number]))
                self.fields.append(written[number])
        is_odd = len(bits) < len(_needed(spot.reader))
        self._messages.append([first, len(self._rows) - first, sum(bits.values()), is_odd, *self._ranges(spot)])
        self._direct.append(direct)

    def _ranges(self, spot: _Spot) -> tuple[int, int, int]:
        extensions = NOT_EXTENDABLE if spot.writer is None else spot.writer.extensions
        if not extensions.starts:
            return 0, 0, -1
        first = len(self._numbers)
        self._numbers += chain.from_iterable(zip(extensions.starts, extensions.ends, strict=True))
        loss = self.losses.number(Loss(FIELD_DROPPED, f"{spot.path}.[extensions]"))
        return first, len(extensions.starts), loss

    def _field(self, spot: _Spot, field: FieldPlan, written: FieldPlan | None, bit: int) -> list[int]:
        message = first = count = 0
        if field.message_name:
            counterpart = written.message if written is not None and written.message_name else None
            message = self._spot(field.message, counterpart, f"{spot.path}{_step(field)}", spot)
        elif field.kind is Kind.ENUM:
            first, count = self._enum(field)
        return [field.number, field.wire, _kind(field), field.takes_packed, message, first, count, bit, -1]

    def _enum(self, field: FieldPlan) -> tuple[int, int]:
        name = field.field.type_name
        if name not in self._placed:
            numbers = sorted(field.names)
            self._placed[name] = len(self._numbers), len(numbers)
            self._numbers += numbers
        return self._placed[name]

    def _dropped(self, spot: _Spot, field: FieldPlan) -> list[int]:
        number = self.losses.number(Loss(FIELD_DROPPED, f"{spot.path}.{field.name}"))
        return [field.number, field.wire, to.DROPPED, field.takes_packed, 0, 0, 0, 0, number]


def _bits(plan: MessagePlan) -> dict[int, int]:
    """Return a bit for each required field that remains set once it was read.

    A field that a rival or its default can remove has none.
    """
    needed = [each for each in _needed(plan) if each.number in plan.read and each.has_presence and not each.rivals]
    return {each.number: 1 << place for place, each in enumerate(needed[:_MOST_BITS])}


def _needed(plan: MessagePlan) -> list[FieldPlan]:
    """Return the required fields, and an entry's value whose default lacks a required field."""
    return [
        each
        for each in plan.written
        if each.is_required or (plan.is_pair and each.message_name and each.message.required)
    ]


def _kind(field: FieldPlan) -> int:
    if field.message_name:
        return to.HOLDER
    if field.is_passed_by:
        return to.PASSED_BY
    if field.kind is Kind.STRING:
        return to.CHECKED_TEXT if field.checks_utf8 else to.TEXT
    if field.kind is Kind.BYTES:
        return to.BYTES
    if field.kind in kinds.FIXED:
        return to.FIXED
    return to.ENUM if field.kind is Kind.ENUM else to.PLAIN


def _step(field: FieldPlan) -> str:
    end = "" if not field.is_repeated else "[]" if field.pair is None else "{}"
    return f".{field.name}{end}"
