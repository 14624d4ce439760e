"""Names that a text uses before their definition: Avro 1.12 accepts them (ParseContext, SchemaResolver), 1.11 does not.

A placeholder represents such a type until its definition. This module validates nothing; the builder does.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final, TypeVar, cast

from topicschema.core.formats.avro.model import Enum, Fixed, Named, Record
from topicschema.core.formats.avro.names import LengthLimit

_N = TypeVar("_N", bound=Named)
_Place = tuple[Any, str]
"""A JSON value at the place of a schema, and its namespace."""

_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})


class ForwardReferences:
    """The types of one text that are named before their definition."""

    def __init__(self, text: Any) -> None:
        self.places: set[str] = set()
        """The JSON paths of such names."""
        self._text = text
        self._kinds: dict[str, str] | None = None
        self._placeholders: dict[str, Named] = {}

    def placeholder(self, full_name: str, path: str) -> Named | None:
        """Return the placeholder of the type, or None if the text does not define the type."""
        if self._kinds is None:
            self._kinds = dict(reversed(list(_definitions(self._text))))  # the first definition of a name wins
        if full_name not in self._kinds:
            return None
        if full_name not in self._placeholders:
            self._placeholders[full_name] = _empty(self._kinds[full_name], full_name)
        self.places.add(path)
        return self._placeholders[full_name]

    def resolve(self, node: _N) -> _N:
        """Fill the placeholder of the type that `node` defines, and return it. Return `node` if there is none."""
        placeholder = self._placeholders.pop(node.full_name, None)
        if placeholder is None:
            return node
        for each in fields(node):
            setattr(placeholder, each.name, getattr(node, each.name))
        return cast("_N", placeholder)


NO_FORWARD_REFERENCES: Final = ForwardReferences(None)
"""The instance for a library that accepts no such names; it remains empty."""


def _empty(kind: str, full_name: str) -> Named:
    if kind == "enum":
        return Enum(path="", full_name=full_name, symbols=())
    if kind == "fixed":
        return Fixed(path="", full_name=full_name, size=0)
    return Record(path="", full_name=full_name)


def _definitions(text: Any) -> Iterator[tuple[str, str]]:
    """Yield the full names that a text defines, with their kinds, in its order. Names are not validated."""
    length = LengthLimit()
    work: list[_Place] = [(text, "")]
    while work:
        value, space = work.pop()
        length.add("", space)
        if isinstance(value, list):
            work += [(branch, space) for branch in reversed(value)]
        if not isinstance(value, dict):
            continue
        kind = value.get("type")
        if isinstance(kind, str) and kind in _NAMED:
            full_name = _full_name(value, space)
            yield full_name, kind
            space = full_name.rpartition(".")[0]
        work += reversed(_parts(value, kind, space))


def _full_name(value: dict[str, Any], space: str) -> str:
    declared, name = value.get("namespace"), value.get("name")
    before, dot, simple = (name if isinstance(name, str) else "").rpartition(".")
    space = before if dot else declared if isinstance(declared, str) else space
    return f"{space}.{simple}" if space else simple


def _parts(value: dict[str, Any], kind: Any, space: str) -> list[_Place]:
    """Return the schemas directly within a schema object, each with its namespace."""
    if kind in ("array", "map"):
        return [(value.get("items" if kind == "array" else "values"), space)]
    inner = value.get("fields") if kind in ("record", "error") else None
    texts = inner if isinstance(inner, list) else []
    return [(text.get("type"), space) for text in texts if isinstance(text, dict)]
