"""Values of an Arrow column as the per-message decoder returns them, to compare the two."""

import math
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa

from topicschema.core.formats.avro.model import Array, Map, Node, Primitive, Record, Union

_MERGED = ({"int", "long"}, {"float", "double"})


def plain(array: pa.Array, node: Node) -> list[Any]:
    """Return the values: a choice's member without its struct, times as numbers in the schema's unit."""
    if isinstance(node, Union):
        return _union(array, node)
    if isinstance(node, Record):
        columns = {field.name: plain(array.field(i), field.type) for i, field in enumerate(node.fields)}
        return _with_nulls(array, [{name: each[row] for name, each in columns.items()} for row in range(len(array))])
    if isinstance(node, Array):
        items = plain(array.values, node.items)
        return _with_nulls(array, [items[start:end] for start, end in _bounds(array)])
    if isinstance(node, Map):
        keys, held = array.keys.to_pylist(), plain(array.items, node.values)
        return _with_nulls(
            array, [dict(zip(keys[start:end], held[start:end], strict=True)) for start, end in _bounds(array)]
        )
    if pa.types.is_timestamp(array.type):
        unit = 1_000 if str(node.props["logicalType"]).endswith("millis") else 1
        return [each if each is None else each // unit for each in array.cast(pa.int64()).to_pylist()]
    return (array.cast(pa.int32()) if pa.types.is_date(array.type) else array).to_pylist()


def _union(array: pa.Array, node: Union) -> list[Any]:
    branches = [each for each in node.branches if not isinstance(each, Primitive) or each.kind != "null"]
    if not branches:
        return [None] * len(array)
    if len(branches) == 1:
        return plain(array, branches[0])
    kinds = [each.kind if isinstance(each, Primitive) else "" for each in branches]
    if len(kinds) == 2 and set(kinds) in _MERGED:
        return array.to_pylist()
    assert [each.name for each in array.type] == [f"member{number}" for number in range(len(branches))]
    members = [plain(array.field(number), each) for number, each in enumerate(branches)]
    rows = [[each[row] for each in members if each[row] is not None] for row in range(len(array))]
    assert all(len(row) == 1 for row, is_valid in zip(rows, array.is_valid().to_pylist(), strict=True) if is_valid)
    return _with_nulls(array, [row[0] if row else None for row in rows])


def _bounds(array: pa.Array) -> list[tuple[int, int]]:
    offsets = array.offsets.to_pylist()
    return list(pairwise(offsets))


def _with_nulls(array: pa.Array, values: list[Any]) -> list[Any]:
    return [value if is_valid else None for value, is_valid in zip(values, array.is_valid().to_pylist(), strict=True)]


def same(ours: Any, theirs: Any) -> bool:
    """Return True if a column's value is the decoder's. A decimal is that of its bytes."""
    if isinstance(ours, Decimal):
        sign, digits, _ = ours.as_tuple()
        unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
        return isinstance(theirs, bytes) and unscaled == int.from_bytes(theirs, "big", signed=True)
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(each, theirs[key]) for key, each in ours.items())
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float):
        return isinstance(theirs, float) and (repr(ours) == repr(theirs) or (math.isnan(ours) and math.isnan(theirs)))
    return type(ours) is type(theirs) and ours == theirs


def in_order(value: Any) -> str:
    """Return the values as a text that ignores the order of a map's entries, which are pairs in a list."""
    if isinstance(value, dict):
        return repr({key: in_order(each) for key, each in value.items()})
    if isinstance(value, list):
        texts = [in_order(each) for each in value]
        return repr(sorted(texts) if any(isinstance(each, tuple) for each in value) else texts)
    return repr((value[0], in_order(value[1]))) if isinstance(value, tuple) else repr(value)
