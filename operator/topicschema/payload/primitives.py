"""Payloads of Pulsar's primitive types, as its Java client (4.0.7) writes and reads them.

Times are plain numbers, because Java's ranges exceed Python's datetime. DATE, TIME and TIMESTAMP are milliseconds since
1970-01-01T00:00Z (TIME is java.sql.Time, no time of day), LOCAL_DATE is days since 1970-01-01, LOCAL_TIME nanoseconds
since midnight.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.payload import numbers, text
from topicschema.payload.codec import Codec, refused, wrong_type
from topicschema.payload.finding import PayloadFinding, at_least, exactly, tolerated, trailing, unreadable

NANOS: Final = 1_000_000_000
SECONDS: Final = range(-31_557_014_167_219_200, 31_556_889_864_403_200)  # java.time.Instant
DAYS: Final = range(-365_243_219_162, 365_241_780_472)  # java.time.LocalDate
NANOS_OF_DAY: Final = range(86_400 * NANOS)
_CHARSET: Final = "__charset"


class Instant(NamedTuple):
    """Point in time: seconds since 1970-01-01T00:00Z, and nanoseconds from 0 to 999,999,999 after it."""

    second: int
    nano: int


class LocalDateTime(NamedTuple):
    """Date and time of day: days since 1970-01-01, nanoseconds since midnight."""

    day: int
    nano: int


@dataclass(frozen=True, slots=True)
class Integer:
    """Codec of a two's complement number, big-endian."""

    what: str
    size: int
    allowed: range

    @property
    def is_limited(self) -> bool:
        """True if `size` bytes also have numbers that are not allowed."""
        return self.allowed.stop - self.allowed.start < 1 << 8 * self.size

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> int:
        """Return the number."""
        del findings
        exactly(payload, self.size, self.what)
        value = int.from_bytes(payload, "big", signed=True)
        if value not in self.allowed:
            raise unreadable("OUT_OF_RANGE", _bounds(self.what, self.allowed), 0)
        return value

    def write(self, value: Any) -> bytes:
        """Return the payload of the number."""
        return checked(value, self.what, self.allowed).to_bytes(self.size, "big", signed=True)


class _Float:
    """Codec of an IEEE 754 float. A NaN retains its bits."""

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> float:
        del findings
        exactly(payload, 4, "a FLOAT")
        return numbers.float_of(int.from_bytes(payload, "big"))

    def write(self, value: Any) -> bytes:
        return numbers.bits_of_float(real(value, "a FLOAT")).to_bytes(4, "big")


class _Double:
    """Codec of an IEEE 754 double. Any NaN is written as the canonical one."""

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> float:
        del findings
        exactly(payload, 8, "a DOUBLE")
        return numbers.double_of(int.from_bytes(payload, "big"))

    def write(self, value: Any) -> bytes:
        return numbers.canonical_bits_of_double(real(value, "a DOUBLE")).to_bytes(8, "big")


class _Boolean:
    """Codec of one byte. Java reads any but 0 as true."""

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> bool:
        exactly(payload, 1, "a BOOLEAN")
        if payload[0] > 1:
            findings.append(
                tolerated("INVALID_BOOLEAN", "a BOOLEAN is the byte 0 or 1; Java reads any other as true", 0)
            )
        return payload != b"\0"

    def write(self, value: Any) -> bytes:
        if not isinstance(value, bool):
            raise wrong_type("a BOOLEAN", value)
        return b"\1" if value else b"\0"


@dataclass(frozen=True, slots=True)
class _String:
    """Codec of text. `charset` is Python's name of it."""

    charset: str

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> str:
        value, malformed = text.decode(payload, self.charset)
        if malformed is not None:
            rule = "INVALID_UTF8" if self.charset == "utf-8" else "INVALID_TEXT"
            message = f"these bytes are not {self.charset.upper()}; Java reads U+FFFD in their place"
            findings.append(tolerated(rule, message, malformed))
        return value

    def write(self, value: Any) -> bytes:
        if not isinstance(value, str):
            raise wrong_type("a STRING", value)
        return text.encode(value, self.charset)


class _Bytes:
    """Codec that returns the payload itself."""

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> bytes:
        del findings
        return payload

    def write(self, value: Any) -> bytes:
        if not isinstance(value, bytes):
            raise wrong_type("BYTES", value)
        return value


class _Instant:
    """Codec of seconds in 8 bytes and nanoseconds in 4. Java carries excess nanoseconds over into the seconds."""

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> Instant:
        at_least(payload, 12, "an INSTANT")
        nano = int.from_bytes(payload[8:12], "big", signed=True)
        carried, rest = divmod(nano, NANOS)
        second = int.from_bytes(payload[:8], "big", signed=True) + carried
        if second not in SECONDS:
            raise unreadable("OUT_OF_RANGE", _bounds("an INSTANT's second", SECONDS), 0)
        if carried:
            findings.append(tolerated("OUT_OF_RANGE", _bounds("an INSTANT's nanosecond", range(NANOS)), 8))
        if len(payload) > 12:  # noqa: PLR2004  # its size
            findings.append(tolerated("TRAILING_BYTES", trailing(payload, 12, "an INSTANT"), 12))
        return Instant(second, rest)

    def write(self, value: Any) -> bytes:
        if not isinstance(value, Instant):
            raise wrong_type("an Instant", value)
        second = checked(value.second, "an INSTANT's second", SECONDS)
        nano = checked(value.nano, "an INSTANT's nanosecond", range(NANOS))
        return second.to_bytes(8, "big", signed=True) + nano.to_bytes(4, "big")


