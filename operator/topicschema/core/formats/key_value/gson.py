"""JSON as Gson reads and writes it on the broker: compact, members in their order, numbers as they were spelt.

Gson reads more than JSON (bare words, single quotes, `=` for a colon). Here a text must be JSON, with comments at most:
the rest is refused, deliberately.
"""

import json
import re
from typing import Any, Final, NoReturn

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import json_text

_STRING_OR_COMMENT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n\r]*|/\*.*?\*/', re.DOTALL)
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f\u2028\u2029]')
_ESCAPED_FOR_HTML: Final = re.compile(r'["\\\x00-\x1f\u2028\u2029<>&=\']')
_ESCAPES: Final = {'"': r"\"", "\\": r"\\", "\t": r"\t", "\b": r"\b", "\n": r"\n", "\r": r"\r", "\f": r"\f"}
_SPACE: Final = " \t\r\n"
_WORDS: Final = {True: "true", False: "false", None: "null"}


class Number(str):
    """A number as it was spelt."""

    __slots__ = ()


def read(text: str) -> Any:
    """The value that `text` holds, its numbers as `Number`; InvalidSchemaError with line and column."""
    try:
        return _loads(text)
    except (ValueError, RecursionError):
        json_text.read(text)  # finds the place, unless only comments or many levels were in the way
    plain = _STRING_OR_COMMENT.sub(_blanked, text)
    end = len(plain.rstrip(_SPACE))
    try:
        value = _loads(plain)
    except RecursionError:
        raise InvalidSchemaError("TOO_DEEP", "the text is nested too deeply") from None
    except ValueError:
        raise _trailing(text, end) from None
    if text[end:].strip(_SPACE):
        raise _trailing(text, end)
    return value


def compact(value: Any) -> str:
    """What Gson writes for a value that `read` gave: no space, everything in its order."""
    pieces: list[str] = []
    stack: list[Any] = [(value,)]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            pieces.append(part)
            continue
        (inner,) = part
        if isinstance(inner, dict):
            stack += _between("{", [(f"{quoted(name)}:", each) for name, each in inner.items()], "}")
        elif isinstance(inner, list):
            stack += _between("[", [("", each) for each in inner], "]")
        else:
            pieces.append(_scalar(inner))
    return "".join(pieces)


def quoted(text: str, *, for_html: bool = False) -> str:
    """A string in double quotes; `for_html` escapes what Gson's toJson does, beyond JsonElement.toString."""
    pattern = _ESCAPED_FOR_HTML if for_html else _ESCAPED
    return f'"{pattern.sub(_escape, text)}"'


def _loads(text: str) -> Any:
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=_refuse)


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _blanked(match: re.Match[str]) -> str:
    return match.group() if match.group().startswith('"') else " " * len(match.group())


def _trailing(text: str, end: int) -> InvalidSchemaError:
    message = "nothing but space may follow the value, not even a comment"
    return InvalidSchemaError("TRAILING_TEXT", message, json_text.place_of(text, end))


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _ESCAPES.get(char) or f"\\u{ord(char):04x}"


def _between(opening: str, members: list[tuple[str, Any]], close: str) -> list[Any]:
    """A container's parts, last first, for a stack."""
    parts: list[Any] = [close]
    for index, (label, each) in enumerate(reversed(members)):
        parts += [*([","] if index else []), (each,), label]
    return [*parts, opening]


def _scalar(value: Number | str | bool | None) -> str:  # noqa: FBT001 - a JSON value, not a switch
    if isinstance(value, Number):
        return str(value)
    return quoted(value) if isinstance(value, str) else _WORDS[value]
