"""Avro's binary encoding, read: a value, or the byte and the field where it cannot be read.

What a Java reader passes over is a finding all the same: booleans other than 0 and 1, text that is not UTF-8, blocks of
another length than they say, bytes after the end.
"""

import re
from collections.abc import Callable, Mapping
from types import GeneratorType, MappingProxyType
from typing import Any, Final

from topicschema.core.formats.avro.model import Array, Enum, Fixed, Map, Node, Primitive, Record, Union
from topicschema.core.formats.avro.stackless import Step, run
from topicschema.payload import numbers, text
from topicschema.payload.codec import HOLDERS
from topicschema.payload.finding import MAX_FINDINGS, Finding, Unreadable, counted, tolerated, trailing, unreadable
from topicschema.payload.path import Entry, Path, shown

MAX_DEPTH: Final = 10_000  # of records, arrays and maps; Java's default stack ends before 1,000
_EMPTY_VALUES: Final = 20_000  # that take no bytes, in any payload; and one more for each byte that it has
_MORE: Final = 0x80
_VARINT: Final = re.compile(rb"[\x80-\xff]*[\x00-\x7f]")
_INTEGERS: Final[Mapping[str, tuple[int, range]]] = MappingProxyType(
    {"int": (5, numbers.INT), "long": (10, numbers.LONG)}
)


def read(root: Node, payload: bytes, found: list[Finding], *, cuts: bool = False) -> Any:
    """The value; what Java tolerates is added to `found`, Unreadable for the rest.

    `cuts`: a number of too many bits loses them, as in Java, and is no reason to stop.
    """
    reading = Reading(payload, found, cuts=cuts)
    value = run(reading.whole(root))
    if reading.at < len(payload):
        found.append(tolerated("TRAILING_BYTES", trailing(payload, reading.at, "the message"), reading.at))
    return value


