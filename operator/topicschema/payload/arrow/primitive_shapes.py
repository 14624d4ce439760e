"""Shapes of Pulsar's primitive types. See payload/primitives for their values."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa

from topicschema.core.schemas import SchemaType
from topicschema.payload.arrow.logical import INSTANT, LOCAL, micros
from topicschema.payload.arrow.shapes import BeyondColumnError, Shape, leaf
from topicschema.payload.columnar.avro import outputs
from topicschema.payload.primitives import Instant, LocalDateTime

_MICROS: Final = 1_000_000
_DAY: Final = 86_400 * _MICROS
_NANOS: Final = 1_000
_LONG: Final = range(-(2**63), 2**63)


def _bounded(value: int) -> int:
    if value not in _LONG:
        raise BeyondColumnError
    return value


def _instant(value: Instant) -> int:
    return _bounded(value.second * _MICROS + value.nano // _NANOS)


def _local(value: LocalDateTime) -> int:
    return _bounded(value.day * _DAY + value.nano // _NANOS)


_TYPES: Final[Mapping[SchemaType, tuple[pa.DataType, Callable[[Any], Any] | None]]] = MappingProxyType(
    {
        SchemaType.NONE: (pa.binary(), None),
        SchemaType.BYTES: (pa.binary(), None),
        SchemaType.STRING: (pa.string(), None),
        SchemaType.BOOLEAN: (pa.bool_(), None),
        SchemaType.INT8: (pa.int8(), None),
        SchemaType.INT16: (pa.int16(), None),
        SchemaType.INT32: (pa.int32(), None),
        SchemaType.INT64: (pa.int64(), None),
        SchemaType.FLOAT: (pa.float32(), None),
        SchemaType.DOUBLE: (pa.float64(), None),
        SchemaType.DATE: (INSTANT, micros),
        SchemaType.TIMESTAMP: (INSTANT, micros),
        SchemaType.TIME: (pa.int64(), None),
        SchemaType.INSTANT: (INSTANT, _instant),
        SchemaType.LOCAL_DATE: (pa.date32(), None),
        SchemaType.LOCAL_TIME: (pa.int64(), None),
        SchemaType.LOCAL_DATE_TIME: (LOCAL, _local),
    }
)


def shape_of(kind: SchemaType) -> Shape:
    """Return the shape of a primitive type."""
    made, convert = _TYPES[kind]
    return leaf(made, outputs.CONTENT, convert)
