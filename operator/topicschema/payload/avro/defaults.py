"""What a reader puts in for a field that the writer does not have: its default, as a value.

Source: Avro's ResolvingGrammarGenerator.encode (1.11): a union's default is of its first branch, bytes are a text of
characters up to U+00FF, a record's fields have defaults of their own.
"""

from typing import Any, Final

from topicschema.core.formats.avro.leaves import wanted
from topicschema.core.formats.avro.model import ABSENT, Array, Enum, Field, Fixed, Map, Node, Primitive, Record, Union
from topicschema.core.formats.avro.stackless import Step, run
from topicschema.payload import numbers

MAX_VALUES: Final = 1_000_000
"""How many values defaults may add to one payload; a bound of this reader."""


class UnfitError(Exception):
    """The default is none of its type, or there is none; or defaults add more than anybody could hold."""


class Defaults:
    """Makes defaults for the values of one payload, each of its own."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def of(self, field: Field) -> Any:
        """The field's default; UnfitError."""
        if field.default is ABSENT:
            raise UnfitError
        return run(self._value(field.type, field.default))

    def _value(self, node: Node, given: Any) -> Step[Any]:
        self._left -= 1
        if isinstance(node, Union):
            node = _branch(node, given)
        if self._left < 0:
            raise UnfitError
        if isinstance(node, Record):
            return (yield self._record(node, given))
        if wanted(node, given) is not None:
            raise UnfitError
        if isinstance(node, Array | Map):
            return (yield self._items(node, given))
        return _single(node, given)

    def _items(self, node: Array | Map, given: Any) -> Step[Any]:
        if isinstance(node, Map):
            entries = {}
            for key, each in given.items():
                entries[key] = yield self._value(node.values, each)
            return entries
        items = []
        for each in given:
            items += [(yield self._value(node.items, each))]
        return items

    def _record(self, node: Record, given: Any) -> Step[dict[str, Any]]:
        if not isinstance(given, dict):
            raise UnfitError
        record = {}
        for field in node.fields:
            held = given.get(field.name, field.default)
            if held is ABSENT:
                raise UnfitError
            record[field.name] = yield self._value(field.type, held)
        return record


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
    if isinstance(node, Fixed):
        return given.encode("latin-1", "replace")[: node.size].ljust(node.size, b"\0")
    if kind == "float":
        return numbers.nearest_float(given)
    if kind == "double":
        return float(given)
    if kind in ("int", "long"):
        return int(given)
    return given.encode("latin-1", "replace") if kind == "bytes" else given
