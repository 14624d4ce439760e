"""The immutable model of an Avro schema: what the parser makes and the resolver walks.

Every node knows the JSON path of the text it stands for, so that a finding can point at it; a named type's path is
that of its definition. Nodes are compared by identity.

Large schemas alive at once may hold the same object for a record that they define alike at the same place
(`sharing`). So a walk over a reader and a writer may pass by every pair `reader is writer`: all within is the same in
both, docs and aliases included. Named types whose digests are there and equal are equal to Avro, which does not look at
docs, aliases and an enum's default. What is kept on a node besides (`written`, `outline`, `traits`, `reads`,
`source`) can always be found out again.

Recursive schemas are cyclic graphs: walk them with an explicit stack and a set of what was seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


class _NoProps(dict[str, JsonValue]):
    """The type of NO_PROPS: what can be hashed may be a default, which costs less than one that is made anew."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]


NO_PROPS: Final[Mapping[str, JsonValue]] = _NoProps()


class _Absent:
    """The type of ABSENT."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""A field without a default (a default of null is None)."""


@dataclass(slots=True, eq=False, kw_only=True)
class Node:
    """What all types have: `props` are the custom properties that Avro's equality compares, `logicalType` among them.

    `digest` is that of a Named, and empty for all others.
    """

    path: str
    props: Mapping[str, JsonValue] = NO_PROPS
    digest: bytes = b""


@dataclass(slots=True, eq=False, kw_only=True)
class Primitive(Node):
    """`kind` is one of null, boolean, int, long, float, double, bytes, string."""

    kind: str


@dataclass(slots=True, eq=False, kw_only=True)
class Array(Node):
    """An array; `items` is its element type."""

    items: Node


@dataclass(slots=True, eq=False, kw_only=True)
class Map(Node):
    """A map from strings; `values` is its value type."""

    values: Node


@dataclass(slots=True, eq=False, kw_only=True)
class Union(Node):
    """A union; its branches are never unions."""

    branches: tuple[Node, ...]


@dataclass(slots=True, eq=False, kw_only=True)
class Named(Node):
    """A record, enum or fixed. `full_name` has the namespace; `aliases` are full names.

    `twin` counts from 1 the types that define a name another time, which Avro 1.12 takes; it is 0 for all others.
    `digest` is equal for two types exactly when Avro's own `equals` holds; it is empty where `identity.seal` was not
    asked for it, and a copy has to clear it. `written` is `identity`'s own.
    """

    full_name: str
    aliases: tuple[str, ...] = ()
    doc: str | None = None
    twin: int = 0
    written: "tuple[str, list[Named]] | None" = field(default=None, init=False, repr=False)

    @property
    def simple_name(self) -> str:
        """The name without its namespace."""
        return self.full_name.rpartition(".")[2]

    @property
    def namespace(self) -> str:
        """The namespace, empty when there is none."""
        return self.full_name.rpartition(".")[0]


@dataclass(slots=True, eq=False)
class SchemaTraits:
    """What a survey has told of a record and all that it leads to; see `survey` for the words.

    `is_straight` and `is_plain` are None until somebody asks.
    """

    is_aliased: bool
    is_tangled: bool
    is_straight: bool | None = None

    @property
    def is_plain(self) -> bool | None:
        """Whether it is straight and has no alias."""
        return self.is_straight and not self.is_aliased


@dataclass(slots=True, eq=False, kw_only=True)
class Field:
    """A record's field.

    `default` is ABSENT or JSON; `order` is ascending, descending or ignore; aliases are simple names.
    """

    name: str
    type: Node
    path: str
    default: JsonValue | _Absent = ABSENT
    order: str = "ascending"
    aliases: tuple[str, ...] = ()
    doc: str | None = None
    props: Mapping[str, JsonValue] = NO_PROPS


Reference = tuple[tuple[str, ...], Named | None]
"""Names, the first of which that is defined counts, and the type that they mean."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The text that defines a record, by length and digest, and the namespace that holds there."""

    length: int
    digest: bytes
    space: str


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """What a schema that takes over a record has to know of it; see `sharing`.

    `types` are those defined within it but itself, by full name, `fields` all fields of them and its own, each after
    those in its type, `references` the names that it takes from outside, with the type that each has to mean, None for
    none.
    """

    types: "Mapping[str, Named]"
    fields: "tuple[Field, ...]"
    references: "tuple[Reference, ...]"
    length: int
    origin: Origin


@dataclass(slots=True, eq=False, kw_only=True, weakref_slot=True)
class Record(Named):
    """A record (or error, which is the same to everyone); `fields` is set once, when the record has been parsed.

    `outline` is set where other schemas may share it, `source` where it is a whole schema that others may be: its text.
    `traits` is what comparisons found out and will want again; a copy has none.
    """

    fields: tuple[Field, ...] = ()
    outline: Outline | None = field(default=None, init=False, repr=False)
    source: bytes | None = field(default=None, init=False, repr=False)
    traits: SchemaTraits | None = field(default=None, init=False, repr=False)

    def field(self, name: str) -> Field | None:
        """The field of that name."""
        return next((f for f in self.fields if f.name == name), None)


@dataclass(slots=True, eq=False, kw_only=True)
class Enum(Named):
    """An enum; `default` is the symbol for unknown ones, None when there is none."""

    symbols: tuple[str, ...]
    default: str | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Fixed(Named):
    """A fixed number of bytes."""

    size: int
