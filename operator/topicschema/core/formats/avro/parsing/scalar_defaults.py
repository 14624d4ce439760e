"""JSON values that fit a type as its default, by the kind of the value (Schema.isValidDefault)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from topicschema.core.formats.avro.model import Array, Map, Named, Node, Primitive

_INT: Final = range(-(2**31), 2**31)
_LONG: Final = range(-(2**63), 2**63)


def expected(node: Node, value: Any) -> str | None:
    """Return the kind of value that the type needs, or None if `value` has it. Records and unions are not supported."""
    if isinstance(node, Primitive):
        return _PRIMITIVES[node.kind](value)
    kind = type(value)
    if isinstance(node, Array):
        return None if kind is list else "an array"
    if isinstance(node, Map):
        return None if kind is dict else "an object"
    return None if kind is str or not isinstance(node, Named) else "a text"


_PRIMITIVES: Final[Mapping[str, Callable[[Any], str | None]]] = {
    "null": lambda value: None if value is None else "null",
    "boolean": lambda value: None if isinstance(value, bool) else "true or false",
    "int": lambda value: None if type(value) is int and value in _INT else "a 32-bit integer",
    "long": lambda value: None if type(value) is int and value in _LONG else "a 64-bit integer",
    "float": lambda value: None if type(value) in (int, float) else "a number",
    "double": lambda value: None if type(value) in (int, float) else "a number",
    "bytes": lambda value: None if isinstance(value, str) else "a text",
    "string": lambda value: None if isinstance(value, str) else "a text",
}