class Reading:
    """A payload, and how far it has been read."""

    __slots__ = ("_cuts", "_depth", "_found", "_left", "_payload", "at")

    def __init__(self, payload: bytes, found: list[Finding], *, cuts: bool = False) -> None:
        self.at = 0
        self._cuts = cuts
        self._depth = 0
        self._payload = payload
        self._found = found
        self._left = _EMPTY_VALUES + len(payload)

    def whole(self, root: Node) -> Step[Any]:
        """The value of the payload."""
        value = self.begin(root, None)
        return (yield value) if isinstance(value, GeneratorType) else value

    def begin(self, node: Node, path: Path | None) -> Any:
        """The value of `node` that begins here, or if it holds others, the step that reads them."""
        start = self.at
        while isinstance(node, Union):
            index = self.long("a union's index", path, numbers.INT)
            if not 0 <= index < len(node.branches):
                raise self.stop(
                    "UNION_INDEX",
                    f"index {index}, but the union has {len(node.branches)} branches, from index 0",
                    start,
                    path,
                )
            node = node.branches[index]
        if isinstance(node, HOLDERS):
            return self._inside(node, path)
        if isinstance(node, Primitive):
            value = _PRIMITIVES[node.kind](self, path)
        else:
            value = self._symbol(node, path) if isinstance(node, Enum) else self._fixed(node, path)
        if self.at == start:
            self.count(path)
        return value

    def _inside(self, node: Record | Array | Map, path: Path | None) -> Step[Any]:
        if isinstance(node, Record):
            return self.held(self._record(node, path), path)
        return self.held(self._array(node, path) if isinstance(node, Array) else self._map(node, path), path)

    def held(self, step: Step[Any], path: Path | None) -> Step[Any]:
        """What the step reads, one level deeper."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"the values are nested more than {MAX_DEPTH:,} levels deep"
            raise self.stop("TOO_DEEP", message, self.at, path)
        value = yield step
        self._depth -= 1
        return value

    def _record(self, node: Record, path: Path | None) -> Step[dict[str, Any]]:
        if not node.fields:
            self.count(path)
        record: dict[str, Any] = {}
        for field in node.fields:
            value = self.begin(field.type, Path(path, field.name))
            record[field.name] = (yield value) if isinstance(value, GeneratorType) else value
        return record

    def _array(self, node: Array, path: Path | None) -> Step[list[Any]]:
        values: list[Any] = []
        while count := (block := Block(self, path)).count:
            numbers_only = self._numbers(node.items, count)
            values += numbers_only
            for _ in range(count - len(numbers_only)):
                value = self.begin(node.items, Path(path, len(values)))
                values.append((yield value) if isinstance(value, GeneratorType) else value)
            block.end(self, path)
        return values

    def _numbers(self, items: Node, count: int) -> list[int]:
        """The next integers of an array at once, where that is what they are and all are well; else none of them."""
        kind = items.kind if isinstance(items, Primitive) else ""
        if self._cuts or kind not in _INTEGERS:
            return []
        longest, allowed = _INTEGERS[kind]
        pieces: list[bytes] = _VARINT.findall(self._payload[self.at : self.at + count * longest])[:count]
        if len(pieces) < count or max(map(len, pieces)) > longest:
            return []
        found = [bits >> 1 ^ -(bits & 1) for bits in map(_bits, pieces)]
        if min(found) not in allowed or max(found) not in allowed:
            return []
        self.at += sum(map(len, pieces))
        return found

    def _map(self, node: Map, path: Path | None) -> Step[dict[str, Any]]:
        values: dict[str, Any] = {}
        number = 0
        while count := (block := Block(self, path)).count:
            for _ in range(count):
                below = Path(path, Entry(number))
                key = self.read_string(below)
                value = self.begin(node.values, below)
                values[key] = (yield value) if isinstance(value, GeneratorType) else value
                number += 1
            block.end(self, path)
        return values

    def _symbol(self, node: Enum, path: Path | None) -> str:
        start = self.at
        index = self.long("an enum's index", path, numbers.INT)
        if not 0 <= index < len(node.symbols):
            raise self.stop(
                "ENUM_INDEX", f"index {index}, but the enum has {len(node.symbols)} symbols, from index 0", start, path
            )
        return node.symbols[index]

    def _fixed(self, node: Node, path: Path | None) -> bytes:
        assert isinstance(node, Fixed)  # noqa: S101  # the model has no other
        return self.take(node.size, "a fixed", path)

    def read_null(self, path: Path | None) -> None:
        """Null, which takes no bytes."""

    def read_boolean(self, path: Path | None) -> bool:
        """A boolean; Java reads any byte but 1 as false."""
        start = self.at
        byte = self.take(1, "a boolean", path)[0]
        if byte > 1:
            self.note("OUT_OF_RANGE", "a boolean is the byte 0 or 1; Java reads any other as false", start, path)
        return byte == 1

    def read_int(self, path: Path | None) -> int:
        """An int."""
        return self.long("an int", path, numbers.INT)

    def read_long(self, path: Path | None) -> int:
        """A long."""
        return self.long("a long", path)

    def read_float(self, path: Path | None) -> float:
        """A float."""
        return numbers.float_of(int.from_bytes(self.take(4, "a float", path), "little"))

    def read_double(self, path: Path | None) -> float:
        """A double."""
        return numbers.double_of(int.from_bytes(self.take(8, "a double", path), "little"))

    def read_bytes(self, path: Path | None) -> bytes:
        """Bytes, after their length."""
        start = self.at
        length = self.long("a length", path)
        if length < 0:
            raise self.stop("NEGATIVE_LENGTH", f"the length is {length}", start, path)
        return self.take(length, "the content", path)

    def read_string(self, path: Path | None) -> str:
        """Text; malformed bytes become U+FFFD."""
        content = self.read_bytes(path)
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            where = self.at - len(content) + error.start
            self.note("INVALID_UTF8", "these bytes are not UTF-8; Java reads U+FFFD in their place", where, path)
            return text.decode(content)[0]

    def long(self, what: str, path: Path | None, allowed: range = numbers.LONG) -> int:
        """A zigzag variable-length integer; Java cuts off the bits that are too many, here they are refused."""
        start = at = self.at
        bits = shift = 0
        longest = 5 if allowed is numbers.INT else 10
        for byte in self._payload[start : start + longest]:
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

    def take(self, size: int, what: str, path: Path | None) -> bytes:
        """The next bytes."""
        start, end = self.at, self.at + size
        if end > len(self._payload):
            message = f"{what} takes {counted(size)}, {len(self._payload) - start} left"
            raise self.stop("TRUNCATED", message, start, path)
        self.at = end
        return self._payload[start:end]

    def note(self, rule: str, message: str, offset: int, path: Path | None) -> None:
        """Adds what is wrong, though Java reads on."""
        if len(self._found) < MAX_FINDINGS:
            self._found.append(tolerated(rule, message, offset, shown(path)))

    def count(self, path: Path | None) -> None:
        """Counts a value that takes no bytes; a few bytes may claim any number of them."""
        self._left -= 1
        if self._left < 0:
            message = "more values are claimed than the payload has bytes for; this one would fill all memory"
            raise self.stop("TOO_MANY_VALUES", message, self.at, path)

    def _endless(self, what: str, longest: int, path: Path | None) -> Unreadable:
        if self.at + longest > len(self._payload):
            return self.stop("TRUNCATED", f"the payload ends inside {what}", self.at, path)
        return self.stop("VARINT_TOO_LONG", f"{what} takes {longest} bytes at most, these go on", self.at, path)

    def stop(self, rule: str, message: str, offset: int, path: Path | None) -> Unreadable:
        """What ends the reading at a byte."""
        return unreadable(rule, message, offset, shown(path))


class Block:
    """The head of a block of items: how many they are, 0 after the last block, and what they take if that is said."""

    __slots__ = ("_end", "_start", "count")

    def __init__(self, reading: Reading, path: Path | None) -> None:
        self._start = reading.at
        count = reading.long("a block's count", path)
        self.count = abs(count)
        self._end: int | None = None
        if count < 0:
            size = reading.long("a block's size", path)
            self._end = reading.at + size

    def end(self, reading: Reading, path: Path | None) -> None:
        """Notes a size that was not kept: who skips the block goes astray, who reads it does not notice."""
        if self._end is not None and self._end != reading.at:
            message = f"the block says that it ends at byte {self._end}, it ends at byte {reading.at}"
            reading.note("BLOCK_SIZE", message, self._start, path)


def _bits(content: bytes) -> int:
    """The bits of a variable-length integer, seven to a byte, the lowest first."""
    if len(content) == 1:
        return content[0]
    bits = 0
    for byte in reversed(content):
        bits = bits << 7 | byte & 0x7F
    return bits


_PRIMITIVES: Final[Mapping[str, Callable[[Reading, Path | None], Any]]] = MappingProxyType(
    {
        "null": Reading.read_null,
        "boolean": Reading.read_boolean,
        "int": Reading.read_int,
        "long": Reading.read_long,
        "float": Reading.read_float,
        "double": Reading.read_double,
        "bytes": Reading.read_bytes,
        "string": Reading.read_string,
    }
)
