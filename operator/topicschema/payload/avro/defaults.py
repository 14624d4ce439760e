"""What a reader puts in for a field that the writer does not have: its default, as a value.

Source: Avro's ResolvingGrammarGenerator.encode (1.11): a union's default is of its first branch, bytes are a text of
characters up to U+00FF, a record's fields have defaults of their own.
"""

from types import GeneratorType
from typing import Any, Final

from topicschema.core.formats.avro.graph.trampoline import Step, run
from topicschema.core.formats.avro.model import ABSENT, Array, Enum, Field, Fixed, Map, Node, Primitive, Record, Union
from topicschema.core.formats.avro.parsing.scalar_defaults import wanted
from topicschema.payload import numbers

MAX_VALUES: Final = 1_000_000
"""How many values defaults may add to one payload; a bound of this reader."""
MAX_BYTES: Final = 100_000_000
"""How many bytes defaults of fixed and bytes may have, which all of a payload share; a bound of this reader."""


class UnfitError(Exception):
    """The default is none of its type, or there is none; or defaults add more than anybody could hold."""


class Defaults:
    """Makes defaults for the values of one payload; lists and dicts are each its own."""

    __slots__ = ("_bytes", "_left", "_left_bytes")

    def __init__(self) -> None:
        self._left = MAX_VALUES
        self._left_bytes = MAX_BYTES
        self._bytes: dict[tuple[Node, str], bytes] = {}

    def of(self, field: Field) -> Any:
        """The field's default; UnfitError."""
        if field.default is ABSENT:
            raise UnfitError
        value = self._value(field.type, field.default)
        return run(value) if value.__class__ is GeneratorType else value

    def _value(self, node: Node, given: Any) -> Any:
        """The value, or the step that makes it where it holds others."""
        self._left -= 1
        if isinstance(node, Union):
            node = _branch(node, given)
        if self._left < 0:
            raise UnfitError
        if isinstance(node, Record):
            return self._record(node, given)
        if wanted(node, given) is not None:
            raise UnfitError
        if isinstance(node, Array | Map):
            return self._items(node, given)
        if isinstance(node, Fixed) or (isinstance(node, Primitive) and node.kind == "bytes"):
            return self._shared_bytes(node, given)
        return _single(node, given)

    def _items(self, node: Array | Map, given: Any) -> Step[Any]:
        if isinstance(node, Map):
            entries = {}
            for key, each in given.items():
                value = self._value(node.values, each)
                entries[key] = (yield value) if value.__class__ is GeneratorType else value
            return entries
        items = []
        for each in given:
            value = self._value(node.items, each)
            items.append((yield value) if value.__class__ is GeneratorType else value)
        return items

    def _record(self, node: Record, given: Any) -> Step[dict[str, Any]]:
        if not isinstance(given, dict):
            raise UnfitError
        record = {}
        for field in node.fields:
            held = given.get(field.name, field.default)
            if held is ABSENT:
                raise UnfitError
            value = self._value(field.type, held)
            record[field.name] = (yield value) if value.__class__ is GeneratorType else value
        return record

    def _shared_bytes(self, node: Node, given: str) -> bytes:
        key = node, given
        if key not in self._bytes:
            size = node.size if isinstance(node, Fixed) else len(given)
            self._left_bytes -= size
            if self._left_bytes < 0:
                raise UnfitError
            content = given.encode("latin-1", "replace")
            self._bytes[key] = content[:size].ljust(size, b"\0")
        return self._bytes[key]


def _branch(union: Union, given: Any) -> Node:
    """The first branch; where another one fits (with Avro 1.12 any may), the first that does."""
    fitting = (each for each in union.branches if isinstance(each, Record) or wanted(each, given) is None)
    branch = next(fitting, None)
    if branch is None:
        raise UnfitError
    return branch


def _single(node: Node, given: Any) -> Any:
    kind = node.kind if isinstance(node, Primitive) else ""
    if isinstance(node, Enum) and given not in node.symbols:
        raise UnfitError
    if kind == "float":
        return numbers.nearest_float(given)
    if kind == "double":
        return numbers.nearest_double(given)
    return int(given) if kind in ("int", "long") else given
