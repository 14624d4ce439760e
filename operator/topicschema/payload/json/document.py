"""Payload's text as JSON, and the byte at which a value begins.

The dialect is core's (json_text), which is Jackson's with comments, but a consumer accepts no comments. A consumer may
also refuse an object with a duplicate name, because both values have to fit. Only the last one is reported here.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import json_text
from topicschema.payload.finding import unreadable

_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_MAY_BE_FAR: Final = re.compile(r"[0-9][eE][+-]?[0-9]{3}|[0-9]{309}")
_NAME_OR_BRACE: Final = re.compile(rf"({_STRING.pattern})([ \t\r\n]*:)?|[{{}}]", re.DOTALL)


class FarNumber(float):
    """A number that a float rounds to 0 or an infinity, or any that is to be exact. `text` is exact."""

    __slots__ = ("text",)
    text: str


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """Text and its JSON value."""

    text: str
    value: Any

    def offsets(self, paths: Sequence[str]) -> list[int]:
        """Return the byte at which each path's value begins, or the nearest above it."""
        if not paths:
            return []
        places = json_text.locate_all(self.text, paths)
        return [_offset(self.text, *places[path]) for path in paths]


def read(payload: bytes, *, is_exact: bool = False) -> JsonDocument:
    """Parse the document. If it is to be exact, each number that is no integer is a FarNumber.

    Raises Unreadable INVALID_UTF8, SYNTAX, TOO_DEEP, TRAILING_BYTES or DUPLICATE_FIELD.
    """
    try:
        text = payload.decode()
    except UnicodeDecodeError as error:
        raise unreadable("INVALID_UTF8", "these bytes are not UTF-8", error.start) from None
    try:
        value = json_text.read(text)
    except InvalidSchemaError as error:
        raise _refusal(text, error) from None
    for comment in _comments(text):
        raise unreadable("SYNTAX", "JSON has no comments", len(text[:comment].encode()))
    again = _repeated(text) if repeats_a_name(text) else None
    if again is not None:
        raise unreadable("DUPLICATE_FIELD", "the object has this name already", len(text[:again].encode()))
    if is_exact:
        return JsonDocument(text, _decoded(_EXACT, text))
    return JsonDocument(text, _decoded(_FAR, text) if _MAY_BE_FAR.search(text) else value)


def _decoded(decoder: json.JSONDecoder, text: str) -> Any:
    try:
        return decoder.decode(text)
    except RecursionError:
        raise unreadable(
            "TOO_DEEP", "the text has large exponents, and is nested deeper than their reader goes", 0
        ) from None


def _real(digits: str) -> float:
    number = float(digits)
    return number if number and math.isfinite(number) else exact_number(digits)


def exact_number(digits: str) -> FarNumber:
    """Return a number that is no integer, with its digits."""
    number = FarNumber(digits)
    number.text = digits
    return number


_FAR: Final = json.JSONDecoder(parse_float=_real)
_EXACT: Final = json.JSONDecoder(parse_float=exact_number)


def repeats_a_name(text: str) -> bool:
    """Return False if no object in a JSON text has a name twice, True if one may have."""
    try:
        _ONCE.decode(text)
    except (ValueError, RecursionError):
        return True
    return False


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        raise ValueError("a name is there twice")
    return value


_ONCE: Final = json.JSONDecoder(object_pairs_hook=_once)


def _repeated(text: str) -> int | None:
    """Return the position of the first duplicate name of an object, or None."""
    scopes: list[set[str]] = []
    for match in _NAME_OR_BRACE.finditer(text):
        if match.group() == "{":
            scopes.append(set())
        elif match.group() == "}":
            scopes.pop()
        elif match[2] is not None:
            name = json.loads(match[1])
            if name in scopes[-1]:
                return match.start()
            scopes[-1].add(name)
    return None


def _refusal(text: str, error: InvalidSchemaError) -> Exception:
    offset = _offset(text, error.place.line or 1, error.place.column or 1)
    if error.rule == "TRAILING_TEXT":
        return unreadable("TRAILING_BYTES", "the JSON value ends before this", offset)
    if error.rule == "TOO_DEEP":
        return unreadable("TOO_DEEP", f"the text is nested more than {json_text.MAX_DEPTH:,} levels deep", offset)
    return unreadable("SYNTAX", "this is not JSON", offset)


def _comments(text: str) -> list[int]:
    """Return the positions at which a comment may begin: outside of texts, JSON has no slash."""
    if "/" not in text:
        return []
    bare = _STRING.sub(lambda match: " " * len(match.group()), text)
    first = bare.find("/")
    return [] if first < 0 else [first]


def _offset(text: str, line: int, column: int) -> int:
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    return len(text[: starts[line - 1] + column - 1].encode())
