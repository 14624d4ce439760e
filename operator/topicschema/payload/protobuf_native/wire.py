"""Protobuf's wire format without a schema: tags, varints, lengths, and what is skipped.

Source: CodedInputStream of protobuf's Java library (3.25.5), which cuts a tag and a length to 32 bits.
"""

import re
from typing import Final

from topicschema.payload import varints
from topicschema.payload.finding import Unreadable, counted, unreadable
from topicschema.payload.path import Path, shown
from topicschema.payload.protobuf_native import kinds

MAX_DEPTH: Final = 100
"""How deep messages and groups nest below the root, in Java as in every other protobuf library."""

_LONGEST: Final = 10
NOTHING: Final = range(0)
_VARINT: Final = re.compile(rb"[\x80-\xff]{0,9}[\x00-\x7f]")
_U32: Final = 0xFFFF_FFFF
_MAX_LENGTH: Final = 0x7FFF_FFFF


class Wire:
    """A payload, how far it has been read, and where what is being read ends."""

    __slots__ = ("at", "depth", "end", "packed", "payload")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.at = 0
        self.end = len(payload)
        self.depth = 0
        self.packed: list[int] | range = NOTHING
        """What was read so far of the packed list that is being read."""

    def path(self) -> Path | None:
        """Where in the schema the reading is."""
        raise NotImplementedError

    def varint(self, what: str) -> int:
        """The 64 bits of a varint; bits that are too many are cut off."""
        start = self.at
        if start < self.end and (byte := self.payload[start]) < 0x80:  # noqa: PLR2004  # the bit that says "more"
            self.at = start + 1
            return byte
        found = _VARINT.match(self.payload, start, self.end)
        if found is None:
            raise self._endless(what)
        self.at = found.end()
        return _bits(found.group())

    def tag(self) -> tuple[int, int]:
        """A field's number and its wire type."""
        start = self.at
        tag = self.varint("a field's tag") & _U32
        if tag < 1 << 3:
            raise self.stop("INVALID_FIELD_NUMBER", "a field cannot have the number 0", start)
        return tag >> 3, tag & 7

    def length(self, what: str) -> int:
        """A length, of bytes that are there."""
        start = self.at
        length = self.varint(f"the length of {what}") & _U32
        if length > _MAX_LENGTH:
            raise self.stop("NEGATIVE_LENGTH", f"the length of {what} is {length - (1 << 32)}", start)
        if length > self.end - self.at:
            raise self.stop("TRUNCATED", f"{what} takes {counted(length)}, {self.end - self.at} left", start)
        return length

    def take(self, size: int, what: str) -> bytes:
        """The next bytes."""
        start = self.at
        if size > self.end - start:
            raise self.stop("TRUNCATED", f"{what} takes {counted(size)}, {self.end - start} left", start)
        self.at = start + size
        return self.payload[start : self.at]

    def varints(self, end: int) -> list[int]:
        """All varints from here to `end`, which lies before the end of what is being read."""
        chunk = self.payload[self.at : end]
        pieces: list[bytes] = _VARINT.findall(chunk)
        if sum(map(len, pieces)) == len(chunk):
            self.at = end
            return list(chunk) if len(pieces) == len(chunk) else [_bits(each) for each in pieces]
        outer, self.end = self.end, end
        found: list[int] = []
        self.packed = found
        while self.at < end:
            found.append(self.varint("a packed value"))
        self.end, self.packed = outer, NOTHING
        return found

    def skip(self, number: int, wire: int, start: int) -> None:
        """Passes over a field whose tag began at `start`; a group with all that is in it."""
        groups: list[int] = []
        while True:
            if wire == kinds.GROUP:
                self.demand_room(start, len(groups))
                groups.append(number)
            elif wire == kinds.END_GROUP:
                if not groups or groups.pop() != number:
                    raise self.unmatched(start)
            else:
                self._skip_single(wire, start)
            if not groups:
                return
            start = self.at
            if start == self.end:
                raise self.stop("TRUNCATED", "the group has no end", start)
            number, wire = self.tag()

    def demand_room(self, start: int, more: int = 0) -> None:
        """Unreadable TOO_DEEP where no message or group may begin any more."""
        if self.depth + more >= MAX_DEPTH:
            raise self.stop("TOO_DEEP", f"messages are nested more than {MAX_DEPTH} levels deep", start)

    def unmatched(self, start: int) -> Unreadable:
        """The refusal of a group's end that belongs to no group."""
        return self.stop("UNMATCHED_GROUP", "a group ends that did not begin here", start)

    def stop(self, rule: str, message: str, offset: int) -> Unreadable:
        """What ends the reading at a byte."""
        return unreadable(rule, message, offset, shown(self.path()))

    def _skip_single(self, wire: int, start: int) -> None:
        if wire == kinds.VARINT:
            self.varint("a value")
        elif wire == kinds.LENGTH:
            length = self.length("a value")
            self.at += length
        elif wire in (kinds.FIXED_32, kinds.FIXED_64):
            self.take(4 if wire == kinds.FIXED_32 else 8, "a value")
        else:
            raise self.stop("INVALID_WIRE_TYPE", f"there is no wire type {wire}", start)

    def _endless(self, what: str) -> Unreadable:
        if self.end - self.at < _LONGEST:
            return self.stop("TRUNCATED", f"the bytes end inside {what}", self.at)
        return self.stop("VARINT_TOO_LONG", f"{what} takes {_LONGEST} bytes at most, these go on", self.at)


def _bits(content: bytes) -> int:
    """The lowest 64 of the bits."""
    return varints.decode(content) & 0xFFFF_FFFF_FFFF_FFFF
