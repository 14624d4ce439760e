"""JSON text as the broker's reader accepts it, with the place of every error and of every value.

`jackson_syntax` describes the accepted texts. The meaning of the values is not known here.
"""

from collections.abc import Iterable
from typing import Any

from topicschema.core.formats.json_text.bounds import is_within_bounds
from topicschema.core.formats.json_text.jackson_syntax import DECODER, MAX_DEPTH, without_comments
from topicschema.core.formats.json_text.paths import member, place_of, steps_of
from topicschema.core.formats.json_text.reader import Reader

__all__ = [
    "MAX_DEPTH",
    "is_within_bounds",
    "locate",
    "locate_all",
    "member",
    "place_of",
    "read",
]


def read(text: str) -> Any:
    """Return the value of `text`. Raises InvalidSchemaError SYNTAX, TOO_DEEP or TRAILING_TEXT with line and column."""
    try:
        value = DECODER.decode(text)
    except (ValueError, RecursionError):
        return _read_with_care(text)
    if len(text) <= MAX_DEPTH or is_within_bounds(text, value):  # a short text has no long name, either
        return value
    return _read_with_care(text)


def locate(text: str, path: str) -> tuple[int, int]:
    """Return line and column, from 1, of the value at a JSON path such as `$.fields[2].type`, or of its nearest parent.

    `read` must accept `text`.
    """
    return locate_all(text, [path])[path]


def locate_all(text: str, paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the result of `locate` for each path, from one reading of the text."""
    steps = {path: steps_of(path) for path in paths}
    reader = Reader(text, without_comments(text), steps.values())
    reader.read()
    return {path: reader.line_and_column(reader.offset_of(names)) for path, names in steps.items()}


def _read_with_care(text: str) -> Any:
    """Return the value of a text with comments or many levels, or raise the error that the slow reader reports."""
    plain = without_comments(text)
    try:
        value, end = DECODER.raw_decode(plain, len(plain) - len(plain.lstrip(" \t\n\r")))
    except (ValueError, RecursionError):
        return Reader(text, plain).read()
    if is_within_bounds(plain[:end], value) and isinstance(value, dict | list):
        Reader(text, plain).end(end)
        return value
    return Reader(text, plain).read()
