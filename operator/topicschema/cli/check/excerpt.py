"""The part of a schema's text that a finding speaks of, with its line number and a caret under the place."""

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
    """A schema's text, read once for all the places that will be asked for."""

    def __init__(self, text: str, places: Iterable[Place]) -> None:
        self._lines = _LINE_END.split(text) if text.strip() else []
        self._positions = _positions(text, {each.path for each in places if each.line is None})

    def at(self, place: Place) -> Iterator[str]:
        """The line before the place, that of the place and the caret, within 80 columns; none in an empty text."""
        line, column = self._positions.get(place.path, (1, 1))
        if place.line is not None:
            line, column = place.line, place.column or 1
        elif place.path != "$" and not self._positions:
            return  # a text without places: a caret at its beginning would mislead
        if line > len(self._lines):
            return
        margin = len(str(line))
        room = WIDTH - len(_INDENT) - margin - len(" | ")
        if line > 1 and self._lines[line - 2].strip():
            yield _numbered(line - 1, margin, _window(self._lines[line - 2], 1, room)[0])
        shown, before = _window(self._lines[line - 1], column, room)
        yield _numbered(line, margin, shown)
        yield f"{_INDENT}{' ' * margin} | {' ' * before}^"


def printable(text: str) -> str:
    """The text with a mark for everything that a terminal would not show as a character; line ends are marked too."""
    return "".join(
        char if char.isprintable() else " " if char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )


def _positions(text: str, paths: Collection[str]) -> Mapping[str, tuple[int, int]]:
    try:
        return json_text.locate_all(text, paths) if paths else {}
    except InvalidSchemaError:
        return {}  # a text without places


def _numbered(number: int, margin: int, shown: str) -> str:
    return f"{_INDENT}{number:{margin}} | {shown}".rstrip()


def _window(line: str, column: int, room: int) -> tuple[str, int]:
    """What of the line fits into `room` columns, around the place, and how many columns stand before the place."""
    at = min(column - 1, len(line))
    if len(line) <= room and _columns(line) <= room:
        return printable(line), _columns(line[:at])
    start = max(0, at - room // 3) if at > room // 2 else 0
    opening = _CUT if start else ""
    used, end = len(opening), start
    most = min(len(line), start + room)  # marks without a width of their own may go on for ever
    while end < most and used + _columns(line[end]) <= room - len(_CUT):
        used += _columns(line[end])
        end += 1
    closing = _CUT if end < len(line) else ""
    return opening + printable(line[start:end]) + closing, len(opening) + _columns(line[start:at])


def _columns(text: str) -> int:
    """How many columns a terminal gives the text: two for East Asian wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(bool(unicodedata.combining(char)) for char in text)
