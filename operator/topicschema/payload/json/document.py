"""A payload's text as JSON, and at which byte of it a value begins.

The dialect is core's (json_text), which is Jackson's with comments; those a consumer does not read. Nor does it always
read an object that says a name twice: each of the two values has to fit, of which only the last one is told here.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import json_text
from topicschema.payload.finding import unreadable

_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_NAME_OR_BRACE: Final = re.compile(rf"({_STRING.pattern})([ \t\r\n]*:)?|[{{}}]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Document:
    """The text, and the JSON value that it holds."""

    text: str
    value: Any

    def offsets(self, paths: Sequence[str]) -> list[int]:
        """The byte at which each path's value begins, or the nearest above it."""
        if not paths:
            return []
        places = json_text.locate_all(self.text, paths)
        return [_offset(self.text, *places[path]) for path in paths]


def read(payload: bytes) -> Document:
    """The document; Unreadable INVALID_UTF8, SYNTAX, TOO_DEEP, TRAILING_BYTES or DUPLICATE_FIELD."""
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
    return Document(text, value)


def repeats_a_name(text: str) -> bool:
    """Whether an object in a text that is JSON may have a name twice; where this says no, none has."""
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
    """Where the first name begins that its object has already; None where there is none."""
    around: list[set[str]] = []
    for match in _NAME_OR_BRACE.finditer(text):
        if match.group() == "{":
            around.append(set())
        elif match.group() == "}":
            around.pop()
        elif match[2] is not None:
            name = json.loads(match[1])
            if name in around[-1]:
                return match.start()
            around[-1].add(name)
    return None


def _refusal(text: str, error: InvalidSchemaError) -> Exception:
    offset = _offset(text, error.place.line or 1, error.place.column or 1)
    if error.rule == "TRAILING_TEXT":
        return unreadable("TRAILING_BYTES", "the JSON value ends before this", offset)
    if error.rule == "TOO_DEEP":
        return unreadable("TOO_DEEP", f"the text is nested more than {json_text.MAX_DEPTH:,} levels deep", offset)
    return unreadable("SYNTAX", "this is not JSON", offset)


def _comments(text: str) -> list[int]:
    """Where the first comment begins: outside of texts, JSON has no slash."""
    if "/" not in text:
        return []
    bare = _STRING.sub(lambda match: " " * len(match.group()), text)
    first = bare.find("/")
    return [] if first < 0 else [first]


def _offset(text: str, line: int, column: int) -> int:
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    return len(text[: starts[line - 1] + column - 1].encode())
