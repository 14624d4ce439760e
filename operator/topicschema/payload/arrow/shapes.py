"""Shapes: the Arrow type of a schema's values, with what a value must go through to become one.

The types are those that Spark's `to_arrow_type` makes of the types of its `from_avro`. docs/spark-types.md has the
table. All values may be null: a message that cannot be read has none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.avro.model import Field
from topicschema.payload.columnar.avro import outputs

MAX_LEVELS: Final = 100
"""Maximum levels of structs, arrays and maps in a column."""
MAX_COLUMNS: Final = 10_000
"""Maximum structs, arrays, maps and single values of a type."""


class BeyondColumnError(Exception):
    """A value that its column cannot hold."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shape:
    """Shape of a value. `parts` are those of a struct, a choice's branches, an item, or a key and a value.

    `form` is one of `outputs`. `convert` makes the value from that of payload's readers, or raises BeyondColumnError.
    Without it they are equal. `choose` returns the number of a choice's part for a value, None if none fits. `field` is
    the field of AVRO that a struct's part is, and `absent` the value of a part that a value does not have. `is_exact`
    is True if the numbers in a JSON text need all their digits.
    """

    type: pa.DataType
    form: int
    parts: tuple["Shape", ...] = ()
    names: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    digits: int = 0
    convert: Callable[[Any], Any] | None = None
    choose: Callable[[Any], int | None] | None = None
    field: Field | None = None
    is_exact: bool = False
    absent: Any = None

    @property
    def item_size(self) -> int:
        """The bytes of an item of an array, or of an entry of a map, without those of texts and of other items."""
        return sum(part.row_size for part in self.parts)

    @property
    def row_size(self) -> int:
        """The bytes of a value, without those of texts and of items."""
        size, ahead = 0, [self]
        while ahead:
            each = ahead.pop()
            size += 1 + outputs.SIZES.get(each.form, 0)
            ahead += each.parts if each.form in (outputs.STRUCT, outputs.CHOICE) else ()
        return size


def leaf(kind: pa.DataType, form: int, convert: Callable[[Any], Any] | None = None) -> Shape:
    """Return the shape of a value that holds no others."""
    return Shape(type=kind, form=form, convert=convert)


def struct(names: Sequence[str], parts: Sequence[Shape]) -> Shape:
    """Return the shape of a struct."""
    members = [pa.field(name, part.type) for name, part in zip(names, parts, strict=True)]
    return Shape(type=pa.struct(members), form=outputs.STRUCT, parts=tuple(parts), names=tuple(names))


def choice(parts: Sequence[Shape], choose: Callable[[Any], int | None]) -> Shape:
    """Return the shape of a union with several branches: a struct of which one member is not null."""
    names = [f"member{number}" for number in range(len(parts))]
    members = [pa.field(name, part.type) for name, part in zip(names, parts, strict=True)]
    return Shape(type=pa.struct(members), form=outputs.CHOICE, parts=tuple(parts), choose=choose)


def items(part: Shape) -> Shape:
    """Return the shape of an array."""
    return Shape(type=pa.list_(pa.field("element", part.type)), form=outputs.LIST, parts=(part,))


def entries(key: Shape, value: Shape) -> Shape:
    """Return the shape of a map."""
    kind = pa.map_(pa.field("key", key.type, nullable=False), pa.field("value", value.type))
    return Shape(type=kind, form=outputs.MAP, parts=(key, value))


class Limits:
    """Limits of a type, while its shape is made."""

    def __init__(self) -> None:
        self._columns = 0
        self._levels = 0

    def count(self, place: str) -> None:
        """Count a column. Raises InvalidSchemaError TYPE_TOO_COMPLEX beyond the limit."""
        self._columns += 1
        if self._columns > MAX_COLUMNS:
            raise _too_complex(f"the type has more than {MAX_COLUMNS:,} parts", place)

    def enter(self, place: str) -> None:
        """Enter a struct, an array or a map. Raises InvalidSchemaError TYPE_TOO_COMPLEX beyond the limit."""
        self._levels += 1
        if self._levels > MAX_LEVELS:
            raise _too_complex(f"the type is nested more than {MAX_LEVELS} levels deep", place)

    def leave(self) -> None:
        """Leave it."""
        self._levels -= 1


def recursive(name: str, place: str) -> InvalidSchemaError:
    """Return the refusal of a type that contains itself."""
    message = f"{name} contains itself, and a column's type cannot; read with a schema that ends before this"
    return InvalidSchemaError("RECURSIVE_TYPE", message, Place(place))


def _too_complex(message: str, place: str) -> InvalidSchemaError:
    return InvalidSchemaError("TYPE_TOO_COMPLEX", f"{message}; read with a schema of fewer fields", Place(place))
