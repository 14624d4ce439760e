"""Reader of protobuf's binary encoding: the fields of a message, or the byte and the field at which it cannot be read.

Faults that Java tolerates are findings as well: unknown fields, fields with another wire type, unknown numbers of an
enum, and unchecked text that is not UTF-8.
"""

import struct
from typing import Any, Final

from topicschema.core.formats.protobuf_native import Kind
from topicschema.payload import numbers, text
from topicschema.payload.finding import MAX_FINDINGS, PayloadFinding, tolerated
from topicschema.payload.path import MapEntry, Path, shown
from topicschema.payload.protobuf_native import kinds
from topicschema.payload.protobuf_native.descriptors import FieldPlan, MessagePlan
from topicschema.payload.protobuf_native.required_fields import Completeness
from topicschema.payload.protobuf_native.wire import NOTHING, ProtobufWire

MAX_VALUES: Final = 1_000_000  # values that are not packed; a limit of this reader
MESSAGE: Final = 4  # extra values that a message counts for, because reading it takes longer
MALFORMED: Final = 4  # likewise for a text that is not UTF-8
_CUT: Final = {4: struct.Struct("<I"), 8: struct.Struct("<Q")}


def read(root: MessagePlan, payload: bytes, findings: list[PayloadFinding]) -> dict[str, Any]:
    """Return the message. Tolerated faults are added to `findings`; any other one raises Unreadable."""
    reading = _Reading(root, payload, findings)
    reading.whole()
    return reading.value


class _Frame:
    """A message during its reading.

    `group` is its number if it is a group, `entry` the map's field that it belongs to.
    """

    __slots__ = ("counts", "end", "entry", "field", "group", "path", "plan", "start", "value")

    def __init__(self, plan: MessagePlan, value: dict[str, Any], end: int, path: Path | None) -> None:
        self.plan = plan
        self.value = value
        self.end = end
        self.path = path
        self.start = 0
        self.group = 0
        self.entry: FieldPlan | None = None
        self.field: FieldPlan | None = None
        self.counts: dict[str, int] | None = None


