"""The files that a command line names."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

STANDARD_INPUT = "-"


class UsageError(Exception):
    """What was asked for cannot be read, or makes no sense; the text is for the person who asked."""


def read(name: str) -> bytes:
    """The bytes of the file, of standard input for `-`; UsageError when they cannot be read."""
    if not name:
        raise UsageError("a file has an empty name: is a variable unset?")
    try:
        return standard_input().read() if name == STANDARD_INPUT else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}") from None
    except ValueError:
        raise UsageError(f"{name!r} is not a file name") from None


def standard_input() -> BinaryIO:
    """The stream; UsageError where there is none."""
    # What type checkers are not told: it is None where whoever starts the program closed it.
    stream: TextIO | None = sys.stdin
    if stream is None:
        raise UsageError("standard input is closed")
    return stream.buffer


def read_all(names: Sequence[str]) -> list[bytes]:
    """The bytes of each; UsageError when one cannot be read, or standard input is named twice."""
    if names.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be one of the files only")
    return [read(name) for name in names]


def shown(name: str) -> str:
    """What messages call the file."""
    return "standard input" if name == STANDARD_INPUT else name
