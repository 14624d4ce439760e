"""Choice of a union's branch for a value: the first that fits by the value's type, a record also by its fields."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from topicschema.core.formats.avro.model import Array, Enum, Fixed, Map, Node, Primitive, Record, Union
from topicschema.payload import numbers

_LEVELS: Final = 2  # a value's type, and its fields': enough to distinguish records without a search


def only_index_of(union: Union, value: Any) -> int | None:
    """Return the number of the only branch that fits. Return None if none or several fit."""
    fitting = [index for index, branch in enumerate(union.branches) if _fits(branch, value, _LEVELS)]
    return fitting[0] if len(fitting) == 1 else None


def index_of(union: Union, value: Any) -> int | None:
    """Return the branch's number, or None if none fits. A long that only fits a double uses that."""
    exact = (index for index, branch in enumerate(union.branches) if _fits(branch, value, _LEVELS))
    first = next(exact, None)
    if first is None and isinstance(value, int) and not isinstance(value, bool):
        kinds = [branch.kind if isinstance(branch, Primitive) else "" for branch in union.branches]
        return next((index for index, kind in enumerate(kinds) if kind in ("float", "double")), None)
    return first


def _fits(node: Node, value: Any, levels: int) -> bool:
    if isinstance(node, Union):
        return any(_fits(branch, value, levels) for branch in node.branches)
    if isinstance(node, Primitive):
        return _PRIMITIVES[node.kind](value)
    if isinstance(node, Record):
        return isinstance(value, dict) and _holds(node, value, levels - 1)
    if isinstance(node, Enum):
        return isinstance(value, str) and value in node.symbols
    if isinstance(node, Fixed):
        return isinstance(value, bytes) and len(value) == node.size
    return isinstance(value, list if isinstance(node, Array) else dict if isinstance(node, Map) else ())


def _holds(record: Record, value: dict[str, Any], levels: int) -> bool:
    """Return True if the value has the record's fields and, down to `levels`, of their types."""
    if len(value) != len(record.fields):
        return False
    return all(
        field.name in value and (levels == 0 or _fits(field.type, value[field.name], levels)) for field in record.fields
    )


def _is_integer(value: Any, allowed: range) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in allowed


_PRIMITIVES: Final[Mapping[str, Callable[[Any], bool]]] = MappingProxyType(
    {
        "null": lambda value: value is None,
        "boolean": lambda value: isinstance(value, bool),
        "int": lambda value: _is_integer(value, numbers.INT),
        "long": lambda value: _is_integer(value, numbers.LONG),
        "float": lambda value: isinstance(value, float),
        "double": lambda value: isinstance(value, float),
        "bytes": lambda value: isinstance(value, bytes),
        "string": lambda value: isinstance(value, str),
    }
)
