"""Errors for protoc's messages, with a rule and a place. protoc prints `file:line:column: text`, or `file: text`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.protoc.compiler import FIRST_SOURCE, MAX_ENVELOPE
from topicschema.protoc.sources import PATH, path_of

_LINE: Final = re.compile(r"/proc/self/fd/(?P<number>\d{1,9}):(?:(?P<line>\d+):(?P<column>\d+):)? (?P<text>.*)")
_NOT_FOUND: Final = re.compile(r"(?P<file>.*): File not found\.")
_LONGEST: Final = 300
_TAB: Final = 8


@dataclass(frozen=True, slots=True)
class _Complaint:
    file: str
    line: int | None
    column: int | None
    text: str


def error(printed: str, files: Mapping[str, str], *, is_cut: bool = False) -> InvalidSchemaError:
    """Return protoc's first error. A missing import precedes the errors that it causes.

    `is_cut` means that there were more errors.
    """
    lines = printed.splitlines()
    complaints = [each for each in (_read(line, files) for line in lines) if each is not None]
    missing = next((match["file"] for match in map(_NOT_FOUND.fullmatch, lines) if match), None)
    if missing is not None:
        start = f'Import "{missing}" was not found'
        place = next((_place(each, files) for each in complaints if each.text.startswith(start)), Place(PATH))
        message = f'"{missing[:_LONGEST]}" is imported, but is not among the files; add it, by this name'
        return InvalidSchemaError("MISSING_FILE", message, place)
    if not complaints:
        last = (lines or ["it reports no reason"])[-1][:_LONGEST]
        return InvalidSchemaError("INVALID_PROTO", f"protoc refuses the files: {last}", Place(PATH))
    first, *others = complaints
    rule = "CIRCULAR_IMPORT" if first.text.startswith("File recursively imports itself") else "INVALID_PROTO"
    more = " (and many more)" if is_cut else f" (and {len(others)} more)" if others else ""
    return InvalidSchemaError(rule, f"{first.file}: {first.text[:_LONGEST]}{more}", _place(first, files))


def unknown_message(name: str | None, some: Sequence[str], count: int) -> InvalidSchemaError:
    """Return UNKNOWN_MESSAGE, with some of the messages that exist."""
    if not count:
        return InvalidSchemaError("UNKNOWN_MESSAGE", "no file defines a message, and a schema needs one", Place(PATH))
    problem = f"no file has a message {name[:_LONGEST]!r}" if name else "no root message is named"
    existing = ", ".join(some) + (f" and {count - len(some)} more" if count > len(some) else "")
    choice = f"name one of {existing}" if count > 1 else f"there is {existing}"
    return InvalidSchemaError("UNKNOWN_MESSAGE", f"{problem}; {choice}", Place("$.message"))


def too_large(size: int) -> InvalidSchemaError:
    """Return SOURCES_TOO_LARGE for an envelope of `size` bytes."""
    message = f"the envelope has {size:,} bytes, more than {MAX_ENVELOPE:,}; give fewer files or messages"
    return InvalidSchemaError("SOURCES_TOO_LARGE", message, Place(PATH))


def too_costly(why: str) -> InvalidSchemaError:
    """Return COMPILATION_TOO_EXPENSIVE."""
    return InvalidSchemaError("COMPILATION_TOO_EXPENSIVE", f"compiling {why}; give smaller or fewer files", Place(PATH))


def _read(line: str, files: Mapping[str, str]) -> _Complaint | None:
    match = _LINE.fullmatch(line)
    if match is None or match["text"].startswith("warning: "):
        return None
    file = dict(enumerate(files, FIRST_SOURCE)).get(int(match["number"]))
    if file is None:
        return None
    line_number, column = (int(match["line"]), int(match["column"])) if match["line"] else (None, None)
    return _Complaint(file, line_number, column, match["text"])


def _place(complaint: _Complaint, files: Mapping[str, str]) -> Place:
    path = path_of(complaint.file)
    if complaint.line is None or complaint.column is None:
        return Place(path)
    lines = files[complaint.file].split("\n")
    text = lines[complaint.line - 1] if complaint.line <= len(lines) else ""
    return Place(path, complaint.line, _column(text, complaint.column))


def _column(line: str, column: int) -> int:
    """Return the character's number from 1. protoc counts bytes, and a tab advances to the next multiple of eight."""
    reached = 0
    for index, char in enumerate(line):
        if reached >= column - 1:
            return index + 1
        reached += _TAB - reached % _TAB if char == "\t" else len(char.encode())
    return len(line) + 1
