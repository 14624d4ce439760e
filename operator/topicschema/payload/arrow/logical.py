"""Logical types: their form in columns, and the values that a column cannot hold."""

import decimal
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.avro.model import Fixed, Node, Primitive
from topicschema.payload import numbers
from topicschema.payload.arrow.shapes import BeyondColumnError, Shape, leaf
from topicschema.payload.columnar.avro import outputs
from topicschema.payload.columnar.avro.output_values import MAX_MILLIS

INSTANT: Final = pa.timestamp("us", tz="UTC")
LOCAL: Final = pa.timestamp("us")
MAX_DIGITS: Final = 38
"""Maximum precision of Spark's decimals."""
_THOUSAND: Final = 1_000
_LONGEST: Final = 2**31 - 1


def micros(millis: int) -> int:
    """Return microseconds. Raises BeyondColumnError if they have more than 64 bits."""
    if not -MAX_MILLIS <= millis <= MAX_MILLIS:
        raise BeyondColumnError
    return millis * _THOUSAND


def decimal_of(unscaled: int, precision: int, scale: int) -> decimal.Decimal:
    """Return the decimal. Raises BeyondColumnError if it has more digits than the precision."""
    if abs(unscaled) >= 10**precision:
        raise BeyondColumnError
    return decimal.Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale))


def shape_of(node: Node, place: str) -> Shape | None:
    """Return the shape of a type with a logical type that a column has, or None.

    As in Avro's library, an invalid logical type is none. Raises InvalidSchemaError DECIMAL_TOO_WIDE.
    """
    logical = node.props.get("logicalType")
    if not isinstance(logical, str):
        return None
    kind = "bytes" if isinstance(node, Fixed) else node.kind if isinstance(node, Primitive) else ""
    if logical == "decimal" and kind == "bytes":
        return _decimal(node, place)
    made = _SHAPES.get((kind, logical))
    return leaf(*made) if made else None


def _decimal(node: Node, place: str) -> Shape | None:
    precision, scale = _int(node, "precision", -1), _int(node, "scale", 0)
    if not 0 <= scale <= precision or precision < 1:
        return None
    if isinstance(node, Fixed) and precision > _most_digits(node.size):
        return None
    if precision > MAX_DIGITS:
        message = f"Spark's decimals have at most {MAX_DIGITS} digits, this one has {precision:,}"
        raise InvalidSchemaError(
            "DECIMAL_TOO_WIDE", f"{message}; read it as bytes, without the logical type", Place(place)
        )

    def convert(content: bytes) -> decimal.Decimal:
        if not content:
            raise BeyondColumnError
        return decimal_of(int.from_bytes(content, "big", signed=True), precision, scale)

    return Shape(type=pa.decimal128(precision, scale), form=outputs.DECIMAL, digits=precision, convert=convert)


def _int(node: Node, name: str, absent: int) -> int:
    """Return an int of a type, -1 for another value."""
    value = node.props.get(name, absent)
    return value if isinstance(value, int) and value is not True and value in numbers.INT else -1


def _most_digits(size: int) -> int:
    """Return the most digits of which all numbers fit into the bytes (LogicalTypes.Decimal.maxPrecision)."""
    return math.floor(math.log10(2) * (8 * size - 1)) if size else 0


_SHAPES: Final[Mapping[tuple[str, str], tuple[pa.DataType, int, Callable[[Any], Any] | None]]] = MappingProxyType(
    {
        ("int", "date"): (pa.date32(), outputs.INT, None),
        ("long", "timestamp-millis"): (INSTANT, outputs.MILLIS, micros),
        ("long", "timestamp-micros"): (INSTANT, outputs.LONG, None),
        ("long", "local-timestamp-millis"): (LOCAL, outputs.MILLIS, micros),
        ("long", "local-timestamp-micros"): (LOCAL, outputs.LONG, None),
    }
)
