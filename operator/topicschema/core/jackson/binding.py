"""The test if Jackson takes a JSON value for a JSON Schema: every member that its classes have must fit their types.

Jackson ignores unknown members, and null everywhere. Source: jackson-module-jsonSchema 2.17, with Jackson's own
coercions of strings, numbers and booleans. There is no recursion: a list contains what is left to check.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from types import MappingProxyType
from typing import Final, TypeAlias

from topicschema.core.jackson.json_values import Members, Number, Value, is_scalar


class MemberKind(Enum):
    """The type of a member's value."""

    TEXT = auto()
    TEXTS = auto()
    BOOLEAN = auto()
    INTEGER = auto()
    DOUBLE = auto()
    FORMAT = auto()
    """A value's format: any string, or an index in the list of those known, however large."""
    ANYTHINGS = auto()
    MEMBERS = auto()
    SCHEMA = auto()
    SCHEMAS = auto()
    SCHEMAS_BY_NAME = auto()
    ITEMS = auto()
    """A schema, or an array of them."""
    ADDITIONAL = auto()
    """A schema of additional values, or a boolean that allows or forbids them."""
    LINK = auto()
    LINKS = auto()


_Parts: TypeAlias = Sequence[tuple[MemberKind, Value]]
"""Parts that must be bound, too."""

_OF_ALL: Final[Mapping[str, MemberKind]] = {
    **dict.fromkeys(("id", "$ref", "$schema", "description", "default", "title", "pathStart"), MemberKind.TEXT),
    **dict.fromkeys(("required", "readonly"), MemberKind.BOOLEAN),
    **dict.fromkeys(("disallow", "extends"), MemberKind.SCHEMAS),
    "links": MemberKind.LINKS,
}
_OF_VALUES: Final = {**_OF_ALL, "enum": MemberKind.TEXTS, "format": MemberKind.FORMAT}
_OF_CONTAINERS: Final = {**_OF_ALL, "enum": MemberKind.TEXTS, "oneOf": MemberKind.ANYTHINGS}
_OF_NUMBERS: Final = {
    **_OF_VALUES,
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum"), MemberKind.BOOLEAN),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), MemberKind.DOUBLE),
}
_MEMBERS: Final[Mapping[str, Mapping[str, MemberKind]]] = MappingProxyType(
    {
        "any": _OF_ALL,
        "array": {
            **_OF_CONTAINERS,
            **dict.fromkeys(("maxItems", "minItems"), MemberKind.INTEGER),
            "uniqueItems": MemberKind.BOOLEAN,
            "additionalItems": MemberKind.ADDITIONAL,
            "items": MemberKind.ITEMS,
            "itemsSchema": MemberKind.SCHEMA,
        },
        "boolean": _OF_VALUES,
        "integer": {**_OF_NUMBERS, "divisibleBy": MemberKind.INTEGER},
        "null": _OF_ALL,
        "number": _OF_NUMBERS,
        "object": {
            **_OF_CONTAINERS,
            **dict.fromkeys(("properties", "patternProperties"), MemberKind.SCHEMAS_BY_NAME),
            "additionalProperties": MemberKind.ADDITIONAL,
            "dependencies": MemberKind.MEMBERS,
        },
        "string": {
            **_OF_VALUES,
            **dict.fromkeys(("maxLength", "minLength"), MemberKind.INTEGER),
            "pattern": MemberKind.TEXT,
        },
    }
)
_OF_LINKS: Final[Mapping[str, MemberKind]] = MappingProxyType(
    {
        **dict.fromkeys(("href", "rel", "method", "enctype", "title", "mediaType"), MemberKind.TEXT),
        **dict.fromkeys(("schema", "targetSchema"), MemberKind.SCHEMA),
    }
)
TYPES: Final = frozenset(_MEMBERS)
"""The types of JSON Schemas."""

