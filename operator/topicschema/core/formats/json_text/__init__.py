"""JSON text as the broker's reader accepts it, with the place of every error and of every value.

`jackson_syntax` describes the accepted texts. The meaning of the values is not known here.
"""

from collections.abc import Iterable
from typing import Any

from topicschema.core.formats.json_text.jackson_syntax import (
    DECODER,
    MAX_DEPTH,
    is_within_bounds,
    without_comments,
)
from topicschema.core.formats.json_text.paths import member, place_of, steps_of
from topicschema.core.formats.json_text.reader import TextReader

__all__ = [
    "MAX_DEPTH",
    "is_within_bounds",
    "locate",
    "locate_all",
    "member",
    "place_of",
    "read",
    "without_comments",
]


def read(text: str) -> Any:
    """Return the value of `text`. Raises InvalidSchemaError SYNTAX, TOO_DEEP or TRAILING_TEXT with line and column."""
    try:
        value = DECODER.decode(text)
        if len(text) <= MAX_DEPTH or is_within_bounds(text, value):  # a short text has no long name, either
            return value
    except (ValueError, RecursionError):
        pass  # the slow reader knows comments and many levels, and the place of an error
    return TextReader(text, without_comments(text)).read()


def locate(text: str, path: str) -> tuple[int, int]:
    """Return line and column, from 1, of the value at a JSON path such as `$.fields[2].type`, or of its nearest parent.

    `read` must accept `text`.
    """
    return locate_all(text, [path])[path]


def locate_all(text: str, paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the result of `locate` for each path, from one reading of the text."""
    steps = {path: steps_of(path) for path in paths}
    reader = TextReader(text, without_comments(text), steps.values())
    reader.read()
    return {path: reader.line_and_column(reader.offset_of(names)) for path, names in steps.items()}
