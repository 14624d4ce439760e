"""Writer of Avro's binary encoding, like Java's BinaryEncoder: one block for all items, without sizes of blocks.

fastavro is not used: it writes true, 1.5 and 2^40 as an int, drops unknown fields, and reports no path.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from topicschema.core.formats.avro.graph.trampoline import Computation, run
from topicschema.core.formats.avro.model import Array, Enum, Field, Fixed, Map, Node, Primitive, Record, Union
from topicschema.payload import numbers, text, varints
from topicschema.payload.avro import branches
from topicschema.payload.avro.reading import MAX_DEPTH
from topicschema.payload.codec import HOLDERS, refused, wrong_type
from topicschema.payload.path import MapEntry, Path, shown
from topicschema.payload.primitives import checked, real


def write(root: Node, value: Any) -> bytes:
    """Return the payload. Raises InvalidPayloadError with the path of the first value that does not fit."""
    out = _Out()
    run(_write(out, root, value, None))
    return bytes(out)


class _Out(bytearray):
    """Output, and the current depth in the value."""

    depth = 0


def _write(out: _Out, node: Node, value: Any, path: Path | None) -> Computation[None]:
    if isinstance(node, Union):
        index = branches.index_of(node, value)
        if index is None:
            raise refused("NO_BRANCH", "no branch of the union takes such a value", shown(path))
        out += _varint(index)
        node = node.branches[index]
    if isinstance(node, Primitive):
        out += _PRIMITIVES[node.kind](value, path)
    elif isinstance(node, HOLDERS):
        yield _write_inside(out, node, value, path)
    else:
        out += _symbol(node, value, path) if isinstance(node, Enum) else _fixed(node, value, path)


def _write_inside(out: _Out, node: Record | Array | Map, value: Any, path: Path | None) -> Computation[None]:
    out.depth += 1
    if out.depth > MAX_DEPTH:
        raise refused("TOO_DEEP", f"the value is nested more than {MAX_DEPTH:,} levels deep", shown(path))
    if isinstance(node, Record):
        yield _write_record(out, node, value, path)
    elif isinstance(node, Array):
        _demand(list, "a list for an array", value, path)
        yield _write_items(out, len(value), _items(node, value, path))
    else:
        _demand(dict, "a mapping for a map", value, path)
        yield _write_items(out, len(value), _entries(node, value, path))
    out.depth -= 1


def _write_record(out: _Out, node: Record, value: Any, path: Path | None) -> Computation[None]:
    _demand(dict, "a mapping for a record", value, path)
    names = {field.name for field in node.fields}
    if not value.keys() <= names:
        raise refused("UNKNOWN_FIELD", f"there is more in it than the record's {len(names)} fields", shown(path))
    for field in node.fields:
        below = (path, field.name)
        yield _write(out, field.type, _of(field, value, below), below)


def _write_items(out: _Out, count: int, items: Iterable[tuple[bytes, Node, Any, Path]]) -> Computation[None]:
    """Write items, each after its prefix."""
    if count:
        out += _varint(count)
    for head, node, value, path in items:
        out += head
        yield _write(out, node, value, path)
    out += b"\0"


def _items(node: Array, value: list[Any], path: Path | None) -> Iterable[tuple[bytes, Node, Any, Path]]:
    return ((b"", node.items, each, (path, index)) for index, each in enumerate(value))


def _entries(node: Map, value: dict[str, Any], path: Path | None) -> Iterable[tuple[bytes, Node, Any, Path]]:
    for number, (key, each) in enumerate(value.items()):
        below = (path, MapEntry(number))
        yield _string(key, below), node.values, each, below


def _of(field: Field, record: dict[str, Any], path: Path) -> Any:
    if field.name not in record:
        raise refused("MISSING_FIELD", "a message holds every field of its schema; there are no defaults", shown(path))
    return record[field.name]


def _demand(kind: type, what: str, value: Any, path: Path | None) -> None:
    if not isinstance(value, kind):
        raise wrong_type(what, value, shown(path))


def _symbol(node: Enum, value: Any, path: Path | None) -> bytes:
    _demand(str, "a text for an enum", value, path)
    if value not in node.symbols:
        raise refused("UNKNOWN_SYMBOL", "the enum has no such symbol", shown(path))
    return _varint(node.symbols.index(value))


def _fixed(node: Node, value: Any, path: Path | None) -> bytes:
    _demand(bytes, "bytes for a fixed", value, path)
    assert isinstance(node, Fixed)  # noqa: S101  # the model has no other
    if len(value) != node.size:
        raise refused("OUT_OF_RANGE", f"the fixed has {node.size:,} bytes, this has {len(value):,}", shown(path))
    return bytes(value)


def _null(value: Any, path: Path | None) -> bytes:
    if value is not None:
        raise wrong_type("null", value, shown(path))
    return b""


def _boolean(value: Any, path: Path | None) -> bytes:
    _demand(bool, "a boolean", value, path)
    return b"\1" if value else b"\0"


def _int(value: Any, path: Path | None) -> bytes:
    return _varint(checked(value, "an int", numbers.INT, shown(path)))


def _long(value: Any, path: Path | None) -> bytes:
    return _varint(checked(value, "a long", numbers.LONG, shown(path)))


def _float(value: Any, path: Path | None) -> bytes:
    where = shown(path)
    return numbers.bits_of_float(real(value, "a float", where), where).to_bytes(4, "little")


def _double(value: Any, path: Path | None) -> bytes:
    return numbers.bits_of_double(real(value, "a double", shown(path))).to_bytes(8, "little")


def _bytes(value: Any, path: Path | None) -> bytes:
    _demand(bytes, "bytes", value, path)
    return _varint(len(value)) + bytes(value)


def _string(value: Any, path: Path | None) -> bytes:
    _demand(str, "a text", value, path)
    return _bytes(text.encode(value), path)


def _varint(value: int) -> bytes:
    return varints.encode(varints.zigzag(value))


_PRIMITIVES: Final[Mapping[str, Callable[[Any, Path | None], bytes]]] = MappingProxyType(
    {
        "null": _null,
        "boolean": _boolean,
        "int": _int,
        "long": _long,
        "float": _float,
        "double": _double,
        "bytes": _bytes,
        "string": _string,
    }
)