_BLANKS: Final = "".join(map(chr, range(33)))
_NOTHING: Final = frozenset({"", "null"})
"""Strings that are null for types other than strings."""
_BOOLEANS: Final = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
_WHOLE: Final = re.compile(r"[+-]?\d+")
_DECIMAL: Final = re.compile(r"[+-]?(\d+\.?|\d*\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NO_NUMBERS: Final = frozenset({"NaN", "INF", "Infinity", "-INF", "-Infinity"})
_SMALLEST, _LARGEST = -(2**31), 2**31 - 1


def binds(value: Value) -> bool:
    """Return True if a whole value is a JSON Schema."""
    left = [(MemberKind.SCHEMA, value)]
    while left:
        kind, part = left.pop()
        parts = () if part is None else _PARTS[kind](part)
        if parts is None:
            return False
        left.extend(parts)
    return True


def _if(holds: bool) -> _Parts | None:  # noqa: FBT001 - it is the subject
    return () if holds else None


def _schema(value: Value) -> _Parts | None:
    """Return the parts of an object that names its type, or of an array of the type and an optional object."""
    if isinstance(value, Members):
        kind = next((each for name, each in value.pairs if name == "type" and is_scalar(each)), None)
        return _members(value, _MEMBERS.get(kind)) if isinstance(kind, str) else None
    if not isinstance(value, list) or not 0 < len(value) <= 2:  # noqa: PLR2004 - type and object
        return None
    kind = "null" if value[0] is None else value[0]
    known = _MEMBERS.get(kind) if isinstance(kind, str) else None
    return _if(known is not None) if len(value) == 1 else _members(value[1], known)


def _members(value: Value, known: Mapping[str, MemberKind] | None) -> _Parts | None:
    if known is None or not isinstance(value, Members):
        return None
    return [(known[name], each) for name, each in value.pairs if name in known]


def _each(kind: MemberKind) -> Callable[[Value], _Parts | None]:
    def parts(value: Value) -> _Parts | None:
        return [(kind, each) for each in value] if isinstance(value, list) else None

    return parts


def _schemas_by_name(value: Value) -> _Parts | None:
    return [(MemberKind.SCHEMA, each) for _, each in value.pairs] if isinstance(value, Members) else None


def _items(value: Value) -> _Parts | None:
    return [(MemberKind.SCHEMAS if isinstance(value, list) else MemberKind.SCHEMA, value)]


def _additional(value: Value) -> _Parts | None:
    if isinstance(value, Members):
        return _schema(value)
    return _if(isinstance(value, bool))


def _text(value: Value) -> _Parts | None:
    return _if(is_scalar(value))


def _format(value: Value) -> _Parts | None:
    if isinstance(value, Number):
        return _if(value.is_whole and _is_integer(value.text))
    return _if(isinstance(value, str))


def _boolean(value: Value) -> _Parts | None:
    if isinstance(value, str):
        return _if(value.strip(_BLANKS) in _NOTHING | _BOOLEANS)
    return _if(isinstance(value, bool) or (isinstance(value, Number) and value.is_whole))


def _integer(value: Value) -> _Parts | None:
    if isinstance(value, Number):
        return _if(_is_integer(value.text) if value.is_whole else _SMALLEST <= float(value.text) <= _LARGEST)
    if not isinstance(value, str):
        return None
    written = value.strip(_BLANKS)
    return _if(written in _NOTHING or (_WHOLE.fullmatch(written) is not None and _is_integer(written)))


def _is_integer(written: str) -> bool:
    return _SMALLEST <= int(written) <= _LARGEST


def _double(value: Value) -> _Parts | None:
    if not isinstance(value, str):
        return _if(isinstance(value, Number))
    written = value.strip(_BLANKS)
    return _if(written in _NOTHING | _NO_NUMBERS or _DECIMAL.fullmatch(written) is not None)


_PARTS: Final[Mapping[MemberKind, Callable[[Value], _Parts | None]]] = MappingProxyType(
    {
        MemberKind.TEXT: _text,
        MemberKind.TEXTS: _each(MemberKind.TEXT),
        MemberKind.BOOLEAN: _boolean,
        MemberKind.INTEGER: _integer,
        MemberKind.DOUBLE: _double,
        MemberKind.FORMAT: _format,
        MemberKind.ANYTHINGS: lambda value: _if(isinstance(value, list)),
        MemberKind.MEMBERS: lambda value: _if(isinstance(value, Members)),
        MemberKind.SCHEMA: _schema,
        MemberKind.SCHEMAS: _each(MemberKind.SCHEMA),
        MemberKind.SCHEMAS_BY_NAME: _schemas_by_name,
        MemberKind.ITEMS: _items,
        MemberKind.ADDITIONAL: _additional,
        MemberKind.LINK: lambda value: _members(value, _OF_LINKS),
        MemberKind.LINKS: _each(MemberKind.LINK),
    }
)
