"""Text in bytes as Java reads and writes it: malformed bytes become U+FFFD, unmappable characters `?`.

Source: java.nio.charset and java.lang.String of Java 17, which Pulsar's STRING and Avro's Utf8 use.
"""

import codecs
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_AS_JAVA: Final = "topicschema.java"
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")  # one character to Java, three to Python
_MALFORMED: Final = b"\xff"
_HIGH: Final = range(0xD8, 0xDC)  # a high surrogate's upper byte, which is the first or the second
_UPPER: Final[Mapping[str, int]] = MappingProxyType({"utf-16-be": 0, "utf-16-le": 1})
_BOM: Final = b"\xfe\xff"

CHARSETS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "utf-8": "utf-8",
        "utf8": "utf-8",
        "us-ascii": "ascii",
        "ascii": "ascii",
        "iso-8859-1": "latin-1",
        "latin1": "latin-1",
        "utf-16": "utf-16",
        "utf-16be": "utf-16-be",
        "utf-16le": "utf-16-le",
    }
)
"""Java's names of charsets, in lower case, and Python's: the six that every Java has, with their usual aliases."""


def decode(payload: bytes, charset: str = "utf-8") -> tuple[str, int | None]:
    """Return the text, and the offset of the first malformed byte or None. `charset` is Python's name."""
    if charset == "utf-16":
        return _decode_utf_16(payload)
    try:
        return payload.decode(charset), None
    except UnicodeDecodeError as error:
        if charset == "utf-8":
            return _SURROGATE.sub(_MALFORMED, payload).decode(charset, "replace"), error.start
        return payload.decode(charset, _AS_JAVA), error.start


def encode(text: str, charset: str = "utf-8") -> bytes:
    """Return the bytes. Adjacent halves of a surrogate pair are one character, as in Java."""
    if not text:
        return b""
    whole = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
    if charset == "utf-16":
        return _BOM + encode(text, "utf-16-be")
    if charset.startswith("utf-16"):
        whole = _without_halves(whole, _REPLACEMENT)
    return whole.encode(charset, "replace")


def _decode_utf_16(payload: bytes) -> tuple[str, int | None]:
    if payload.startswith(_BOM[::-1]):
        text, first = decode(payload[2:], "utf-16-le")
    elif payload.startswith(_BOM):
        text, first = decode(payload[2:], "utf-16-be")
    else:
        return decode(payload, "utf-16-be")
    return text, None if first is None else first + 2


def _without_halves(text: str, instead: str) -> str:
    return "".join(instead if "\ud800" <= char <= "\udfff" else char for char in text)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Return the replacement for malformed bytes, and the next position.

    A high surrogate includes the unit after it.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    unit = error.object[error.start : error.start + 2]
    takes_more = len(unit) == len(_BOM) and error.encoding in _UPPER and unit[_UPPER[error.encoding]] in _HIGH
    return _REPLACEMENT, min(error.start + 4, len(error.object)) if takes_more else error.end


codecs.register_error(_AS_JAVA, _replaced)