class _LocalDateTime:
    """Codec of a LOCAL_DATE and a LOCAL_TIME, in 8 bytes each."""

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> LocalDateTime:
        at_least(payload, 16, "a LOCAL_DATE_TIME")
        day = int.from_bytes(payload[:8], "big", signed=True)
        nano = int.from_bytes(payload[8:16], "big", signed=True)
        if day not in DAYS:
            raise unreadable("OUT_OF_RANGE", _bounds("the day", DAYS), 0)
        if nano not in NANOS_OF_DAY:
            raise unreadable("OUT_OF_RANGE", _bounds("the time of day", NANOS_OF_DAY), 8)
        if len(payload) > 16:  # noqa: PLR2004  # its size
            findings.append(tolerated("TRAILING_BYTES", trailing(payload, 16, "a LOCAL_DATE_TIME"), 16))
        return LocalDateTime(day, nano)

    def write(self, value: Any) -> bytes:
        if not isinstance(value, LocalDateTime):
            raise wrong_type("a LocalDateTime", value)
        day = checked(value.day, "the day", DAYS)
        nano = checked(value.nano, "the time of day", NANOS_OF_DAY)
        return day.to_bytes(8, "big", signed=True) + nano.to_bytes(8, "big")


def _signed(kind: SchemaType, size: int) -> Integer:
    return Integer(f"an {kind}" if kind.startswith("I") else f"a {kind}", size, numbers.signed(size * 8))


_CODECS: Final[Mapping[SchemaType, Codec]] = MappingProxyType(
    {
        SchemaType.NONE: _Bytes(),
        SchemaType.BYTES: _Bytes(),
        SchemaType.BOOLEAN: _Boolean(),
        SchemaType.INT8: _signed(SchemaType.INT8, 1),
        SchemaType.INT16: _signed(SchemaType.INT16, 2),
        SchemaType.INT32: _signed(SchemaType.INT32, 4),
        SchemaType.INT64: _signed(SchemaType.INT64, 8),
        SchemaType.FLOAT: _Float(),
        SchemaType.DOUBLE: _Double(),
        SchemaType.DATE: _signed(SchemaType.DATE, 8),
        SchemaType.TIME: _signed(SchemaType.TIME, 8),
        SchemaType.TIMESTAMP: _signed(SchemaType.TIMESTAMP, 8),
        SchemaType.INSTANT: _Instant(),
        SchemaType.LOCAL_DATE: Integer("a LOCAL_DATE", 8, DAYS),
        SchemaType.LOCAL_TIME: Integer("a LOCAL_TIME", 8, NANOS_OF_DAY),
        SchemaType.LOCAL_DATE_TIME: _LocalDateTime(),
    }
)

TYPES: Final = frozenset({*_CODECS, SchemaType.STRING})
"""Types that `codec` supports."""


def codec(info: SchemaInfo) -> Codec:
    """Return the codec of a primitive type.

    Raises InvalidSchemaError UNKNOWN_CHARSET for a STRING in an unsupported charset.
    """
    return _String(charset_of(info)) if info.type is SchemaType.STRING else _CODECS[info.type]


def charset_of(info: SchemaInfo) -> str:
    """Return Python's name of a STRING's charset. Raises InvalidSchemaError UNKNOWN_CHARSET if it is unsupported."""
    charset = text.CHARSETS.get(info.properties.get(_CHARSET, "utf-8").lower())
    if charset is None:
        message = f"the property {_CHARSET} names no charset that every Java has: {', '.join(text.CHARSETS)}"
        raise InvalidSchemaError("UNKNOWN_CHARSET", message)
    return charset


def checked(value: Any, what: str, allowed: range, path: str = "$") -> int:
    """Return the integer that is to be written. Raises InvalidPayloadError WRONG_TYPE or OUT_OF_RANGE."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(f"an integer for {what}", value, path)
    if value not in allowed:
        raise refused("OUT_OF_RANGE", _bounds(what, allowed), path)
    return value


def real(value: Any, what: str, path: str = "$") -> float:
    """Return the number that is to be written. Raises InvalidPayloadError WRONG_TYPE or OUT_OF_RANGE."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise wrong_type(f"a number for {what}", value, path)
    try:
        return float(value)
    except OverflowError:
        raise refused("OUT_OF_RANGE", f"the number is too large for {what}", path) from None


def _bounds(what: str, allowed: range) -> str:
    return f"{what} is between {allowed[0]:,} and {allowed[-1]:,}"
