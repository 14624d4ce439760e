"""Logical types as Avro's Java library applies them: one that does not fit its type has no effect.

Source: LogicalTypes of Avro 1.11. A logical type that Avro does not know may have a meaning for a client, so it counts.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from topicschema.core.formats.avro.model import Fixed, JsonValue, Node, Primitive

DECIMAL: Final = "decimal"
_DIGITS_IN_A_BIT: Final = math.log10(2)


@dataclass(frozen=True, slots=True)
class Logical:
    """A logical type; only a decimal has precision and scale."""

    name: str
    precision: int = 0
    scale: int = 0


def logical(node: Node) -> Logical | None:
    """Return the node's logical type, or None if it has none that counts."""
    name = node.props.get("logicalType") if node.props else None
    if not isinstance(name, str):
        return None
    if name == DECIMAL:
        return _decimal(node)
    fits = _FITS.get(name)
    return Logical(name) if fits is None or fits(node) else None


def _decimal(node: Node) -> Logical | None:
    precision, scale = _whole(node.props.get("precision")), _whole(node.props.get("scale", 0))
    if precision is None or scale is None or not 0 <= scale <= precision or precision == 0:
        return None
    is_wide = isinstance(node, Fixed) and precision <= _DIGITS_IN_A_BIT * (8 * node.size - 1)
    return Logical(DECIMAL, precision, scale) if is_wide or _kind(node) == "bytes" else None


def _whole(value: JsonValue) -> int | None:
    return value if type(value) is int else None


def _kind(node: Node) -> str:
    return node.kind if isinstance(node, Primitive) else ""


def _on(kind: str) -> Callable[[Node], bool]:
    return lambda node: _kind(node) == kind


_FITS: Final[Mapping[str, Callable[[Node], bool]]] = MappingProxyType(
    {
        "date": _on("int"),
        "time-millis": _on("int"),
        "time-micros": _on("long"),
        "timestamp-millis": _on("long"),
        "timestamp-micros": _on("long"),
        "local-timestamp-millis": _on("long"),
        "local-timestamp-micros": _on("long"),
        "uuid": _on("string"),
    }
)