class _Reading(ProtobufWire):
    """Reading of one payload."""

    __slots__ = ("_complete", "_findings", "_frame", "_left", "_outer", "value")

    def __init__(self, root: MessagePlan, payload: bytes, findings: list[PayloadFinding]) -> None:
        super().__init__(payload)
        self.value: dict[str, Any] = {}
        self._findings = findings
        self._left = MAX_VALUES
        self._frame = _Frame(root, self.value, len(payload), None)
        self._outer: list[_Frame] = []
        self._complete = Completeness() if root.has_required else None
        if self._complete is not None:
            self._complete.begun(self.value, root, None, 0)

    def whole(self) -> None:
        """Read the message to the payload's end, and add findings for missing fields."""
        while self.at < self.end or self._outer:
            if self.at < self.end:
                self._field()
            elif self._frame.group:
                self._frame.field = None
                raise self.stop("TRUNCATED", "the group has no end", self.at)
            else:
                self._leave()
        if self._complete is not None:
            self._findings += self._complete.missing(self.value)

    def path(self) -> Path | None:
        """Return the path of the current field."""
        frame = self._frame
        if frame.field is None:
            return frame.path
        return self._below(frame, frame.field)

    def _below(self, frame: _Frame, field: FieldPlan) -> Path | None:
        if frame.entry is not None:
            return frame.path  # an entry's key and value have the entry's place
        path = (frame.path, field.name)
        if not field.is_repeated:
            return path
        if frame.counts and field.name in frame.counts:
            return (path, MapEntry(frame.counts[field.name] - 1))
        return (path, len(frame.value.get(field.name, ())) + len(self.packed))

    def _field(self) -> None:
        frame, start = self._frame, self.at
        frame.field = None
        number, wire = self.tag()
        if wire == kinds.END_GROUP:
            if frame.group != number:
                raise self.unmatched(start)
            self._leave()
            return
        self._count(1)
        field = frame.plan.read.get(number)
        if field is None or not (wire == field.wire or (wire == kinds.LENGTH and field.takes_packed)):
            self._skip(number, wire, start, field)
            return
        if field.is_passed_by:
            self.skip(number, wire, start)
            self._count(1)
            return
        frame.field = field
        if field.wire == wire:
            self._put(frame, field)
        else:
            self._put_packed(frame, field)

    def _put(self, frame: _Frame, field: FieldPlan) -> None:
        if field.message_name:
            self._enter(frame, field)
            return
        start = self.at
        value = self._single(field)
        if field.kind is Kind.ENUM and isinstance(value, int):
            self._note_number(field, start)
            if field.is_closed:
                return
        if field.is_repeated:
            frame.value.setdefault(field.name, []).append(value)
        elif field.has_presence or not field.is_default(value):
            self._clear_rivals(frame, field)
            frame.value[field.name] = value
        else:
            frame.value.pop(field.name, None)

    def _single(self, field: FieldPlan) -> Any:
        kind = field.kind
        convert = kinds.OF_VARINT.get(kind)
        if convert is not None:
            bits = convert(self.varint("a value"))
            return field.names.get(bits, bits) if kind is Kind.ENUM else bits
        if kind in kinds.FIXED:
            size, letter = kinds.FIXED[kind]
            return _fixed(self.take(size, "a value"), size, letter)[0]
        content = self.take(self.length("a value"), "a value")
        return content if kind is Kind.BYTES else self._text(field, content)

    def _text(self, field: FieldPlan, content: bytes) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            where = self.at - len(content) + error.start
            if field.checks_utf8:
                raise self.stop("INVALID_UTF8", "these bytes are not UTF-8, which a string must be", where) from None
            self._count(MALFORMED)
            if self._can_add:
                message = "these bytes are not UTF-8; Java reads U+FFFD in their place"
                self._note("INVALID_UTF8", message, where, self.path())
            return text.decode(content)[0]

    def _put_packed(self, frame: _Frame, field: FieldPlan) -> None:
        end = self.length("a packed list") + self.at
        values = frame.value.setdefault(field.name, [])
        if field.kind in kinds.FIXED:
            values += self._fixed_values(field, end)
        elif field.kind is Kind.ENUM:
            self._put_enums(field, end, values)
        else:
            values += map(kinds.OF_VARINT[field.kind], self.varints(end))
        if not values:
            del frame.value[field.name]

    def _put_enums(self, field: FieldPlan, end: int, values: list[Any]) -> None:
        start, names = self.at, field.names
        numbers = [kinds.OF_VARINT[Kind.ENUM](bits) for bits in self.varints(end)]
        unknown = [index for index, number in enumerate(numbers) if number not in names]
        for index in unknown[:MAX_FINDINGS]:
            self.packed = range(index)
            self._note_number(field, start)
        self.packed = NOTHING
        values += [names.get(number, number) for number in numbers if number in names or not field.is_closed]

    def _fixed_values(self, field: FieldPlan, end: int) -> tuple[Any, ...]:
        size, letter = kinds.FIXED[field.kind]
        count, rest = divmod(end - self.at, size)
        if rest:
            self.packed = range(count)
            raise self.stop("TRUNCATED", f"a packed value takes {size} bytes, {rest} left", end - rest)
        return _fixed(self.take(end - self.at, "a packed list"), size, letter)

    def _enter(self, frame: _Frame, field: FieldPlan) -> None:
        self._count(MESSAGE)
        start, is_group = self.at, field.kind is Kind.GROUP
        plan = field.message
        pair = field.pair
        if pair is not None:
            frame.counts = frame.counts or {}
            frame.counts[field.name] = frame.counts.get(field.name, 0) + 1
        size = self.length("a message") if not is_group else 0
        self.demand_depth(start)
        path = self._below(frame, field)
        held = self._held(frame, field, is_pair=pair is not None)
        inner = _Frame(plan, held, frame.end if is_group else self.at + size, path)
        inner.start, inner.group, inner.entry = self.at, field.number if is_group else 0, field if pair else None
        self._outer.append(frame)
        self._frame, self.end, self.depth = inner, inner.end, self.depth + 1
        if self._complete is not None:
            self._complete.begun(inner.value, plan, path, inner.start)

    def _held(self, frame: _Frame, field: FieldPlan, *, is_pair: bool) -> dict[str, Any]:
        """Return the dict that the message is read into.

        A single message that appears again continues the first one.
        """
        if is_pair:
            return {}
        held: dict[str, Any]
        if field.is_repeated:
            held = {}
            frame.value.setdefault(field.name, []).append(held)
            return held
        self._clear_rivals(frame, field)
        held = frame.value.setdefault(field.name, {})
        return held

    def _leave(self) -> None:
        inner = self._frame
        frame = self._frame = self._outer.pop()
        self.end, self.depth = frame.end, self.depth - 1
        frame.field = None
        if inner.entry is not None:
            self._put_entry(frame, inner.entry, inner)

    def _put_entry(self, frame: _Frame, field: FieldPlan, inner: _Frame) -> None:
        key, value = (_or_default(inner, number) for number in (1, 2))
        entries = frame.value.setdefault(field.name, {})
        if self._complete is not None:
            if key in entries:
                self._complete.replaced(entries[key])
            held = inner.plan.read[2]
            if held.message_name and held.name not in inner.value:
                self._complete.absent(value, held.message, inner.path, inner.start)
        entries[key] = value

    def _clear_rivals(self, frame: _Frame, field: FieldPlan) -> None:
        for name in frame.value.keys() & field.rivals:
            if name != field.name:
                del frame.value[name]

    def _skip(self, number: int, wire: int, start: int, field: FieldPlan | None) -> None:
        self.skip(number, wire, start)
        self._count(1)
        if not self._can_add:
            return
        if field is None:
            message = f"{self._frame.plan.full_name} has no field with the number {number}; it is passed over"
            self._note("UNKNOWN_FIELD", message, start, self._frame.path)
        else:
            message = f"the field has the wire type {wire}, its own is {field.wire}; Java takes it for an unknown field"
            self._note("WRONG_WIRE_TYPE", message, start, (self._frame.path, field.name))

    def _note_number(self, field: FieldPlan, start: int) -> None:
        if not self._can_add:
            return
        consequence = "Java drops it" if field.is_closed else "its number is retained"
        self._note("UNKNOWN_SYMBOL", f"the enum has no value with this number; {consequence}", start, self.path())

    def _note(self, rule: str, message: str, offset: int, path: Path | None) -> None:
        self._findings.append(tolerated(rule, message, offset, shown(path)))

    @property
    def _can_add(self) -> bool:
        """True if another tolerated finding would be reported."""
        return len(self._findings) < MAX_FINDINGS

    def _count(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            message = f"the message has more than {MAX_VALUES:,} values, which is more than is read"
            raise self.stop("TOO_MANY_VALUES", message, self.at)


def _or_default(inner: _Frame, number: int) -> Any:
    """Return a map entry's key or value, or the default if the entry has none."""
    field = inner.plan.read[number]
    if field.name in inner.value:
        return inner.value[field.name]
    return {} if field.message_name else field.default


def _fixed(content: bytes, size: int, letter: str) -> tuple[Any, ...]:
    """Return values of a fixed size, the lowest byte first. A NaN retains its bits."""
    count = len(content) // size
    values = struct.unpack(f"<{count}{letter}", content)
    if letter == "f" and any(value != value for value in values):  # noqa: PLR0124  # only NaN is not itself
        return tuple(numbers.float_of(bits) for bits in struct.unpack(f"<{count}I", content))
    return values
