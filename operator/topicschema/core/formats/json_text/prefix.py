"""How far a text is right: the place from which the slow reader has to go on in order to come upon what is wrong.

The fast reader stops at the first thing wrong, or knows at least that there is one; the text before that has only to be
counted through, not to be read. Texts come here without comments.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, repeat
from typing import Any, Final

from topicschema.core.formats.json_text.jackson_syntax import MAX_DEPTH, MAX_DIGITS, MAX_NAME, has_too_many_digits

_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_OTHER = r'[^"\[\]{}:,]'
_FLAT = rf"{_OTHER}*+(?:\[{_OTHER}*+\]{_OTHER}*+|\{{{_OTHER}*+\}}{_OTHER}*+)?+"
# Every character is in a token: some elements without a string or level in them, each with its comma, or else a string,
# a bracket, a colon, or what stands between those.
_TOKEN = re.compile(rf"(?:{_FLAT},)++|{_STRING}|[\[\]{{}}:]|{_OTHER}++", re.DOTALL)
_SUSPECT = re.compile(rf"{_STRING}|NaN|-?Infinity|-?[0-9][0-9.eE+-]{{{MAX_DIGITS - 1},}}", re.DOTALL)
_DEEPER: Final = {"[": 1, "{": 1, "]": -1, "}": -1}

Step = str | int


@dataclass(frozen=True, slots=True)
class Prefix:
    """A part of a text, from its beginning, in which nothing is wrong.

    `token` is the bracket, colon or comma that it ends with; empty for the empty part. `frames` are the arrays (False)
    and objects (True) that are open at its end, each with the step to the value that is next; in an object 0 where a
    name is next.
    """

    end: int = 0
    token: str = ""
    frames: Sequence[tuple[bool, Step]] = ()


def before(text: str, trouble: int | None) -> Prefix:
    """A part before `trouble`, where something is wrong, or before a limit that is passed earlier.

    None stands for a number with too many digits, or a word that is none, wherever it is.
    """
    if trouble is None:
        trouble = next((found.start() for found in _SUSPECT.finditer(text) if _is_bad(found.group())), len(text))
    tokens = _TOKEN.findall(text, 0, trouble)
    del tokens[_within(tokens, MAX_DEPTH) :]
    while tokens and (tokens[-1][0] == '"' or tokens[-1][-1] not in "[]{}:,"):
        tokens.pop()
    return Prefix(sum(map(len, tokens)), tokens[-1][-1] if tokens else "", _open(tokens))


def is_within_bounds(text: str, value: Any, levels: int = MAX_DEPTH) -> bool:
    """Whether no name in the text is too long, and nothing deeper than `levels`; `value` is what the text holds."""
    may_be_long = len(text) > MAX_NAME
    if not may_be_long and text.count("[") + text.count("{") <= levels:
        return True
    members = _members(value, levels, look_at_names=may_be_long)
    if members is None:
        return False
    if members == text.count('":'):
        return True
    # Perhaps an equal name later in an object has taken something away from the value: it is seen in the text alone.
    tokens = _TOKEN.findall(text)
    return _within(tokens, levels) == len(tokens)


def _members(value: Any, levels: int, *, look_at_names: bool) -> int | None:
    """The number of members of all objects; None where a limit is passed."""
    members = 0
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(levels + 1):
        if not level:
            return members
        objects = [each for each in level if each.__class__ is dict]
        members += sum(map(len, objects))
        if look_at_names and max(map(len, chain.from_iterable(objects)), default=0) > MAX_NAME:
            return None
        below = chain.from_iterable([each.values() if each.__class__ is dict else each for each in level])
        level = [child for child in below if child.__class__ is dict or child.__class__ is list]
    return None


def _is_bad(token: str) -> bool:
    return token[0] != '"' and (token[-1].isalpha() or has_too_many_digits(token))


def _within(tokens: list[str], levels: int) -> int:
    """How many tokens come before the first that passes a limit."""
    depths = list(accumulate(map(_DEEPER.get, tokens, repeat(0))))
    found = len(tokens)
    if max(depths, default=0) >= levels:
        found = next((at for at, depth in enumerate(depths) if depth + _levels_in(tokens[at]) > levels), found)
    if max(map(len, tokens), default=0) > MAX_NAME:
        found = next((at for at in range(found) if _is_long_name(tokens, at)), found)
    return found


def _levels_in(token: str) -> int:
    """The levels in a token that is no bracket: some elements may be empty arrays or hold a word."""
    return int(token[-1] == "," and token[0] != '"' and ("[" in token or "{" in token))


def _is_long_name(tokens: list[str], at: int) -> bool:
    token = tokens[at]
    if len(token) <= MAX_NAME or token[0] != '"':
        return False
    is_name = ":" in tokens[at + 1 : at + 3]  # space may stand between; a string's colon stands within its own token
    return is_name and len(json.loads(token)) > MAX_NAME


def _open(tokens: list[str]) -> list[tuple[bool, Step]]:
    """The arrays and objects that are open after the tokens, as in a Prefix."""
    outer: list[tuple[bool, Step]] = []
    is_object = False
    step: Step = 0
    last = ""
    for part in tokens:
        if part[0] == '"':
            last = part
        elif part[-1] == ",":
            step = 0 if is_object else int(step) + part.count(",")
        elif part in "[{":
            outer.append((is_object, step))
            is_object, step = part == "{", 0
        elif part in "]}":
            is_object, step = outer.pop()
        elif part == ":":
            step = last
    frames = [*outer, (is_object, step)][1:]  # without what is around the whole
    return [(each, json.loads(name) if isinstance(name, str) else name) for each, name in frames]
