"""Shapes of protobuf messages, by the plans of payload/protobuf_native.

A field without presence that is not sent has its default, as Java's getter returns it. One with presence is null.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Final

import pyarrow as pa

from topicschema.core.formats.protobuf_native import Kind
from topicschema.payload.arrow import shapes
from topicschema.payload.arrow.shapes import Limits, Shape, leaf
from topicschema.payload.columnar.avro import outputs
from topicschema.payload.protobuf_native import FieldPlan, MessagePlan

_INT: Final = leaf(pa.int32(), outputs.INT)
_LONG: Final = leaf(pa.int64(), outputs.LONG)
_UNSIGNED: Final = leaf(pa.decimal128(20, 0), outputs.DECIMAL, Decimal)
_TEXT: Final = leaf(pa.string(), outputs.CONTENT)
_TYPES: Final[Mapping[Kind, Shape]] = MappingProxyType(
    {
        **dict.fromkeys((Kind.INT32, Kind.SINT32, Kind.SFIXED32), _INT),
        **dict.fromkeys((Kind.INT64, Kind.SINT64, Kind.SFIXED64, Kind.UINT32, Kind.FIXED32), _LONG),
        **dict.fromkeys((Kind.UINT64, Kind.FIXED64), _UNSIGNED),
        Kind.BOOL: leaf(pa.bool_(), outputs.BOOLEAN),
        Kind.FLOAT: leaf(pa.float32(), outputs.FLOAT),
        Kind.DOUBLE: leaf(pa.float64(), outputs.DOUBLE),
        Kind.STRING: _TEXT,
        Kind.ENUM: _TEXT,
        Kind.BYTES: leaf(pa.binary(), outputs.CONTENT),
    }
)


def shape_of(root: MessagePlan) -> Shape:
    """Return the shape of a message. Raises InvalidSchemaError RECURSIVE_TYPE or TYPE_TOO_COMPLEX, with the field."""
    return _Maker().message(root, "$")


class _Maker:
    """Maker of one shape. Its recursion ends at the limit of levels."""

    def __init__(self) -> None:
        self._limits = Limits()
        self._open: set[str] = set()

    def message(self, plan: MessagePlan, place: str) -> Shape:
        if plan.full_name in self._open:
            raise shapes.recursive(f"the message {plan.full_name}", place)
        self._limits.enter(place)
        self._open.add(plan.full_name)
        numbered = {each.name: each for each in plan.read.values() if not each.is_passed_by}
        fields = [numbered[name] for name in plan.declared if name in numbered]
        made = shapes.struct(
            [each.name for each in fields], [self._field(each, f"{place}.{each.name}") for each in fields]
        )
        self._open.remove(plan.full_name)
        self._limits.leave()
        return made

    def _field(self, field: FieldPlan, place: str) -> Shape:
        pair = field.pair
        if pair is not None:
            self._limits.enter(place)
            key, value = (self._single(pair.read[number], place) for number in (1, 2))
            self._limits.leave()
            return replace(shapes.entries(key, value), absent={})
        single = self._single(field, place)
        if field.is_repeated:
            return replace(shapes.items(single), absent=[])
        return single if field.has_presence else replace(single, absent=field.default)

    def _single(self, field: FieldPlan, place: str) -> Shape:
        self._limits.count(place)
        return self.message(field.message, place) if field.message_name else _TYPES[field.kind]
