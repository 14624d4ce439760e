"""The immutable model of an Avro schema: the parser builds it, the resolver reads it.

Every node has the JSON path of its text, to which findings refer. The path of a named type is that of its definition.
Nodes are compared by identity. Named types with equal, non-empty digests are equal to Avro, which ignores docs, aliases
and an enum's default.

Recursive schemas are cyclic graphs: walk over them with an explicit stack and a set of visited nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


class _Empty(dict[str, Any]):
    """The type of NO_PROPS and NO_ALIASES.

    It is hashable, so it can be the default of a dataclass field, which is faster than a factory.
    """

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]


NO_PROPS: Final[Mapping[str, JsonValue]] = _Empty()
NO_ALIASES: Final[Mapping[str, None]] = _Empty()


class _Absent:
    """The type of ABSENT."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""The default of a field without a default. A default of null is None."""


@dataclass(slots=True, eq=False, kw_only=True)
class Node:
    """The attributes of all types.

    `props` are the custom properties that Avro's equality compares, `logicalType` among them. `digest` is that of a
    Named; it is empty for all other types. `traits` is the cache of `graph.traits` for roots; a copy has none.
    """

    path: str
    props: Mapping[str, JsonValue] = NO_PROPS
    digest: bytes = b""
    traits: "SchemaTraits | None" = field(default=None, init=False, repr=False)

    @property
    def children(self) -> "tuple[Node, ...]":
        """The types directly within: of items, values, branches or fields, in order."""
        return ()


@dataclass(slots=True, eq=False, kw_only=True)
class Primitive(Node):
    """A primitive; `kind` is null, boolean, int, long, float, double, bytes or string."""

    kind: str


@dataclass(slots=True, eq=False, kw_only=True)
class Array(Node):
    """An array; `items` is its element type."""

    items: Node

    @property
    def children(self) -> tuple[Node, ...]:
        """The type of the items."""
        return (self.items,)


@dataclass(slots=True, eq=False, kw_only=True)
class Map(Node):
    """A map with string keys; `values` is its value type."""

    values: Node

    @property
    def children(self) -> tuple[Node, ...]:
        """The type of the values."""
        return (self.values,)


@dataclass(slots=True, eq=False, kw_only=True)
class Union(Node):
    """A union; its branches are never unions."""

    branches: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The branches."""
        return self.branches


@dataclass(slots=True, eq=False, kw_only=True)
class Named(Node):
    """A record, enum or fixed. `full_name` includes the namespace. The keys of `aliases` are full names.

    `digest` is equal for two types exactly when Avro's own `equals` holds. It is empty until `fingerprint` sets it, and
    a copy must clear it.
    """

    full_name: str
    aliases: Mapping[str, None] = NO_ALIASES
    doc: str | None = None

    @property
    def simple_name(self) -> str:
        """The name without its namespace."""
        return self.full_name.rpartition(".")[2]

    @property
    def namespace(self) -> str:
        """The namespace; empty if there is none."""
        return self.full_name.rpartition(".")[0]


@dataclass(slots=True)
class SchemaTraits:
    """The traits of a schema, given by its root; `graph.traits` defines the terms.

    `has_independent_parts` is None until `graph.traits.has_independent_parts` is called.
    """

    is_aliased: bool
    is_cyclic: bool
    is_recursive_through_fields: bool
    has_independent_parts: bool | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Field:
    """A record's field.

    `default` is ABSENT or JSON; `order` is ascending, descending or ignore; `aliases` are simple names.
    """

    name: str
    type: Node
    path: str
    default: JsonValue | _Absent = ABSENT
    order: str = "ascending"
    aliases: tuple[str, ...] = ()
    doc: str | None = None
    props: Mapping[str, JsonValue] = NO_PROPS


@dataclass(slots=True, eq=False, kw_only=True)
class Record(Named):
    """A record or an error, which Avro treats as a record. `fields` is set once, after parsing."""

    fields: tuple[Field, ...] = ()

    @property
    def children(self) -> tuple[Node, ...]:
        """The types of the fields."""
        return tuple([each.type for each in self.fields])

    def field(self, name: str) -> Field | None:
        """Return the field of that name, or None."""
        return next((f for f in self.fields if f.name == name), None)


@dataclass(slots=True, eq=False, kw_only=True)
class Enum(Named):
    """An enum; `default` is the symbol that replaces unknown ones, or None."""

    symbols: tuple[str, ...]
    default: str | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Fixed(Named):
    """A fixed; `size` is in bytes."""

    size: int
