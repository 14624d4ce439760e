"""JSON text as the broker's reader takes it, with the place of every error and of every value.

The dialect is Jackson 2.17's as Avro 1.11.4 sets it up (Pulsar 4.0): strict JSON plus `//` and `/* */` comments; the
last of two equal member names counts; at most 1,000 levels, 1,000 digits in a number, 50,000 characters in a name.
What the values mean is not known here.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from topicschema.core.errors import InvalidSchemaError, Place

MAX_DEPTH: Final = 1000
MAX_DIGITS: Final = 1000
MAX_NAME: Final = 50_000

_BLANK = "".join(map(chr, range(0x21)))  # what Java's String.trim takes away
_CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f"  # refused in comments too
_SPACE = re.compile(rf"(?:[ \t\n\r]+|//[^\n\r{_CONTROL}]*|/\*[^{_CONTROL}]*?\*/)*")
_OPEN_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*')
_STRING = re.compile(_OPEN_STRING.pattern + '"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"(?:true|false|null)(?![A-Za-z0-9_$])")
_WORDS: Final = {"true": True, "false": False, "null": None}
_STEP = re.compile(r'\.([^.\[]+)|\[([0-9]+)\]|\[("(?:[^"\\]|\\.)*")\]')
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_LINE_END = re.compile(r"\r\n|\r|\n")

Step = str | int


def read(text: str) -> Any:
    """The value that `text` holds; InvalidSchemaError SYNTAX, TOO_DEEP or TRAILING_TEXT with line and column."""
    if max(map(len, text.split('"'))) <= MAX_NAME:
        try:
            value = json.loads(text, parse_constant=_no_number, parse_int=_integer, parse_float=_double)
        except (ValueError, RecursionError):
            pass  # the reader below knows the whole dialect, and where the trouble is
        else:
            if _is_shallow(value):
                return value
    return _Reader(text).read()


def locate(text: str, path: str) -> tuple[int, int]:
    """Line and column, from 1, of the value at a JSON path such as `$.fields[2].type`, or of the nearest above it.

    `text` must be one that `read` takes.
    """
    return locate_all(text, [path])[path]


def locate_all(text: str, paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """What `locate` says of each path, in one reading of the text."""
    steps = {path: _steps(path) for path in paths}
    reader = _Reader(text, steps.values())
    reader.read()
    return {path: reader.line_and_column(reader.found(wanted)) for path, wanted in steps.items()}


def member(path: str, name: str) -> str:
    """The JSON path of an object's member: `$.a`, or `$["a b"]` where the name is not a plain word."""
    return f"{path}.{name}" if _PLAIN.match(name) else f"{path}[{json.dumps(name)}]"


def place_of(text: str, offset: int, path: str = "$") -> Place:
    """The Place of the character at `offset`."""
    starts = [match.end() for match in _LINE_END.finditer(text, 0, offset)]
    return Place(path, len(starts) + 1, offset - (starts[-1] if starts else 0) + 1)


def _steps(path: str) -> tuple[Step, ...]:
    found = _STEP.findall(path)
    return tuple(int(index) if index else name or json.loads(quoted) for name, index, quoted in found)


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS and sum(map(str.isdigit, digits)) > MAX_DIGITS:
        raise ValueError(MAX_DIGITS)
    return int(digits)


def _double(digits: str) -> float:
    if len(digits) > MAX_DIGITS and sum(map(str.isdigit, digits)) > MAX_DIGITS:
        raise ValueError(MAX_DIGITS)
    return float(digits)


