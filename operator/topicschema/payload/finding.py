"""What is wrong with a payload, and where. Who finds it is told elsewhere."""

from dataclasses import dataclass, replace
from typing import Final

from topicschema.core.errors import InvalidPayloadError

MAX_FINDINGS: Final = 20
"""How many findings of one payload are told; it has at most one more, the last that is fatal."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a payload.

    `path` leads through the schema's fields from `$`, `offset` counts the payload's bytes from 0. `is_tolerated` says
    that a Java consumer reads on all the same, and what it reads is what `decode` returns.
    """

    rule: str
    message: str
    path: str
    offset: int
    is_tolerated: bool = False

    def within(self, path: str, start: int) -> "Finding":
        """The finding in a part as one of the whole, whose part at `path` begins at byte `start`."""
        return replace(self, path=f"{path}{self.path[1:]}", offset=self.offset + start)

    @property
    def error(self) -> InvalidPayloadError:
        """The finding as what is raised."""
        return InvalidPayloadError(self.rule, self.message, self.path, self.offset)


class Unreadable(Exception):  # noqa: N818  # inside this room only: it carries a finding, and ends the reading
    """The payload cannot be read any further."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.rule)
        self.finding = finding


def unreadable(rule: str, message: str, offset: int, path: str = "$") -> Unreadable:
    """What ends the reading of a payload at a byte."""
    return Unreadable(Finding(rule, message, path, offset))


def tolerated(rule: str, message: str, offset: int, path: str = "$") -> Finding:
    """What is wrong, though a Java consumer reads on."""
    return Finding(rule, message, path, offset, is_tolerated=True)


def exactly(payload: bytes, size: int, what: str) -> None:
    """Unreadable TRUNCATED or TRAILING_BYTES unless the payload has that many bytes."""
    at_least(payload, size, what)
    if len(payload) > size:
        raise unreadable("TRAILING_BYTES", trailing(payload, size, what), size)


def at_least(payload: bytes, size: int, what: str) -> None:
    """Unreadable TRUNCATED where the payload has fewer bytes."""
    if len(payload) < size:
        message = f"{what} takes {counted(size)}, the payload has {len(payload):,}"
        raise unreadable("TRUNCATED", message, len(payload))


def trailing(payload: bytes, size: int, what: str) -> str:
    """The message of TRAILING_BYTES."""
    return f"{what} ends after {counted(size)}, the payload has {len(payload):,}"


def counted(size: int) -> str:
    """`1 byte`, `2 bytes`."""
    return "1 byte" if size == 1 else f"{size:,} bytes"
