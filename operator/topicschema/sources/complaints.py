"""What protoc prints, as errors with a rule and a place. It prints `file:line:column: text`, or `file: text`."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.sources.sources import PATH, path_of

_LINE: Final = re.compile(r"(?P<file>[^:\s]+\.proto):(?:(?P<line>\d+):(?P<column>\d+):)? (?P<text>.*)")
_IMPORT: Final = re.compile(r'Import "(?P<file>[^"]*)" was not found or had errors\.')
_LONGEST: Final = 300
_SHOWN: Final = 5
_TAB: Final = 8


@dataclass(frozen=True, slots=True)
class _Complaint:
    file: str
    line: int | None
    column: int | None
    text: str


def error(printed: str, files: Mapping[str, str]) -> InvalidSchemaError:
    """The first of protoc's complaints, a missing import before all that comes of it."""
    found = [each for each in map(_read, printed.splitlines()) if each is not None]
    if not found:
        last = (printed.strip().splitlines() or [""])[-1][:_LONGEST]
        return InvalidSchemaError(
            "INVALID_PROTO", f"protoc refuses the files: {last or 'it does not say why'}", Place(PATH)
        )
    importing = next((each for each in found if _missing(each, files)), None)
    if importing is not None:
        missing = _missing(importing, files)
        message = f'{importing.file} imports "{missing}", which is not among the files; add it, by this name'
        return InvalidSchemaError("MISSING_FILE", message, _place(importing, files))
    first = found[0]
    if first.text.startswith("File recursively imports itself"):
        return InvalidSchemaError("CIRCULAR_IMPORT", f"{first.file}: {first.text[:_LONGEST]}", _place(first, files))
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return InvalidSchemaError("INVALID_PROTO", f"{first.file}: {first.text[:_LONGEST]}{more}", _place(first, files))


def unknown_message(wanted: str | None, messages: Sequence[str]) -> InvalidSchemaError:
    """UNKNOWN_MESSAGE, with the messages that there are, the most alike first."""
    alike = difflib.get_close_matches(wanted or "", messages, _SHOWN, 0.6)
    shown = alike + [each for each in messages if each not in alike][: _SHOWN - len(alike)]
    there = ", ".join(shown) + (f" and {len(messages) - len(shown)} more" if len(messages) > len(shown) else "")
    asked = "no root message is named" if not wanted else f"no file has a message {wanted[:_LONGEST]!r}"
    message = f"{asked}; there {'is' if len(messages) == 1 else 'are'}: {there or 'no messages at all'}"
    return InvalidSchemaError("UNKNOWN_MESSAGE", message, Place("$.message"))


def _read(line: str) -> _Complaint | None:
    match = _LINE.match(line)
    if match is None or match["text"].startswith("warning: "):
        return None
    line_number = int(match["line"]) if match["line"] else None
    return _Complaint(match["file"], line_number, int(match["column"]) if match["column"] else None, match["text"])


def _missing(complaint: _Complaint, files: Mapping[str, str]) -> str | None:
    """What the complaint's file imports and nobody gave."""
    match = _IMPORT.match(complaint.text)
    return match["file"] if match is not None and match["file"] not in files else None


def _place(complaint: _Complaint, files: Mapping[str, str]) -> Place:
    if complaint.file not in files:
        return Place(PATH)
    path = path_of(complaint.file)
    if complaint.line is None or complaint.column is None:
        return Place(path)
    lines = files[complaint.file].split("\n")
    text = lines[complaint.line - 1] if complaint.line <= len(lines) else ""
    return Place(path, complaint.line, _column(text, complaint.column))


def _column(line: str, wanted: int) -> int:
    """The character's number, from 1, where protoc counts bytes and goes on to the next multiple of eight at a tab."""
    reached = 0
    for index, char in enumerate(line):
        if reached >= wanted - 1:
            return index + 1
        reached += _TAB - reached % _TAB if char == "\t" else len(char.encode())
    return len(line) + 1
