"""What the broker's reader takes for a comment, a string and a number, and its limits. Nothing is read here.

The dialect is Jackson 2.17's as Avro 1.11.4 sets it up (Pulsar 4.0): strict JSON plus `//` and `/* */` comments; the
last of two equal member names counts; at most 1,000 levels, 1,000 digits in a number, 50,000 characters in a name.
"""

import re
from collections.abc import Callable
from json import JSONDecoder
from typing import Any, Final, NoReturn

MAX_DEPTH: Final = 1000
MAX_DIGITS: Final = 1000
MAX_NAME: Final = 50_000

BLANK: Final = "".join(map(chr, range(0x21)))  # what Java's String.trim takes away
_CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f"  # refused in comments too
_COMMENT = rf"//[^\n\r{_CONTROL}]*+|/\*[^*{_CONTROL}]*+(?:\*(?!/)[^*{_CONTROL}]*+)*+\*/"
_COMMENTS = re.compile(rf"(?:(?:{_COMMENT})[ \t\n\r]*+)++")
_UP_TO_SLASH = re.compile(r'(?:[^"/]++|"(?:[^"\\]++|\\.)*+"?)*+', re.DOTALL)


def without_comments(text: str) -> str:
    """The text with spaces in the place of all comments before the first that is none; their lines are lost."""
    parts: list[str] = []
    at = 0
    while text.find("/", at) >= 0:
        code = _UP_TO_SLASH.match(text, at)
        comments = _COMMENTS.match(text, code.end()) if code else None
        if code is None or comments is None:
            break
        parts += (code.group(), " " * len(comments.group()))
        at = comments.end()
    return "".join((*parts, text[at:])) if parts else text


def integer(digits: str) -> int:
    """The value; ValueError where it has too many digits."""
    if len(digits) > MAX_DIGITS and has_too_many_digits(digits):
        raise ValueError(MAX_DIGITS)
    return int(digits)


def double(digits: str) -> float:
    """The value; ValueError where it has too many digits."""
    if len(digits) > MAX_DIGITS and has_too_many_digits(digits):
        raise ValueError(MAX_DIGITS)
    return float(digits)


def has_too_many_digits(number: str) -> bool:
    """Whether the broker's reader gives up on the number."""
    return sum(map(str.isdigit, number)) > MAX_DIGITS


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)


DECODER: Final = JSONDecoder(parse_constant=_no_number, parse_int=integer, parse_float=double)
"""Reads fast what has no comments; knows of the limits only that of the digits."""

scan: Final[Callable[[str, int], tuple[Any, int]]] = DECODER.scan_once  # type: ignore[attr-defined]  # its own reader
"""The value that begins at an offset, and where it ends; like DECODER it knows of the limits only that of the digits.

Where there is none that it can read: ValueError, StopIteration or RecursionError.
"""
