"""The syntax of comments, strings and numbers in the broker's reader, and its limits. Nothing is read here.

The dialect is Jackson 2.17's as Avro 1.11.4 configures it (Pulsar 4.0): strict JSON plus `//` and `/* */` comments. The
last of two equal member names counts. It allows at most 1,000 levels, 1,000 digits in a number and 50,000 characters in
a name.
"""

import re
from itertools import chain
from json import JSONDecoder
from typing import Any, Final, NoReturn

MAX_DEPTH: Final = 1000
MAX_DIGITS: Final = 1000
MAX_NAME: Final = 50_000

BLANK: Final = "".join(map(chr, range(0x21)))  # what Java's String.trim removes
_CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f"  # refused in comments too
_COMMENT = rf"//[^\n\r{_CONTROL}]*+|/\*[^*{_CONTROL}]*+(?:\*(?!/)[^*{_CONTROL}]*+)*+\*/"
_COMMENTS = re.compile(rf"(?:(?:{_COMMENT})[ \t\n\r]*+)++")
_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"([ \t\n\r]*+:)?', re.DOTALL)  # the group if it names a member
_UP_TO_SLASH = re.compile(r'(?:[^"/]++|"(?:[^"\\]++|\\.)*+"?)*+', re.DOTALL)


def without_comments(text: str) -> str:
    """Return the text with spaces in place of the comments, up to the first invalid one.

    The lines of comments are lost.
    """
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
    """Return the value. Raises ValueError if it has too many digits."""
    if len(digits) > MAX_DIGITS and has_too_many_digits(digits):
        raise ValueError(MAX_DIGITS)
    return int(digits)


def double(digits: str) -> float:
    """Return the value. Raises ValueError if it has too many digits."""
    if len(digits) > MAX_DIGITS and has_too_many_digits(digits):
        raise ValueError(MAX_DIGITS)
    return float(digits)


def has_too_many_digits(number: str) -> bool:
    """Return True if the broker's reader refuses the number because of its length."""
    return sum(map(str.isdigit, number)) > MAX_DIGITS


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)


DECODER: Final = JSONDecoder(parse_constant=_no_number, parse_int=integer, parse_float=double)
"""Fast reader of texts without comments. It checks only the limit of the digits."""


def is_within_bounds(text: str, value: Any, levels: int = MAX_DEPTH) -> bool:
    """Return True if surely no name in the text is too long and nothing is deeper than `levels`.

    `text` has no comments, and `value` is its value. If some member may be missing in the value, because an equal name
    follows it in the object, only the text has it, and the result is False.
    """
    may_be_long = len(text) > MAX_NAME
    if not may_be_long and text.count("[") + text.count("{") <= levels:
        return True
    members = 0
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(levels + 1):
        if not level:
            return members == sum(map(bool, _STRING.findall(text)))
        objects = [each for each in level if each.__class__ is dict]
        members += sum(map(len, objects))
        if may_be_long and max(map(len, chain.from_iterable(objects)), default=0) > MAX_NAME:
            return False
        below = chain.from_iterable([each.values() if each.__class__ is dict else each for each in level])
        level = [child for child in below if child.__class__ is dict or child.__class__ is list]
    return False
