"""Incremental reading of a large text: the reader skips records that a live schema defines alike at the same place.

The value is that of `json_text`, except for records. A record's definition has its position in the text (`Definition`).
If it was read before, a `KnownType` replaces it. The reader leaves an unusual text to `json_text`.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any, Final

from topicschema.core.formats import json_text
from topicschema.core.formats.avro.model import Array, Field, Map, Node, Record, Union

_SPACE: Final = r"[ \t\n\r]*+"
_NAME: Final = rf'"([^"\\\x00-\x1f]*+)"{_SPACE}:{_SPACE}'
_space: Final = re.compile(_SPACE).match
_bracket: Final = re.compile(rf"\[{_SPACE}").match
_comma: Final = re.compile(rf"{_SPACE},{_SPACE}").match
_bracket_end: Final = re.compile(rf"{_SPACE}\]").match
_first_name: Final = re.compile(rf"{{{_SPACE}{_NAME}").match
_next_name: Final = re.compile(rf"{_SPACE},{_SPACE}{_NAME}").match
_object_end: Final = re.compile(rf"{_SPACE}}}").match
_MARK: Final = '"fields"'
"""The attribute of every record definition.

A record that spells it with escapes is not shared; nothing else changes.
"""
_NEAR: Final = 600
"""The number of characters from the start of a record or a field within which the mark mostly occurs."""
_MOST_READ_AGAIN: Final = 1
"""The maximum length of text read in vain because its marks come late, as a multiple of the text's length."""
_DEEPEST: Final = 100
"""The maximum number of levels for this reader. Deeper levels are read as plain JSON, so this bounds the recursion."""
_SHALLOW: Final = json_text.MAX_DEPTH - _DEEPEST
"""The number of levels that plain JSON may have below those."""
_UNUSUAL: Final = (IndexError, StopIteration, ValueError, RecursionError)


class Definition(dict[str, Any]):
    """A definition, possibly of a record, with its position in the text."""

    __slots__ = ("begin", "end")

    begin: int
    end: int


class KnownType:
    """A placeholder for a definition whose text is that of `record`, a part of another schema."""

    __slots__ = ("_text", "begin", "record")

    def __init__(self, text: str, begin: int, record: Record) -> None:
        self._text = text
        self.begin = begin
        self.record = record

    def plain(self) -> Any:
        """Return the definition as JSON."""
        return json_text.scan(self._text, self.begin)[0]


