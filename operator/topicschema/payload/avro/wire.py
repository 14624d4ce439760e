"""Avro's wire format: the position in a payload, and its numbers, texts and lengths.

Faults that a Java reader tolerates are findings as well: booleans other than 0 and 1, text that is not UTF-8, blocks of
a wrong length. See `reading` for schemas.
"""

import itertools
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from topicschema.payload import numbers, text, varints
from topicschema.payload.finding import MAX_FINDINGS, PayloadFinding, Unreadable, counted, tolerated, unreadable
from topicschema.payload.path import Path, shown

MAX_VALUES: Final = 1_000_000
"""Maximum number of values of a payload, without integers in arrays. It is a limit of this reader."""
_EMPTY_VALUES: Final = 20_000  # values without bytes, in any payload; and one more for each byte that it has
_MORE: Final = 0x80
_VARINT: Final = re.compile(rb"[\x80-\xff]*[\x00-\x7f]")
_INTEGERS: Final[Mapping[str, tuple[int, range]]] = MappingProxyType(
    {"int": (5, numbers.INT), "long": (10, numbers.LONG)}
)
_SHORT: Final = tuple(bits >> 1 ^ -(bits & 1) for bits in range(_MORE))
"""Integers of one byte, by that byte."""


class AvroWire:
    """A payload and the position in it."""

    __slots__ = ("_cuts", "_empty", "_findings", "_left", "at", "is_skipping", "payload")

    def __init__(self, payload: bytes, findings: list[PayloadFinding], *, cuts: bool = False) -> None:
        self.at = 0
        self.payload = payload
        self.is_skipping = False
        """True within a value that the reader drops."""
        self._cuts = cuts
        self._findings = findings
        self._left = MAX_VALUES
        self._empty = _EMPTY_VALUES + len(payload)

    def read_null(self, path: Path | None) -> None:
        """Read null, which takes no bytes."""

    def read_boolean(self, path: Path | None) -> bool:
        """Read a boolean. Java reads any byte but 1 as false."""
        start = self.at
        byte = self.take(1, "a boolean", path)[0]
        if byte > 1:
            self.note("INVALID_BOOLEAN", "a boolean is the byte 0 or 1; Java reads any other as false", start, path)
        return byte == 1

    def read_int(self, path: Path | None) -> int:
        """Read an int."""
        return self.long("an int", path, numbers.INT)

    def read_long(self, path: Path | None) -> int:
        """Read a long."""
        return self.long("a long", path)

    def read_float(self, path: Path | None) -> float:
        """Read a float."""
        return numbers.float_of(int.from_bytes(self.take(4, "a float", path), "little"))

    def read_double(self, path: Path | None) -> float:
        """Read a double."""
        return numbers.double_of(int.from_bytes(self.take(8, "a double", path), "little"))

    def read_bytes(self, path: Path | None) -> bytes:
        """Read bytes after their length."""
        start = self.at
        length = self.long("a length", path)
        if length < 0:
            raise self.stop("NEGATIVE_LENGTH", f"the length is {length}", start, path)
        return self.take(length, "the content", path)

    def read_string(self, path: Path | None) -> str:
        """Read text. Malformed bytes become U+FFFD."""
        content = self.read_bytes(path)
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            where = self.at - len(content) + error.start
            self.note("INVALID_UTF8", "these bytes are not UTF-8; Java reads U+FFFD in their place", where, path)
            return text.decode(content)[0]

    def long(self, what: str, path: Path | None, allowed: range = numbers.LONG) -> int:
        """Read a zigzag variable-length integer. Java cuts off excess bits; here they are refused."""
        start = at = self.at
        if start < len(self.payload) and self.payload[start] < _MORE:
            self.at += 1
            return _SHORT[self.payload[start]]
        bits = shift = 0
        longest = 5 if allowed is numbers.INT else 10
        for byte in self.payload[start : start + longest]:
            at += 1
            bits |= (byte & 0x7F) << shift
            if byte < _MORE:
                break
            shift += 7
        else:
            raise self._endless(what, longest, path)
        if self._cuts:
            bits &= 2 * allowed.stop - 1
        value = bits >> 1 ^ -(bits & 1)
        if value not in allowed:
            raise self.stop("OUT_OF_RANGE", f"{what} has more than {allowed.stop.bit_length()} bits", start, path)
        self.at = at
        return value

    def integers(self, kind: str, count: int) -> list[int]:
        """Read the next integers of an array, as many as are valid. Return none if `kind` is another."""
        if kind not in _INTEGERS:
            return []
        short = self.payload[self.at : self.at + count]
        if short.isascii():
            self.at += len(short)
            return [_SHORT[byte] for byte in short]
        longest, allowed = _INTEGERS[kind]
        pieces: list[bytes] = _VARINT.findall(self.payload[self.at : self.at + count * longest])[:count]
        if max(map(len, pieces), default=0) > longest:
            pieces = list(itertools.takewhile(lambda piece: len(piece) <= longest, pieces))
        mask = 2 * allowed.stop - 1 if self._cuts else -1
        values = [bits >> 1 ^ -(bits & 1) for bits in [varints.decode(piece) & mask for piece in pieces]]
        if values and not (min(values) in allowed and max(values) in allowed):
            values = list(itertools.takewhile(allowed.__contains__, values))
        self.at += sum(map(len, pieces[: len(values)]))
        return values

    def take(self, size: int, what: str, path: Path | None) -> bytes:
        """Return the next bytes."""
        start, end = self.at, self.at + size
        if end > len(self.payload):
            message = f"{what} takes {counted(size)}, {len(self.payload) - start} left"
            raise self.stop("TRUNCATED", message, start, path)
        self.at = end
        return self.payload[start:end]

    def note(self, rule: str, message: str, offset: int, path: Path | None) -> None:
        """Add a finding on which Java reads on."""
        if len(self._findings) < MAX_FINDINGS:
            self._findings.append(tolerated(rule, message, offset, shown(path)))

    def spend(self, values: int, path: Path | None) -> None:
        """Count values. A payload with very many is stopped before they fill the memory."""
        self._left -= values
        if self._left < 0:
            message = f"the payload has more than {MAX_VALUES:,} values, more than are read at once"
            raise self.stop("TOO_MANY_VALUES", message, self.at, path)

    def spend_empty(self, path: Path | None) -> None:
        """Count a value that takes no bytes, because a few bytes may claim any number of them."""
        self._empty -= 1
        if self._empty < 0:
            message = "more values are claimed than the payload has bytes for; this one would fill all memory"
            raise self.stop("TOO_MANY_VALUES", message, self.at, path)

    def _endless(self, what: str, longest: int, path: Path | None) -> Unreadable:
        if self.at + longest > len(self.payload):
            return self.stop("TRUNCATED", f"the payload ends inside {what}", self.at, path)
        return self.stop("VARINT_TOO_LONG", f"{what} takes {longest} bytes at most, these go on", self.at, path)

    def stop(self, rule: str, message: str, offset: int, path: Path | None) -> Unreadable:
        """Return the error that ends the reading at a byte."""
        return unreadable(rule, message, offset, shown(path))


