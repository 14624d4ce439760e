"""Comparison of two types: how a reader with one type reads what was written with the other, on the wire and in JSON.

Source: protobuf.dev's "Encoding". Integers of one family have the same wire format, sign-extended to 64 bits, and a
reader truncates what its type cannot represent. So all values arrive exactly if the reader's type includes all of the
writer's.
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Final

from topicschema.core.formats.format import Mismatch
from topicschema.core.formats.protobuf_native.model import Kind
from topicschema.core.formats.protobuf_native.risks.sides import HOLDERS, FieldSide, finding


class Family(Enum):
    """Types that have the same wire format."""

    VARINT = auto()
    ZIGZAG = auto()
    FIXED32 = auto()
    FIXED64 = auto()
    FLOAT = auto()
    DOUBLE = auto()
    BYTES = auto()
    GROUP = auto()


_FAMILIES: Final[Mapping[Kind, Family]] = {
    **dict.fromkeys(
        (Kind.INT32, Kind.INT64, Kind.UINT32, Kind.UINT64, Kind.BOOL, Kind.ENUM),
        Family.VARINT,
    ),
    **dict.fromkeys((Kind.SINT32, Kind.SINT64), Family.ZIGZAG),
    **dict.fromkeys((Kind.FIXED32, Kind.SFIXED32), Family.FIXED32),
    **dict.fromkeys((Kind.FIXED64, Kind.SFIXED64), Family.FIXED64),
    **dict.fromkeys((Kind.STRING, Kind.BYTES, Kind.MESSAGE), Family.BYTES),
    Kind.FLOAT: Family.FLOAT,
    Kind.DOUBLE: Family.DOUBLE,
    Kind.GROUP: Family.GROUP,
}
_INT32: Final = range(-(1 << 31), 1 << 31)
_INT64: Final = range(-(1 << 63), 1 << 63)
_UINT32: Final = range(1 << 32)
_UINT64: Final = range(1 << 64)
_RANGES: Final[Mapping[Kind, range]] = {
    **dict.fromkeys((Kind.INT32, Kind.SINT32, Kind.SFIXED32, Kind.ENUM), _INT32),
    **dict.fromkeys((Kind.INT64, Kind.SINT64, Kind.SFIXED64), _INT64),
    **dict.fromkeys((Kind.UINT32, Kind.FIXED32), _UINT32),
    **dict.fromkeys((Kind.UINT64, Kind.FIXED64), _UINT64),
    Kind.BOOL: range(2),
}
_IN_WORDS: Final[Mapping[Kind, str]] = {
    Kind.BOOL: "all but 0 and 1",
    Kind.ENUM: "numbers that the enum does not have",
}
_NAMED_IN_JSON: Final = frozenset({Kind.BOOL, Kind.ENUM})
_BOTH_WAYS: Final = frozenset({"FIELD_TYPE_CHANGED", "FIELD_TYPE_RENAMED"})
_BESIDE: Final = "add a field of the new type beside it"
OWN_JSON: Final = frozenset(
    f"google.protobuf.{name}"
    for name in (
        *("Any", "Duration", "FieldMask", "ListValue", "NullValue", "Struct", "Timestamp", "Value"),
        *("BoolValue", "BytesValue", "DoubleValue", "FloatValue", "Int32Value", "Int64Value"),
        *("StringValue", "UInt32Value", "UInt64Value"),
    )
)
"""Types with their own form in JSON."""


def compare(reader: FieldSide, writer: FieldSide) -> Iterator[Mismatch]:
    """Yield the worst finding about the writer's values, if any."""
    if reader.field.kind in HOLDERS and writer.field.kind in HOLDERS:
        yield from _messages(reader, writer)
    elif reader.field.kind is writer.field.kind:
        yield from _namesakes(reader, writer)
    elif _family(reader) is not _family(writer):
        yield _finding("FIELD_TYPE_CHANGED", "which loses or misreads it", reader, writer)
    elif _family(reader) is Family.BYTES:
        yield _of_bytes(reader, writer)
    else:
        yield _of_numbers(reader, writer)


