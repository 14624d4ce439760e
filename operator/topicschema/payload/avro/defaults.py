"""Default values of fields that the writer does not have.

Source: Avro's ResolvingGrammarGenerator.encode: a union's default belongs to one of its branches, bytes are a text of
characters up to U+00FF, a record's fields have defaults of their own.
"""

from types import GeneratorType, MappingProxyType
from typing import Any, Final

from topicschema.core.formats.avro.graph.trampoline import Computation, run
from topicschema.core.formats.avro.model import ABSENT, Array, Enum, Field, Fixed, Map, Node, Primitive, Record, Union
from topicschema.core.formats.avro.parsing.scalar_defaults import expected
from topicschema.payload import numbers

MAX_VALUES: Final = 1_000_000
"""Maximum number of values that defaults may add to one payload. It is a limit of this reader."""
MAX_BYTES: Final = 100_000_000
"""Maximum bytes of all defaults of fixed and bytes in a payload, which share them. It is a limit of this reader."""
_INTEGERS: Final = MappingProxyType({"int": numbers.INT, "long": numbers.LONG})


class UnfitError(Exception):
    """A default that is missing or not of its type, or defaults that exceed the limits."""


class DefaultMaker:
    """Maker of defaults for the values of one payload. Each list and dict is a new one."""

    __slots__ = ("_bytes", "_left", "_left_bytes")

    def __init__(self) -> None:
        self._left = MAX_VALUES
        self._left_bytes = MAX_BYTES
        self._bytes: dict[tuple[Node, str], bytes] = {}

    def of(self, field: Field) -> Any:
        """Return the field's default. Raises UnfitError."""
        if field.default is ABSENT:
            raise UnfitError
        value = self._value(field.type, field.default)
        return run(value) if value.__class__ is GeneratorType else value

    def _value(self, node: Node, default: Any) -> Any:
        """Return the value, or the step that makes it if it holds others."""
        self._left -= 1
        if isinstance(node, Union):
            node, default = _branch(node, default)
        if self._left < 0:
            raise UnfitError
        if isinstance(node, Record):
            return self._record(node, default)
        if expected(node, default) is not None:
            raise UnfitError
        if isinstance(node, Array | Map):
            return self._items(node, default)
        if isinstance(node, Fixed) or (isinstance(node, Primitive) and node.kind == "bytes"):
            return self._shared_bytes(node, default)
        return _single(node, default)

    def _items(self, node: Array | Map, default: Any) -> Computation[Any]:
        if isinstance(node, Map):
            entries = {}
            for key, each in default.items():
                value = self._value(node.values, each)
                entries[key] = (yield value) if value.__class__ is GeneratorType else value
            return entries
        items = []
        for each in default:
            value = self._value(node.items, each)
            items.append((yield value) if value.__class__ is GeneratorType else value)
        return items

    def _record(self, node: Record, default: Any) -> Computation[dict[str, Any]]:
        members = default if isinstance(default, dict) else {}  # Avro takes any default of a record for an object
        record = {}
        for field in node.fields:
            held = members.get(field.name, field.default)
            if held is ABSENT:
                raise UnfitError
            value = self._value(field.type, held)
            record[field.name] = (yield value) if value.__class__ is GeneratorType else value
        return record

    def _shared_bytes(self, node: Node, default: str) -> bytes:
        key = node, default
        if key not in self._bytes:
            size = node.size if isinstance(node, Fixed) else len(default)
            self._left_bytes -= size
            if self._left_bytes < 0:
                raise UnfitError
            content = default.encode("latin-1", "replace")
            self._bytes[key] = content[:size].ljust(size, b"\0")
        return self._bytes[key]


def _branch(union: Union, default: Any) -> tuple[Node, Any]:
    """Return the branch that Avro takes for a default, and the default as it writes it there.

    Avro 1.12 takes the first branch whose kind may have such a JSON value, even if a later one fits better. It takes
    the int for 1.5, and an empty array for a text. Avro 1.11 demands that the default fits the first branch.
    """
    for branch in union.branches:
        if isinstance(branch, Record | Enum):
            return branch, default
        if isinstance(branch, Array):
            return branch, _items_of(default)
        if isinstance(branch, Map):
            return branch, default if isinstance(default, dict) else {}
        limits = _INTEGERS.get(branch.kind) if isinstance(branch, Primitive) else None
        if limits is not None and type(default) in (int, float):
            return branch, numbers.integer_of(default, limits)
        if expected(branch, default) is None:
            return branch, default
    raise UnfitError


def _items_of(default: Any) -> list[Any]:
    """Return the items of an array's default: an object's values, and none of another value."""
    if isinstance(default, dict):
        return list(default.values())
    return default if isinstance(default, list) else []


def _single(node: Node, default: Any) -> Any:
    kind = node.kind if isinstance(node, Primitive) else ""
    if isinstance(node, Enum) and default not in node.symbols:
        raise UnfitError
    if kind == "float":
        return numbers.nearest_float(default)
    if kind == "double":
        return numbers.nearest_double(default)
    return int(default) if kind in ("int", "long") else default
