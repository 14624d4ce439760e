"""Protobuf's wire format without a schema: tags, varints, lengths, and skipped fields.

Source: CodedInputStream of protobuf's Java library (3.25.5), which cuts a tag and a length to 32 bits.
"""

import re
from typing import Final

from topicschema.payload import varints
from topicschema.payload.finding import Unreadable, counted, unreadable
from topicschema.payload.path import Path, shown
from topicschema.payload.protobuf_native import kinds

MAX_DEPTH: Final = 100
"""Maximum depth of messages and groups below the root, in Java as in every other protobuf library."""

_LONGEST: Final = 10
NOTHING: Final = range(0)
_VARINT: Final = re.compile(rb"[\x80-\xff]{0,9}[\x00-\x7f]")
_U32: Final = 0xFFFF_FFFF
_MAX_LENGTH: Final = 0x7FFF_FFFF


class ProtobufWire:
    """A payload, the position in it, and the end of the part that is being read."""

    __slots__ = ("at", "depth", "end", "packed", "payload")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.at = 0
        self.end = len(payload)
        self.depth = 0
        self.packed: list[int] | range = NOTHING
        """Values so far of the packed list that is being read."""

    def path(self) -> Path | None:
        """Return the current path in the schema."""
        raise NotImplementedError

    def varint(self, what: str) -> int:
        """Return the 64 bits of a varint. Excess bits are cut off."""
        start = self.at
        if start < self.end and (byte := self.payload[start]) < 0x80:  # noqa: PLR2004  # the bit that means "more"
            self.at = start + 1
            return byte
        match = _VARINT.match(self.payload, start, self.end)
        if match is None:
            raise self._endless(what)
        self.at = match.end()
        return _bits(match.group())

    def tag(self) -> tuple[int, int]:
        """Return a field's number and its wire type."""
        start = self.at
        tag = self.varint("a field's tag") & _U32
        if tag < 1 << 3:
            raise self.stop("INVALID_FIELD_NUMBER", "a field cannot have the number 0", start)
        return tag >> 3, tag & 7

    def length(self, what: str) -> int:
        """Return a length that the remaining bytes can hold."""
        start = self.at
        length = self.varint(f"the length of {what}") & _U32
        if length > _MAX_LENGTH:
            raise self.stop("NEGATIVE_LENGTH", f"the length of {what} is {length - (1 << 32)}", start)
        if length > self.end - self.at:
            raise self.stop("TRUNCATED", f"{what} takes {counted(length)}, {self.end - self.at} left", start)
        return length

    def take(self, size: int, what: str) -> bytes:
        """Return the next bytes."""
        start = self.at
        if size > self.end - start:
            raise self.stop("TRUNCATED", f"{what} takes {counted(size)}, {self.end - start} left", start)
        self.at = start + size
        return self.payload[start : self.at]

    def varints(self, end: int) -> list[int]:
        """Return all varints from here to `end`, which lies before the end of the current part."""
        chunk = self.payload[self.at : end]
        pieces: list[bytes] = _VARINT.findall(chunk)
        if sum(map(len, pieces)) == len(chunk):
            self.at = end
            return list(chunk) if len(pieces) == len(chunk) else [_bits(each) for each in pieces]
        outer, self.end = self.end, end
        values: list[int] = []
        self.packed = values
        while self.at < end:
            values.append(self.varint("a packed value"))
        self.end, self.packed = outer, NOTHING
        return values

    def skip(self, number: int, wire: int, start: int) -> None:
        """Skip a field whose tag began at `start`. A group is skipped with its content."""
        groups: list[int] = []
        while True:
            if wire == kinds.GROUP:
                self.demand_depth(start, len(groups))
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

    def demand_depth(self, start: int, more: int = 0) -> None:
        """Raise Unreadable TOO_DEEP if no further message or group may begin."""
        if self.depth + more >= MAX_DEPTH:
            raise self.stop("TOO_DEEP", f"messages are nested more than {MAX_DEPTH} levels deep", start)

    def unmatched(self, start: int) -> Unreadable:
        """Return the refusal of a group's end without a begin."""
        return self.stop("UNMATCHED_GROUP", "a group ends that did not begin here", start)

    def stop(self, rule: str, message: str, offset: int) -> Unreadable:
        """Return the error that ends the reading at a byte."""
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
    """Return the lowest 64 bits."""
    return varints.decode(content) & 0xFFFF_FFFF_FFFF_FFFF
