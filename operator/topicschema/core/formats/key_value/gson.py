"""JSON as Gson reads and writes it on the broker: compact, members in their order, numbers as they were written.

Gson reads more than JSON (bare words, single quotes, `=` for a colon). Here a text must be JSON and may have comments.
Anything else is deliberately refused.
"""

import json
import re
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any, Final, NoReturn

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import json_text

_ESCAPED: Final = re.compile(r'["\\\x00-\x1f\u2028\u2029]')
_ESCAPED_FOR_HTML: Final = re.compile(r'["\\\x00-\x1f\u2028\u2029<>&=\']')
_ESCAPES: Final = {'"': r"\"", "\\": r"\\", "\t": r"\t", "\b": r"\b", "\n": r"\n", "\r": r"\r", "\f": r"\f"}
_SPACE: Final = " \t\r\n"
_WORDS: Final = {True: "true", False: "false", None: "null"}


class GsonNumber(str):
    """A number as it was written."""

    __slots__ = ()


def read(text: str) -> Any:
    """Return the value of `text`, its numbers as `Number`. Raises InvalidSchemaError with line and column."""
    try:
        return _loads(text)
    except (ValueError, RecursionError):
        json_text.read(text)  # raises with the place, unless the cause is only comments or many levels
    plain = json_text.without_comments(text)
    try:
        return _loads(plain)
    except RecursionError:
        raise InvalidSchemaError("TOO_DEEP", "the text is nested too deeply") from None
    except ValueError:
        message = "nothing but space may follow the value, not even a comment"
        place = json_text.place_of(text, len(plain.rstrip(_SPACE)))
        raise InvalidSchemaError("TRAILING_TEXT", message, place) from None


def compact(value: Any) -> str:
    """Return Gson's text of a value that `read` returned: without space, everything in its order."""
    pieces: list[str] = []
    containers: list[tuple[Iterator[tuple[str, Any]], str]] = []
    members, closing = iter([("", value)]), ""
    while True:
        for label, each in members:
            pieces.append(label)
            if each and isinstance(each, dict | list):
                containers.append((members, closing))
                opening, members, closing = _opened(each)
                pieces.append(opening)
                break
            pieces.append(_leaf(each))
        else:
            pieces.append(closing)
            if not containers:
                return "".join(pieces)
            members, closing = containers.pop()


def quoted(text: str, *, for_html: bool = False) -> str:
    """Return a string in double quotes.

    `for_html` escapes the characters of Gson's toJson, beyond JsonElement.toString.
    """
    pattern = _ESCAPED_FOR_HTML if for_html else _ESCAPED
    return f'"{pattern.sub(_escape, text)}"'


def _loads(text: str) -> Any:
    return json.loads(text, parse_int=GsonNumber, parse_float=GsonNumber, parse_constant=_refuse)


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _ESCAPES.get(char) or f"\\u{ord(char):04x}"


def _opened(container: dict[str, Any] | list[Any]) -> tuple[str, Iterator[tuple[str, Any]], str]:
    """Return the opening bracket, the container's values with the text before each, and the closing bracket."""
    commas = chain(("",), repeat(","))
    if isinstance(container, list):
        return "[", zip(commas, container), "]"  # noqa: B905 - one of them has no end
    members = ((f"{comma}{quoted(name)}:", each) for comma, (name, each) in zip(commas, container.items()))  # noqa: B905 - as above
    return "{", members, "}"


def _leaf(value: Any) -> str:
    """Return the text of a scalar or of an empty container."""
    if isinstance(value, GsonNumber):
        return value
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict | list):
        return "[]" if isinstance(value, list) else "{}"
    return _WORDS[value]
