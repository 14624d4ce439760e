"""Columns that a program writes values into: their numbers, and how each is stored.

A column has a number, those of its parts follow. So the columns of a type, counted from its own, are the same
everywhere, and a body that is called from several places writes into the columns of its call.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from topicschema.core.formats.avro.model import Node, Primitive, Union

NOTHING, BOOLEAN, INT, LONG, FLOAT, DOUBLE, NARROW, MILLIS, CONTENT, DECIMAL, SYMBOL, STRUCT, CHOICE, LIST, MAP = range(
    15
)
"""Forms of columns.

NOTHING stores only nulls, NARROW is a DOUBLE rounded to a float, MILLIS a LONG of microseconds from milliseconds.
CONTENT is a text or bytes. SYMBOL is the number of an enum's symbol, as an INT. CHOICE has a part for each branch of a
union that is not null.
"""

SIZES: Final[Mapping[int, int]] = MappingProxyType(
    {
        BOOLEAN: 1,
        **dict.fromkeys((INT, FLOAT, SYMBOL, CONTENT, LIST, MAP), 4),
        **dict.fromkeys((LONG, DOUBLE, MILLIS), 8),
        DECIMAL: 16,
    }
)
"""Bytes of a value, or of the end of its content. Other forms have none."""

FORM, COLUMN, TABLE = range(3)
"""Columns of what an instruction writes: the form, the column from its body's, the place of the symbols' numbers."""


class BatchTooLargeError(Exception):
    """The columns of a batch exceed `output_layout.MAX_MEMORY`: decode fewer messages at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A column, with those of its parts: a struct's fields, a choice's branches, an item, or a key and a value.

    `names` has a struct's fields, `symbols` the number of each symbol, `digits` is the precision of a DECIMAL.
    """

    number: int
    form: int
    parts: tuple["Target", ...] = ()
    names: Mapping[str, "Target"] = field(default_factory=dict)
    symbols: Mapping[str, int] = field(default_factory=dict)
    digits: int = 0

    @property
    def item(self) -> "Target":
        """The column of an array's items or a map's values."""
        return self.parts[-1]

    def branch(self, union: Union, branch: Node) -> "Target | None":
        """Return the column of a union's branch, None for null."""
        if is_null(branch):
            return None
        return self.parts[[each for each in union.branches if not is_null(each)].index(branch)]


def is_null(node: Node) -> bool:
    """Return True for the type null."""
    return isinstance(node, Primitive) and node.kind == "null"
