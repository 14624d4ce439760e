"""Shapes of AVRO and JSON schemas."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa

from topicschema.core.formats.avro.model import Array, Enum, Field, Map, Node, Primitive, Record, Union
from topicschema.payload.arrow import json_values, logical, shapes
from topicschema.payload.arrow.shapes import Limits, Shape, leaf
from topicschema.payload.avro import branches
from topicschema.payload.columnar.avro import outputs
from topicschema.payload.columnar.avro.outputs import is_null
from topicschema.payload.json import jackson

IndexOf = Callable[[Union, Any], int | None]
NOTHING: Final = leaf(pa.null(), outputs.NOTHING)
TEXT: Final = leaf(pa.string(), outputs.CONTENT)
CONTENT: Final = leaf(pa.binary(), outputs.CONTENT)
LONG: Final = leaf(pa.int64(), outputs.LONG)
DOUBLE: Final = leaf(pa.float64(), outputs.DOUBLE)
_PRIMITIVES: Final = {
    "null": NOTHING,
    "boolean": leaf(pa.bool_(), outputs.BOOLEAN),
    "int": leaf(pa.int32(), outputs.INT),
    "long": LONG,
    "float": leaf(pa.float32(), outputs.FLOAT),
    "double": DOUBLE,
    "bytes": CONTENT,
    "string": TEXT,
}
_MERGED: Final = {frozenset({"int", "long"}): LONG, frozenset({"float", "double"}): DOUBLE}
"""Unions of two types of which one holds the other's values."""


def shape_of(root: Node, *, is_json: bool = False, index_of: IndexOf = branches.index_of) -> Shape:
    """Return the shape of a type of AVRO, or of JSON, whose values may have Jackson's forms of Java's classes.

    `index_of` returns the branch of a union for a value of AVRO, or None.

    Raises InvalidSchemaError RECURSIVE_TYPE, TYPE_TOO_COMPLEX or DECIMAL_TOO_WIDE, with the place in the schema.
    """
    return _Maker(index_of, is_json=is_json).shape(root, root.path)


class _Maker:
    """Maker of one shape. Its recursion ends at the limit of levels."""

    def __init__(self, index_of: IndexOf, *, is_json: bool) -> None:
        self._index_of = index_of
        self._is_json = is_json
        self._limits = Limits()
        self._open: set[Record] = set()

    def shape(self, node: Node, place: str) -> Shape:
        self._limits.count(place)
        if isinstance(node, Union):
            return self._union(node, place)
        if isinstance(node, Record):
            return self._record(node, place)
        if isinstance(node, Array | Map):
            return self._items(node, place)
        if isinstance(node, Enum):
            return Shape(type=pa.string(), form=outputs.SYMBOL, symbols=node.symbols)
        made = logical.shape_of(node, place)
        if made is None:
            made = _PRIMITIVES[node.kind] if isinstance(node, Primitive) else CONTENT
        return _of_json(node, made) if self._is_json else made

    def _union(self, node: Union, place: str) -> Shape:
        places = {f"{place}[{number}]": each for number, each in enumerate(node.branches) if not is_null(each)}
        others = list(places.values())
        if not others:
            return NOTHING
        if len(others) == 1:
            return self.shape(others[0], *places)
        kinds = frozenset(each.kind if isinstance(each, Primitive) else "" for each in others)
        if len(others) == len(kinds) and kinds in _MERGED:
            merged = _MERGED[kinds]
            return replace(merged, convert=json_values.branch_reader(node)) if self._is_json else merged
        choose = json_values.chooser(node) if self._is_json else partial(_choose, self._index_of, node)
        return shapes.choice([self.shape(each, where) for where, each in places.items()], choose)

    def _record(self, node: Record, place: str) -> Shape:
        if node in self._open:
            raise shapes.recursive(f"the record {node.full_name}", place)
        self._limits.enter(place)
        self._open.add(node)
        parts = [self._field(field) for field in node.fields]
        self._open.remove(node)
        self._limits.leave()
        return shapes.struct([field.name for field in node.fields], parts)

    def _field(self, field: Field) -> Shape:
        return replace(self.shape(field.type, f"{field.path}.type"), field=field)

    def _items(self, node: Array | Map, place: str) -> Shape:
        self._limits.enter(place)
        is_array = isinstance(node, Array)
        part = self.shape(node.children[0], f"{place}.{'items' if is_array else 'values'}")
        self._limits.leave()
        return shapes.items(part) if is_array else shapes.entries(TEXT, part)


def _choose(index_of: IndexOf, union: Union, value: Any) -> int | None:
    """Return the branch, among those that are not null, of a value."""
    index = index_of(union, value)
    return None if index is None else sum(not is_null(each) for each in union.branches[:index])


def _of_json(node: Node, made: Shape) -> Shape:
    """Return the shape of a value in a JSON text, which may have Jackson's form of a class."""
    logical_type = node.props.get("logicalType")
    if made.form == outputs.DECIMAL and made.convert is not None:
        convert = json_values.decimal_number(made.digits, made.type.scale, made.convert, json_values.reader(node))
        return replace(made, convert=convert, is_exact=True)
    kind = node.kind if isinstance(node, Primitive) else "bytes"
    of_class = _JSON.get((kind, logical_type)) if isinstance(logical_type, str) else None
    if of_class is not None:
        return replace(made, convert=of_class, is_exact=made.type == logical.INSTANT)
    if kind in _OF_CLASSES and jackson.form_of(node) is not None:
        return replace(made, convert=_OF_CLASSES[kind], is_exact=True)
    return replace(made, convert=json_values.reader(node)) if kind in _CONVERTED else made


_CONVERTED: Final = frozenset({"bytes", "float", "double"})
"""Types whose values in a JSON text may differ from those of the type."""
_OF_CLASSES: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {"string": json_values.text, "int": json_values.character}
)
"""Conversions of values of Java's classes that no logical type names."""
_JSON: Final[Mapping[tuple[str, Any], Callable[[Any], Any]]] = MappingProxyType(
    {
        ("int", "date"): json_values.date,
        ("int", "time-millis"): json_values.time_of_day(1_000),
        ("long", "time-micros"): json_values.time_of_day(1_000_000),
        ("long", "timestamp-millis"): json_values.instant(has_millis=True),
        ("long", "timestamp-micros"): json_values.instant(has_millis=False),
        ("long", "local-timestamp-millis"): json_values.local,
        ("long", "local-timestamp-micros"): json_values.local,
    }
)
