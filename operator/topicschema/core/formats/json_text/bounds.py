"""The limits of the broker's reader: the length of a member's name, and the depth of a value.

The texts have no comments.
"""

import json
import re
from itertools import accumulate, chain, repeat
from typing import Any, Final

from topicschema.core.formats.json_text.jackson_syntax import MAX_DEPTH, MAX_NAME

_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_OTHER = r'[^"\[\]{}:,]'
_FLAT = rf"{_OTHER}*+(?:\[{_OTHER}*+\]{_OTHER}*+|\{{{_OTHER}*+\}}{_OTHER}*+)?+"
# A token is a sequence of flat elements, each with its comma, or a string, a bracket, a colon, or what is between
# those. Every character is in a token.
_TOKEN = re.compile(rf"(?:{_FLAT},)++|{_STRING}|[\[\]{{}}:]|{_OTHER}++", re.DOTALL)
_DEEPER: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


def is_within_bounds(text: str, value: Any, levels: int = MAX_DEPTH) -> bool:
    """Return True if no name in the text is too long and nothing is deeper than `levels`.

    `value` is the text's value.
    """
    may_be_long = len(text) > MAX_NAME
    if not may_be_long and text.count("[") + text.count("{") <= levels:
        return True
    members = _members(value, levels, checks_names=may_be_long)
    if members is None:
        return False
    if members == text.count('":'):
        return True
    # Perhaps an equal name later in an object has replaced something in the value: only the text has it.
    tokens = _TOKEN.findall(text)
    return _within(tokens, levels) == len(tokens)


def _members(value: Any, levels: int, *, checks_names: bool) -> int | None:
    """Return the number of members of all objects, or None if a limit is exceeded."""
    members = 0
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(levels + 1):
        if not level:
            return members
        objects = [each for each in level if each.__class__ is dict]
        members += sum(map(len, objects))
        if checks_names and max(map(len, chain.from_iterable(objects)), default=0) > MAX_NAME:
            return None
        below = chain.from_iterable([each.values() if each.__class__ is dict else each for each in level])
        level = [child for child in below if child.__class__ is dict or child.__class__ is list]
    return None


def _within(tokens: list[str], levels: int) -> int:
    """Return the number of tokens before the first that exceeds a limit."""
    depths = list(accumulate(map(_DEEPER.get, tokens, repeat(0))))
    end = len(tokens)
    if max(depths, default=0) >= levels:
        end = next((at for at, depth in enumerate(depths) if depth + _levels_in(tokens[at]) > levels), end)
    if max(map(len, tokens), default=0) > MAX_NAME:
        end = next((at for at in range(end) if _is_long_name(tokens, at)), end)
    return end


def _levels_in(token: str) -> int:
    """Return the levels in a token that is no bracket: some elements may be empty arrays or contain a word."""
    return int(token[-1] == "," and token[0] != '"' and ("[" in token or "{" in token))


def _is_long_name(tokens: list[str], at: int) -> bool:
    token = tokens[at]
    if len(token) <= MAX_NAME or token[0] != '"':
        return False
    is_name = ":" in tokens[at + 1 : at + 3]  # space may be between; a string's colon is within its own token
    return is_name and len(json.loads(token)) > MAX_NAME
