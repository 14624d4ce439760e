"""A JSON text as Jackson reads it: values with each member that is written, and numbers as they are written.

The meaning of the values is not known here. For a text that Jackson cannot read, the functions raise ValueError.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

_OPENED, _COLON, _COMMA = re.compile(r"\{\s*"), re.compile(r"\s*:\s*"), re.compile(r"\s*,\s*")
_IN_ARRAY, _ENDED, _NESTED = re.compile(r"\[\s*"), re.compile(r"\s*\]"), re.compile(r"[\[{]")
_LONGEST_NUMBER: Final = 1_000


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is written."""

    text: str
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Members:
    """An object: its members in their order, including those with a repeated name."""

    pairs: Sequence[tuple[str, "Value"]]


Value: TypeAlias = "Members | list[Value] | Number | str | bool | None"


def first(text: bytes) -> Value:
    """Return the value that a text begins with, and ignore what follows it."""
    return _value_at(_written(text), 0)[0]


def named_first(text: bytes) -> str | None:
    """Return the type that a value names, as a text, before what follows it is read. Returns None if it names none.

    For an object it is the first member `type` that is a scalar, for an array the first element.
    """
    written = _written(text)
    place = _IN_ARRAY.match(written)
    kind = _type_of_object(written) if place is None else _type_of_array(written, place.end())
    if isinstance(kind, Number):
        return kind.text
    return json.dumps(kind) if isinstance(kind, bool) else kind if isinstance(kind, str) else None


def is_scalar(value: Value) -> bool:
    """Return True if it is neither null nor an array or an object."""
    return isinstance(value, str | Number | bool)


def _type_of_object(written: str) -> Value:
    place = _OPENED.match(written)
    while place is not None:
        name, end = _value_at(written, place.end())
        colon = _COLON.match(written, end)
        if colon is None:
            break
        value, end = _value_at(written, colon.end())
        if name == "type" and is_scalar(value):
            return value
        place = _COMMA.match(written, end)
    return None


def _type_of_array(written: str, start: int) -> Value:
    """Return the first element if the next token can be read: Jackson reads this token before it checks the type."""
    element, end = _value_at(written, start)
    comma = _COMMA.match(written, end)
    if comma is None and _ENDED.match(written, end) is None:
        raise ValueError(end)
    if comma is not None and _NESTED.match(written, comma.end()) is None:
        _value_at(written, comma.end())
    return "null" if element is None else element


def _written(text: bytes) -> str:
    return text.decode("utf-8-sig").lstrip()


def _value_at(text: str, start: int) -> tuple[Value, int]:
    try:
        return _DECODER.raw_decode(text, start)
    except RecursionError:
        raise ValueError("too deep") from None


def _number(*, is_whole: bool, text: str) -> Number:
    """Return the number. Raises ValueError if it has more than 1,000 characters, as StreamReadConstraints do."""
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(text)
    return Number(text, is_whole)


def _whole(text: str) -> Number:
    return _number(is_whole=True, text=text)


def _broken(text: str) -> Number:
    return _number(is_whole=False, text=text)


def _not_json(constant: str) -> None:
    """Refuse NaN and Infinity, which Python reads."""
    raise ValueError(constant)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=Members, parse_int=_whole, parse_float=_broken, parse_constant=_not_json
)