def _messages(reader: FieldSide, writer: FieldSide) -> Iterator[Mismatch]:
    if reader.field.is_delimited != writer.field.is_delimited:
        forms = {True: "as a group", False: "with its length before it"}
        message = (
            f"{reader.name} is written {forms[writer.field.is_delimited]} by {{writer}} and looked for "
            f"{forms[reader.field.is_delimited]} by {{reader}}, which does not find it; keep its encoding"
        )
        yield finding("FIELD_ENCODING_CHANGED", message, reader.where, writer.where, is_mutual=True)
    elif (reader.entry is None) == (writer.entry is None):  # the name of a map's entry is generated
        yield from _namesakes(reader, writer)


def _namesakes(reader: FieldSide, writer: FieldSide) -> Iterator[Mismatch]:
    """Yield the findings for messages, enums, or scalars of one kind."""
    names = {reader.field.type_name, writer.field.type_name}
    if len(names) > 1 and not names.isdisjoint(OWN_JSON):
        yield _finding("FIELD_TYPE_CHANGED_IN_JSON", "which reads another JSON", reader, writer)
    elif len(names) > 1:
        yield _finding("FIELD_TYPE_RENAMED", "so generated code changes", reader, writer, "keep the type's name")
    elif reader.field.checks_utf8 and not writer.field.checks_utf8:
        message = (
            f"{{writer}} does not check that {reader.name} is UTF-8, and {{reader}} does: it refuses messages with "
            "other bytes; be sure that there are none, or set features.utf8_validation = NONE"
        )
        yield finding("UTF8_CHECKED", message, reader.where, writer.where)


def _of_bytes(reader: FieldSide, writer: FieldSide) -> Mismatch:
    kinds = writer.field.kind, reader.field.kind
    if kinds[1] is Kind.BYTES:
        return _finding("FIELD_TYPE_CHANGED_IN_JSON", "which reads base64 in JSON", reader, writer)
    if kinds[0] is Kind.BYTES:
        expected = "UTF-8" if kinds[1] is Kind.STRING else "such messages"
        return _finding(
            "FIELD_TYPE_NARROWED", f"which fails on, or garbles, bytes that are no {expected}", reader, writer
        )
    return _finding("FIELD_TYPE_CHANGED", "which loses or misreads it", reader, writer)


def _of_numbers(reader: FieldSide, writer: FieldSide) -> Mismatch:
    kind = reader.field.kind
    if not _holds(_values(reader, is_closed=reader.is_closed), _values(writer, is_closed=_is_closed(writer))):
        held = _RANGES[kind]
        lost = _IN_WORDS.get(kind, f"what is not between {held[0]} and {held[-1]}")
        return _finding("FIELD_TYPE_NARROWED", f"which misreads {lost}", reader, writer)
    if kind is Kind.BOOL or writer.field.kind in _NAMED_IN_JSON:
        return _finding("FIELD_TYPE_CHANGED_IN_JSON", "which reads another JSON", reader, writer)
    return _finding("FIELD_TYPE_CHANGED_IN_CODE", "so generated code changes", reader, writer)


def _values(side: FieldSide, *, is_closed: bool) -> range | frozenset[int]:
    return frozenset(side.enum.values.values()) if side.enum and is_closed else _RANGES[side.field.kind]


def _is_closed(writer: FieldSide) -> bool:
    return writer.enum is not None and writer.enum.is_closed  # for all clients


def _holds(reader: range | frozenset[int], writer: range | frozenset[int]) -> bool:
    if isinstance(writer, range) and isinstance(reader, range):
        return writer[0] in reader and writer[-1] in reader
    if isinstance(writer, range) and writer != _RANGES[Kind.BOOL]:
        return False  # an enum has fewer values
    return all(value in reader for value in writer)


def _family(side: FieldSide) -> Family:
    return Family.GROUP if side.field.is_delimited else _FAMILIES[side.field.kind]


def _finding(rule: str, what: str, reader: FieldSide, writer: FieldSide, advice: str = _BESIDE) -> Mismatch:
    message = f"{reader.name} is {writer.type} in {{writer}} and {reader.type} in {{reader}}, {what}; {advice}"
    return finding(rule, message, reader.where, writer.where, is_mutual=rule in _BOTH_WAYS)
