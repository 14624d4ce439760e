"""Excerpt of a schema's text around a place, with its line number and a caret under the place."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import json_text

WIDTH: Final = 80
_INDENT: Final = "  "
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_CUT: Final = "..."


class Excerpts:
    """Excerpts of a schema's text, which is parsed once for all the places."""

    def __init__(self, text: str, places: Iterable[Place]) -> None:
        self._lines = _LINE_END.split(text) if text.strip() else []
        self._positions = _positions(text, {each.path for each in places if each.line is None})

    def at(self, place: Place) -> Iterator[str]:
        """Yield the line before the place, its own line and the caret, within 80 columns.

        Yields none for an empty text.
        """
        line, column = self._positions.get(place.path, (1, 1))
        if place.line is not None:
            line, column = place.line, place.column or 1
        elif place.path != "$" and not self._positions:
            return  # a text without places: a caret at its beginning would mislead
        if line > len(self._lines):
            return
        margin = len(str(line))
        width = WIDTH - len(_INDENT) - margin - len(" | ")
        if line > 1 and self._lines[line - 2].strip():
            yield _numbered(line - 1, margin, _window(self._lines[line - 2], 1, width)[0])
        shown, before = _window(self._lines[line - 1], column, width)
        yield _numbered(line, margin, shown)
        yield f"{_INDENT}{' ' * margin} | {' ' * before}^"


def printable(text: str) -> str:
    """Return the text with a replacement mark for every character that a terminal cannot show, line ends included."""
    return "".join(
        char if char.isprintable() else " " if char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )


def printable_lines(text: str) -> str:
    """Return the text as `printable` does, with its line ends."""
    return "\n".join(map(printable, text.splitlines()))


def _positions(text: str, paths: Collection[str]) -> Mapping[str, tuple[int, int]]:
    try:
        return json_text.locate_all(text, paths) if paths else {}
    except InvalidSchemaError:
        return {}  # a text without places


def _numbered(number: int, margin: int, shown: str) -> str:
    return f"{_INDENT}{number:{margin}} | {shown}".rstrip()


def _window(line: str, column: int, width: int) -> tuple[str, int]:
    """Return the part of the line that fits into `width` columns around the place, and the columns before the place."""
    at = min(column - 1, len(line))
    if len(line) <= width and _columns(line) <= width:
        return printable(line), _columns(line[:at])
    start = max(0, at - width // 3) if at > width // 2 else 0
    opening = _CUT if start else ""
    used, end = len(opening), start
    most = min(len(line), start + width)  # combining marks have no width and may continue without end
    while end < most and used + _columns(line[end]) <= width - len(_CUT):
        used += _columns(line[end])
        end += 1
    closing = _CUT if end < len(line) else ""
    return opening + printable(line[start:end]) + closing, len(opening) + _columns(line[start:at])


def _columns(text: str) -> int:
    """Return the text's width in a terminal: two columns for an East Asian wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(bool(unicodedata.combining(char)) for char in text)
