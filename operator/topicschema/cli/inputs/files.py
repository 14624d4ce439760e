"""Files that a command line names."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, TextIO

STANDARD_INPUT = "-"
"""Standard input if a file is read, standard output if one is written."""


class UsageError(Exception):
    """Invalid input or options. The text is for the user of the command."""


def read(name: str) -> bytes:
    """Return the bytes of the file, or of standard input for `-`. Raises UsageError if it cannot be read."""
    if not name:
        raise UsageError("a file has an empty name: is a variable unset?")
    try:
        return standard_input().read() if name == STANDARD_INPUT else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}") from None
    except ValueError:
        raise UsageError(f"{name!r} is not a file name") from None


def standard_input() -> BinaryIO:
    """Return standard input. Raises UsageError if it is closed."""
    # Type checkers do not know that it is None if the calling process closed it.
    stream: TextIO | None = sys.stdin
    if stream is None:
        raise UsageError("standard input is closed")
    return stream.buffer


def read_all(names: Sequence[str], texts: Mapping[str, bytes] = MappingProxyType({})) -> list[bytes]:
    """Return the bytes of each file; `texts` has those that are read already.

    Raises UsageError if one cannot be read, or if standard input is named twice.
    """
    if names.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be one of the files only")
    return [texts[name] if name in texts else read(name) for name in names]


def demand_writable(name: str | None) -> None:
    """Raise UsageError unless `write` could create that file. None is no file."""
    if name not in (None, STANDARD_INPUT) and (Path(name).is_dir() or not Path(name).parent.is_dir()):
        raise UsageError(f"{name}: cannot write a file there")


def write(name: str, text: str) -> None:
    """Write the file, or to standard output for `-`. Raises UsageError if it cannot be written."""
    content = text.encode(errors="backslashreplace")
    if name == STANDARD_INPUT:
        print(content.decode(), end="")
        return
    try:
        Path(name).write_bytes(content)
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: {getattr(error, 'strerror', None) or error}") from None


def shown(name: str) -> str:
    """Return the file's name for messages."""
    return "standard input" if name == STANDARD_INPUT else name