class Block:
    """Head of a block of items: their number, 0 after the last block, and their size if it is stated."""

    __slots__ = ("_body", "_end", "_start", "count")

    def __init__(self, wire: AvroWire, path: Path | None) -> None:
        self._start = wire.at
        count = wire.long("a block's count", path)
        self.count = abs(count)
        self._end: int | None = None
        if count < 0:
            size = wire.long("a block's size", path)
            self._end = wire.at + size
        self._body = wire.at

    def end(self, wire: AvroWire, path: Path | None) -> None:
        """Add a finding for a wrong size.

        Java does not check the size of a block that it reads. It skips a block to the end that the size states.
        """
        if self._end is None or self._end == wire.at:
            return
        message = f"by its size the block ends at byte {self._end}, but it ends at byte {wire.at}"
        if wire.is_skipping and not self._body <= self._end <= len(wire.payload):
            raise wire.stop("BLOCK_SIZE", f"{message}; Java skips the block by its size", self._start, path)
        wire.note("BLOCK_SIZE", message, self._start, path)
        if wire.is_skipping:
            wire.at = self._end


PRIMITIVES: Final[Mapping[str, Callable[[AvroWire, Path | None], Any]]] = MappingProxyType(
    {
        "null": AvroWire.read_null,
        "boolean": AvroWire.read_boolean,
        "int": AvroWire.read_int,
        "long": AvroWire.read_long,
        "float": AvroWire.read_float,
        "double": AvroWire.read_double,
        "bytes": AvroWire.read_bytes,
        "string": AvroWire.read_string,
    }
)
"""Readers of the primitive kinds."""
