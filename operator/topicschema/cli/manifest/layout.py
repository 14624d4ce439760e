"""Layout of a JSON text for people: indented lines, with all tokens as they are."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

_WIDTH: Final = 88
_STEP: Final = 2
_TOKEN: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[{}\[\],:]|-?[0-9][0-9.eE+-]*|true|false|null)\s*')
_OPENING: Final = frozenset("{[")
_CLOSING: Final = frozenset("}]")


def indented(text: str) -> str | None:
    """Return the object or array in lines, or None for another text, or one with comments or other extras.

    `text` is accepted by a reader of JSON. Only the space between the tokens differs.
    """
    parts, at = list[str](), 0
    while match := _TOKEN.match(text, at):
        parts.append(match[1])
        at = match.end()
    if at < len(text) or not parts or parts[0] not in _OPENING:
        return None
    ends = _ends(parts)
    return "".join(_lines(parts, ends)) + "\n" if ends[0] == len(parts) - 1 else None


def _ends(parts: Sequence[str]) -> dict[int, int]:
    """Return the index of the closing token for each opening one."""
    ends, opened = dict[int, int](), list[int]()
    for index, part in enumerate(parts):
        if part in _OPENING:
            opened.append(index)
        elif part in _CLOSING:
            ends[opened.pop()] = index
    return ends


def _lines(parts: Sequence[str], ends: dict[int, int]) -> Iterator[str]:
    """Yield the pieces of the lines. What fits into the width has one line."""
    inline_until, depth, column = -1, 0, 0
    for index, part in enumerate(parts):
        if part in _CLOSING and index > inline_until:
            depth -= 1
            yield _break(depth)
        yield part
        column += len(part)
        if index <= inline_until:
            space = " " if part in (",", ":") else ""
            yield space
            column += len(space)
        elif part in _OPENING and _fits(parts, index, ends[index], column):
            inline_until = ends[index]
        elif part in _OPENING or part == ",":
            depth += part in _OPENING
            column = depth * _STEP
            yield _break(depth)
        elif part == ":":
            yield " "
            column += 1


def _fits(parts: Sequence[str], start: int, end: int, column: int) -> bool:
    if end - start > _WIDTH:  # each token has a character at least
        return False
    return column + sum(len(each) + (each in (",", ":")) for each in parts[start + 1 : end + 1]) <= _WIDTH


def _break(depth: int) -> str:
    return "\n" + " " * (depth * _STEP)
