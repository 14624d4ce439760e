"""Findings: the faults of a payload, with their place."""

from dataclasses import dataclass, replace
from typing import Final

from topicschema.core.errors import InvalidPayloadError

MAX_FINDINGS: Final = 20
"""Maximum number of findings of one payload, not counting a last one that is fatal."""


@dataclass(frozen=True, slots=True)
class PayloadFinding:
    """One fault of a payload.

    `path` leads through the schema's fields from `$`, `offset` counts the payload's bytes from 0. `is_tolerated` means
    that a Java consumer reads on, with the value that `decode` returns.
    """

    rule: str
    message: str
    path: str
    offset: int
    is_tolerated: bool = False

    def within(self, path: str, start: int) -> "PayloadFinding":
        """Return the finding of a part as one of the whole. The part at `path` begins at byte `start`."""
        return replace(self, path=f"{path}{self.path[1:]}", offset=self.offset + start)

    @property
    def error(self) -> InvalidPayloadError:
        """The finding as an exception."""
        return InvalidPayloadError(self.rule, self.message, self.path, self.offset)


class Unreadable(Exception):  # noqa: N818  # only inside this package: it holds a finding, and ends the reading
    """A payload that cannot be read any further."""

    def __init__(self, finding: PayloadFinding) -> None:
        super().__init__(finding.rule)
        self.finding = finding


def unreadable(rule: str, message: str, offset: int, path: str = "$") -> Unreadable:
    """Return the error that ends the reading of a payload at a byte."""
    return Unreadable(PayloadFinding(rule, message, path, offset))


def tolerated(rule: str, message: str, offset: int, path: str = "$") -> PayloadFinding:
    """Return a finding on which a Java consumer reads on."""
    return PayloadFinding(rule, message, path, offset, is_tolerated=True)


def exactly(payload: bytes, size: int, what: str) -> None:
    """Raise Unreadable TRUNCATED or TRAILING_BYTES unless the payload has that many bytes."""
    at_least(payload, size, what)
    if len(payload) > size:
        raise unreadable("TRAILING_BYTES", trailing(payload, size, what), size)


def at_least(payload: bytes, size: int, what: str) -> None:
    """Raise Unreadable TRUNCATED if the payload has fewer bytes."""
    if len(payload) < size:
        message = f"{what} takes {counted(size)}, the payload has {len(payload):,}"
        raise unreadable("TRUNCATED", message, len(payload))


def trailing(payload: bytes, size: int, what: str) -> str:
    """Return the message of TRAILING_BYTES."""
    return f"{what} ends after {counted(size)}, the payload has {len(payload):,}"


def counted(size: int) -> str:
    """Return a number of bytes as text: `1 byte`, `2 bytes`."""
    return "1 byte" if size == 1 else f"{size:,} bytes"