class IncrementalReader:
    """A reader of one text, guided by the root of a schema that may resemble it."""

    def __init__(self, text: str, guide: Record | None) -> None:
        self._text = text
        self._guide = guide
        self._read_again = 0

    def read(self) -> Any:
        """Return the value. Raise InvalidSchemaError as `json_text.read` does."""
        text = self._text
        try:
            value, end = self._schema(_end(_space(text)), self._guide, 0)
        except _UNUSUAL:
            return json_text.read(text)
        return value if _end(_space(text, end)) == len(text) else json_text.read(text)

    def inside(self, known: KnownType) -> Any:
        """Return the definition of a known record that cannot be shared here. Records within it may be known, too."""
        try:
            return self._definition(known.begin, known.record, 0)[0]
        except _UNUSUAL:  # for example, too deep
            return known.plain()

    def digest(self, value: Definition) -> bytes:
        """Return bytes that are equal for two definitions exactly when their texts are the same."""
        return _digest(self._text[value.begin : value.end])

    def _schema(self, at: int, guide: Node | None, level: int) -> tuple[Any, int]:
        """Return the schema at this position, and its end. `guide` is the other schema's node at this place."""
        char = self._text[at]
        if char == "{" and isinstance(guide, Record):
            end = self._end_of_same(at, guide)
            if end:
                return KnownType(self._text, at, guide), end
        if level < _DEEPEST and char == "{":
            return self._definition(at, guide, level)
        if level < _DEEPEST and char == "[":
            return self._branches(at, guide, level)
        return self._plain(at)

    def _end_of_same(self, at: int, record: Record) -> int:
        """Return the end of the record's text if it is at this position, else 0.

        No object's text is a prefix of another's.
        """
        if record.outline is None:
            return 0
        origin = record.outline.origin
        end = at + origin.length
        return end if self._text[end - 1 : end] == "}" and _digest(self._text[at:end]) == origin.digest else 0

    def _definition(self, at: int, guide: Node | None, level: int) -> tuple[Any, int]:
        """Return a schema object and its end.

        Avro has no custom properties with the names of a schema's parts.
        """

        def member(name: str, at: int) -> tuple[Any, int]:
            if name == "fields" and self._text[at] == "[":
                return self._fields(at, guide, level + 1)
            if name == "items":
                inner = _at_home(guide.items, f"{guide.path}.items") if isinstance(guide, Array) else None
                return self._schema(at, inner, level + 1)
            if name == "values":
                inner = _at_home(guide.values, f"{guide.path}.values") if isinstance(guide, Map) else None
                return self._schema(at, inner, level + 1)
            return self._plain(at)

        return self._object(at, member)

    def _branches(self, at: int, guide: Node | None, level: int) -> tuple[list[Any], int]:
        place, branches = (guide.path, guide.branches) if isinstance(guide, Union) else ("", ())

        def branch(at: int, index: int) -> tuple[Any, int]:
            inner = _at_home(branches[index], f"{place}[{index}]") if index < len(branches) else None
            return self._schema(at, inner, level + 1)

        return self._elements(at, branch)

    def _fields(self, at: int, guide: Node | None, level: int) -> tuple[list[Any], int]:
        fields = guide.fields if isinstance(guide, Record) else ()

        def field(at: int, index: int) -> tuple[Any, int]:
            inner = fields[index] if index < len(fields) else None
            return self._object(at, lambda name, at: self._part_of_field(name, at, inner, level + 2))

        return self._elements(at, field)

    def _part_of_field(self, name: str, at: int, guide: Field | None, level: int) -> tuple[Any, int]:
        if name != "type":
            return self._plain(at)
        return self._schema(at, None if guide is None else _at_home(guide.type, f"{guide.path}.type"), level)

    def _elements(self, at: int, read: Callable[[int, int], tuple[Any, int]]) -> tuple[list[Any], int]:
        """Return an array and its end."""
        text = self._text
        values: list[Any] = []
        more = _bracket(text, at)
        if text[_end(more)] == "]":
            return values, _end(more) + 1
        while more is not None:
            value, at = read(more.end(), len(values))
            values.append(value)
            more = _comma(text, at)
        return values, _end(_bracket_end(text, at))

    def _object(self, at: int, read: Callable[[str, int], tuple[Any, int]]) -> tuple[Any, int]:
        """Return an object and its end. Read it member by member if it may contain a record."""
        text = self._text
        if text.find(_MARK, at, at + _NEAR) < 0:
            value, end = self._plain(at)
            if text.find(_MARK, at, end) < 0:
                return value, end
            self._read_again += end - at
            if self._read_again > _MOST_READ_AGAIN * len(text):
                raise ValueError
        made = Definition()
        made.begin = at
        more = _first_name(text, at)
        while more is not None:
            name = more[1]
            if len(name) > json_text.MAX_NAME:
                raise ValueError
            made[name], at = read(name, more.end())
            more = _next_name(text, at)
        made.end = at = _end(_object_end(text, at))
        return made, at

    def _plain(self, at: int) -> tuple[Any, int]:
        """Return any value and its end. Raise ValueError if it is too deep."""
        value, end = json_text.scan(self._text, at)
        if end - at > _SHALLOW and not json_text.is_within_bounds(self._text[at:end], value, _SHALLOW):
            raise ValueError
        return value, end


def _at_home(node: Node, path: str) -> Node | None:
    """Return the node, or None if it is a named type with its definition elsewhere."""
    return node if node.path == path else None


def _end(found: re.Match[str] | None) -> int:
    """Return the end of the match. Raise ValueError if there is no match."""
    if found is None:
        raise ValueError
    return found.end()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
