"""Slow reader with its own stack and position: for the place of an error and for requested places.

It uses the fast reader as far as possible.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.json_text.jackson_syntax import (
    BLANK,
    DECODER,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_NAME,
    double,
    integer,
    is_within_bounds,
)
from topicschema.core.formats.json_text.paths import TextStep, member, place_of

_SPACE = re.compile(r"[ \t\n\r]*+")
_OPEN_STRING = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_STRING = re.compile(_OPEN_STRING.pattern + '"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_WORD = re.compile(r"(?:true|false|null)(?![A-Za-z0-9_$])")
_WORDS: Final = {"true": True, "false": False, "null": None}
_SCALAR: Final = rf"(?:{_STRING.pattern}|{_NUMBER.pattern}|true|false|null){_SPACE.pattern},{_SPACE.pattern}"
_SCALARS = re.compile(rf"(?:{_SCALAR})++")
_SCALAR_ELEMENT = re.compile(_SCALAR)
_SCALAR_MEMBER = re.compile(rf"({_STRING.pattern}){_SPACE.pattern}:{_SPACE.pattern}{_SCALAR}")
_LEVELS_BETWEEN_TRIES: Final = 50


class _Frame:
    """An array or object that is being read. `step` leads to the current value, `requested` are the requested steps."""

    __slots__ = ("container", "requested", "step")

    def __init__(self, container: Any) -> None:
        self.container = container
        self.step: TextStep = 0
        self.requested: set[TextStep] = set()

    def add(self, value: Any) -> None:
        if isinstance(self.container, dict):
            self.container[self.step] = value
        else:
            self.container.append(value)


class TextReader:
    """Reader of one text.

    `plain` is the text without its comments. `requested` are the steps to the values whose places are requested.
    """

    def __init__(self, text: str, plain: str, paths: Iterable[tuple[TextStep, ...]] = ()) -> None:
        self._text = text
        self._plain = plain
        self._requested = {path[:end] for path in paths for end in range(len(path) + 1)}
        self._within: dict[tuple[TextStep, ...], set[TextStep]] = {}
        for path in self._requested:
            self._within.setdefault(path[:-1], set()).update(path[-1:])
        self._noted: list[tuple[tuple[TextStep, ...], int]] = []
        self._at = 0
        self._frames: list[_Frame] = []

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return line and column, from 1, of the character at `offset`."""
        place = place_of(self._text, offset)
        return place.line or 1, place.column or 1

    def offset_of(self, requested: tuple[TextStep, ...]) -> int:
        """Return the offset of the requested value, or of its nearest parent. Of equal names the last one counts."""
        return next(offset for path, offset in reversed(self._noted) if requested[: len(path)] == path)

    def read(self) -> Any:
        """Return the value. Raises InvalidSchemaError if there is none."""
        value = self._document(self._value())
        self.end(self._at)
        return value

    def end(self, at: int) -> None:
        """Raise InvalidSchemaError TRAILING_TEXT unless only blanks follow."""
        self._at = at
        rest = self._text[at:]
        garbage = rest.lstrip(BLANK)
        if garbage:
            self._at += len(rest) - len(garbage)
            self._refuse("the JSON ends before this; remove what follows it", "TRAILING_TEXT")

    def _document(self, value: Any) -> Any:
        """Return the whole value; `value` is the first part of it that is complete or opened."""
        while True:
            if isinstance(value, _Frame):
                if not self._closes(value.container):
                    self._open(value)
                    value = self._value()
                    continue
                value = value.container
            while self._frames:
                self._frames[-1].add(value)
                if self._continues():
                    break
                value = self._frames.pop().container
            else:
                return value
            value = self._value()

    def _value(self) -> Any:
        """Return a value, or the frame of a container whose bracket has been read."""
        char = self._next()
        is_passed_by = self._note()
        if char in "{[" and char:
            return self._at_once(is_passed_by=is_passed_by) or self._opened(char)
        if char == '"':
            return self._string()
        for pattern, convert in ((_WORD, _WORDS.__getitem__), (_NUMBER, self._number)):
            match = pattern.match(self._plain, self._at)
            if match:
                value = convert(match.group())
                self._at = match.end()
                return value
        return self._refuse(self._unexpected("a JSON value"))

    def _at_once(self, *, is_passed_by: bool) -> Any:
        """Return a container that the fast reader accepts and that is not empty, or None."""
        levels = len(self._frames)
        if not is_passed_by and (self._requested or levels % _LEVELS_BETWEEN_TRIES):
            return None
        try:
            value, end = DECODER.raw_decode(self._plain, self._at)
        except (ValueError, RecursionError):
            return None
        if not is_within_bounds(self._plain[self._at : end], value, MAX_DEPTH - levels):
            return None
        self._at = end if value else self._at
        return value

    def _opened(self, bracket: str) -> _Frame:
        self._at += 1
        return _Frame({} if bracket == "{" else [])

    def _string(self) -> str:
        match = _STRING.match(self._plain, self._at)
        if match is None:
            self._refuse_string()
        self._at = match.end()
        text: str = json.loads(match.group())
        return text

    def _number(self, digits: str) -> int | float:
        convert = double if re.search(r"[.eE]", digits) else integer
        try:
            return convert(digits)
        except ValueError:
            return self._refuse(f"a number has more than {MAX_DIGITS:,} digits")

    def _closes(self, container: Any) -> bool:
        if len(self._frames) == MAX_DEPTH:
            self._at -= 1
            self._frames.clear()  # a path of a thousand steps is useless
            self._refuse(f"the text is nested more than {MAX_DEPTH:,} levels deep, which no broker reads", "TOO_DEEP")
        if self._next() == ("}" if isinstance(container, dict) else "]"):
            self._at += 1
            return True
        return False

    def _open(self, frame: _Frame) -> None:
        if self._requested:
            frame.requested = self._within.get(tuple([each.step for each in self._frames]), set())
        self._frames.append(frame)
        if isinstance(frame.container, dict):
            self._name()
        elif self._requested:
            self._pass_by_elements(frame)
        else:
            self._scalars(frame)

    def _scalars(self, frame: _Frame) -> None:
        """Read the scalar elements that follow one another, except for an array's last."""
        match = _SCALARS.match(self._plain, self._at)
        if match is not None:
            try:
                values = DECODER.decode(f"[{match.group().rstrip()[:-1]}]")
            except ValueError:
                return
            frame.container += values
            frame.step = len(frame.container)
            self._at = match.end()

    def _continues(self) -> bool:
        """Return True if another element or member follows. Otherwise the closing bracket has been read."""
        frame = self._frames[-1]
        close = "}" if isinstance(frame.container, dict) else "]"
        char = self._next()
        if char not in ("," + close) or not char:
            self._refuse(self._unexpected(f"',' or '{close}'"))
        self._at += 1
        if char == ",":
            if isinstance(frame.step, int):
                frame.step += 1
                if self._requested:
                    self._pass_by_elements(frame)
            else:
                self._name()
        return char == ","

    def _pass_by_elements(self, frame: _Frame) -> None:
        """Go on to the next element that is requested, contains others, or is the last. The skipped ones are valid."""
        step = int(frame.step)
        match = _SCALAR_ELEMENT.match(self._plain, self._at) if step not in frame.requested else None
        while match:
            self._at = match.end()
            step += 1
            match = _SCALAR_ELEMENT.match(self._plain, self._at) if step not in frame.requested else None
        frame.step = step

    def _pass_by_members(self) -> None:
        """Go on to the next member, in the same way."""
        requested = self._frames[-1].requested
        self._next()
        match = _SCALAR_MEMBER.match(self._plain, self._at)
        while match and (json.loads(match[1]) if "\\" in match[1] else match[1][1:-1]) not in requested:
            self._at = match.end()
            match = _SCALAR_MEMBER.match(self._plain, self._at)

    def _name(self) -> None:
        """Read a member's name and the colon."""
        self._frames[-1].step = 0  # no name as yet
        if self._requested:
            self._pass_by_members()
        if self._next() != '"':
            self._refuse(self._unexpected("a member name in double quotes"))
        name = self._string()
        if len(name) > MAX_NAME:
            self._refuse(f"a member name is longer than {MAX_NAME:,} characters")
        self._frames[-1].step = name
        if self._next() != ":":
            self._refuse(self._unexpected("':'"))
        self._at += 1

    def _next(self) -> str:
        """Return the next character that is not space, or an empty string at the end."""
        match = _SPACE.match(self._plain, self._at)
        if match:
            self._at = match.end()
        return self._plain[self._at : self._at + 1]

    def _note(self) -> bool:
        """Record the place of a requested value. Return True if nothing within the value is requested."""
        if not self._requested:
            return False
        path = tuple([frame.step for frame in self._frames])
        if path in self._requested:
            self._noted.append((path, self._at))
            return False
        return True

    def _unexpected(self, expected: str) -> str:
        char = self._plain[self._at : self._at + 1]
        if not char:
            return f"the text ends where {expected} is expected"
        if char == "\ufeff":
            return f"{expected} is expected, found a byte order mark (U+FEFF); save the file without it"
        shown = f"'{char}'" if char.isprintable() else f"U+{ord(char):04X}"
        hint = " (names and texts stand in double quotes)" if char.isalpha() or char == "'" else ""
        return f"{expected} is expected, found {shown}{hint}"

    def _refuse_string(self) -> NoReturn:
        """Refuse a string with the place at which its pattern fails."""
        match = _OPEN_STRING.match(self._plain, self._at)
        self._at = match.end() if match else self._at
        char = self._plain[self._at : self._at + 1]
        if not char:
            self._refuse("the text ends inside a string")
        if char == "\\":
            self._refuse('a backslash in a string must be followed by one of "\\/bfnrt or u and four hex digits')
        self._refuse(f"a string may not hold the control character U+{ord(char):04X}; write \\u{ord(char):04x}")

    def _refuse(self, message: str, rule: str = "SYNTAX") -> NoReturn:
        path = "$"
        for frame in self._frames:
            if isinstance(frame.step, str):
                path = member(path, frame.step)
            elif isinstance(frame.container, list):
                path += f"[{frame.step}]"
        raise InvalidSchemaError(rule, message, place_of(self._text, self._at, path))