def _is_shallow(value: Any) -> bool:
    """Whether the value has at most MAX_DEPTH levels of arrays and objects."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return True
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
    return not level


class _Frame:
    """An array or object that is being read; `step` leads to the value that is read now."""

    __slots__ = ("container", "step")

    def __init__(self, container: Any) -> None:
        self.container = container
        self.step: Step = 0

    def add(self, value: Any) -> None:
        if isinstance(self.container, dict):
            self.container[self.step] = value
        else:
            self.container.append(value)


class _Reader:
    """Reads with a stack of its own, slowly, and knows where it is."""

    def __init__(self, text: str, wanted: Iterable[tuple[Step, ...]] = ()) -> None:
        self.text = text
        self._wanted = {path[:end] for path in wanted for end in range(len(path) + 1)}
        self._noted: list[tuple[tuple[Step, ...], int]] = []
        self._at = 0
        self._frames: list[_Frame] = []

    def line_and_column(self, offset: int) -> tuple[int, int]:
        place = place_of(self.text, offset)
        return place.line or 1, place.column or 1

    def found(self, wanted: tuple[Step, ...]) -> int:
        """Where the wanted value begins, or the nearest above it; of equal names the last one counts."""
        return next(offset for path, offset in reversed(self._noted) if wanted[: len(path)] == path)

    def read(self) -> Any:
        value = self._document()
        rest = self.text[self._at :]
        garbage = rest.lstrip(_BLANK)
        if garbage:
            self._at += len(rest) - len(garbage)
            self._refuse("the schema ends before this; remove what follows it", "TRAILING_TEXT")
        return value

    def _document(self) -> Any:
        while True:
            value = self._value()
            if isinstance(value, dict | list) and not self._closes(value):
                self._open(value)
                continue
            while self._frames:
                self._frames[-1].add(value)
                if self._continues():
                    break
                value = self._frames.pop().container
            else:
                return value

    def _value(self) -> Any:
        """A scalar, or an empty container whose bracket has been read."""
        char = self._next()
        self._note()
        if char in "{[" and char:
            self._at += 1
            return {} if char == "{" else []
        if char == '"':
            return self._string()
        for pattern, convert in ((_WORD, _WORDS.__getitem__), (_NUMBER, self._number)):
            match = pattern.match(self.text, self._at)
            if match:
                value = convert(match.group())
                self._at = match.end()
                return value
        return self._refuse(self._unexpected("a JSON value"))

    def _string(self) -> str:
        match = _STRING.match(self.text, self._at)
        if match is None:
            self._refuse_string()
        self._at = match.end()
        text: str = json.loads(match.group())
        return text

    def _number(self, digits: str) -> int | float:
        convert = _double if re.search(r"[.eE]", digits) else _integer
        try:
            return convert(digits)
        except ValueError:
            return self._refuse(f"a number has more than {MAX_DIGITS:,} digits")

    def _closes(self, container: Any) -> bool:
        if len(self._frames) == MAX_DEPTH:
            self._at -= 1
            self._frames.clear()  # a path of a thousand steps helps nobody
            self._refuse(f"the text is nested more than {MAX_DEPTH:,} levels deep, which no broker reads", "TOO_DEEP")
        if self._next() == ("}" if isinstance(container, dict) else "]"):
            self._at += 1
            return True
        return False

    def _open(self, container: Any) -> None:
        self._frames.append(_Frame(container))
        if isinstance(container, dict):
            self._name()

    def _continues(self) -> bool:
        """Whether another element or member follows; else the bracket that closes has been read."""
        frame = self._frames[-1]
        close = "}" if isinstance(frame.container, dict) else "]"
        char = self._next()
        if char not in ("," + close) or not char:
            self._refuse(self._unexpected(f"',' or '{close}'"))
        self._at += 1
        if char == ",":
            if isinstance(frame.step, int):
                frame.step += 1
            else:
                self._name()
        return char == ","

    def _name(self) -> None:
        """Reads a member's name and the colon."""
        self._frames[-1].step = 0  # no name as yet
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
        """The next character that is not space or comment; empty at the end."""
        match = _SPACE.match(self.text, self._at)
        if match:
            self._at = match.end()
        return self.text[self._at : self._at + 1]

    def _note(self) -> None:
        if self._wanted:
            path = tuple([frame.step for frame in self._frames])
            if path in self._wanted:
                self._noted.append((path, self._at))

    def _unexpected(self, wanted: str) -> str:
        char = self.text[self._at : self._at + 1]
        if not char:
            return f"the text ends where {wanted} is expected"
        if char == "\ufeff":
            return f"{wanted} is expected, found a byte order mark (U+FEFF); save the file without it"
        shown = f"'{char}'" if char.isprintable() else f"U+{ord(char):04X}"
        hint = " (names and texts stand in double quotes)" if char.isalpha() or char == "'" else ""
        return f"{wanted} is expected, found {shown}{hint}"

    def _refuse_string(self) -> NoReturn:
        """The place inside a string that its pattern does not take."""
        match = _OPEN_STRING.match(self.text, self._at)
        self._at = match.end() if match else self._at
        char = self.text[self._at : self._at + 1]
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
        raise InvalidSchemaError(rule, message, place_of(self.text, self._at, path))
