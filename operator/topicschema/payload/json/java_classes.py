"""Values of a schema's type from which Jackson makes no value of the Java class that the schema names.

A class is named by a logical type, a `java-class`, or the name of a record. The limits are those of Pulsar's JSONSchema
(client 4.0.7, Jackson 2.17). What a limit allows may be less than the class allows, but never more than the type does.
A consumer with AUTO_CONSUME makes no such values and has no limits.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from topicschema.core.formats.avro.model import Node, Primitive, Record
from topicschema.payload import numbers
from topicschema.payload.json import jackson, leaves
from topicschema.payload.json.walk import Misfit

_BLANKS: Final = "".join(map(chr, range(0x21)))  # of Java's trim
_MAX_LENGTH: Final = 1_000  # of a number in a text
_LAST_CHARACTER: Final = 0xFFFF
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_UUID_BYTES: Final = 16
_UUID_IN_BASE64: Final = (22, 24)
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?(\d*)|\.(\d+))(?:e([+-]?\d+))?", re.IGNORECASE | re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_PROTOCOL: Final = re.compile(r"(?:url:)?(?!url:)[a-z][a-z0-9+.-]*:", re.IGNORECASE | re.ASCII)
_OTHER: Final = r"[^\x00-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_UNRESERVED: Final = rf"(?:[A-Za-z0-9_.!~*'()-]|%[0-9A-Fa-f]{{2}}|{_OTHER})"
_URIC: Final = rf"(?:{_UNRESERVED}|[;/?:@&=+$,\[\]])"
_IPV6: Final = r"\[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%[^\]/?#]+)?\]"
_AUTHORITY: Final = rf"(?:(?:{_UNRESERVED}|[$,;:@&=+])+|(?:(?:{_UNRESERVED}|[;:&=+$,])*@)?{_IPV6}(?::\d*)?)"
_PATH: Final = rf"(?:{_UNRESERVED}|[:@&=+$,;/])*"
_HIERARCHY: Final = rf"(?://{_AUTHORITY}?(?=[/?#]|(?<!//)\Z)|(?!//)){_PATH}(?:\?{_URIC}*)?"
_SCHEME: Final = r"[A-Za-z][A-Za-z0-9+.-]*:"
_URI: Final = re.compile(rf"(?:{_SCHEME}(?:(?=/){_HIERARCHY}|(?!/){_URIC}+)|(?![^/?#:]*:){_HIERARCHY})(?:#{_URIC}*)?")
_WHOLE: Final = re.compile(r"-?\d{1,1000}", re.ASCII)
_LONG_DIGITS: Final = 19
_ISO_DATE: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
_RFC_1123: Final = re.compile(
    r"(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?, \s*-?\d+ [a-z]+ \s*-?\d+ "
    r"\s*-?\d+:\s*-?\d+:\s*-?\d+ \s*(?:[+-]\d{4}|gmt[+-]\d\d?:\d\d|(?!gmt[+-])[a-z]{2,})",
    re.IGNORECASE | re.ASCII,
)


class _Class(NamedTuple):
    """A class, and the check of the values that it is read from."""

    name: str
    reads: Callable[[Any], bool]


def read(node: Node, value: Any) -> Any:
    """Convert a JSON value. Return a Misfit if it is not of the type, or not of the type's class."""
    return _limited(node, value, leaves.read(node, value))


def write(node: Node, value: Any) -> Any:
    """Convert a value to JSON, in Jackson's form or in the type's. Return a Misfit as `read` does."""
    written = leaves.write(node, value)
    return _limited(node, value, value if isinstance(written, Misfit) and jackson.takes(node, value) else written)


def limit_of(node: Node) -> Callable[[Any], bool] | None:
    """Return the check of values that `leaves.read` takes, or None if the class takes them all."""
    java_class = _class_of(node)
    return None if java_class is None else java_class.reads


def _limited(node: Node, value: Any, converted: Any) -> Any:
    java_class = None if isinstance(converted, Misfit) else _class_of(node)
    if java_class is None or java_class.reads(value):
        return converted
    return Misfit("INVALID_FOR_CLASS", f"Java cannot read this into {java_class.name}, the class of the field")


def _class_of(node: Node) -> _Class | None:
    if isinstance(node, Record):
        name = node.full_name
        return _Class(name, _is_date) if name in _DATES else None
    if not isinstance(node, Primitive):
        return None
    logical, java_class = (node.props.get(each) for each in ("logicalType", "java-class"))
    names = [each for each in (java_class, logical) if isinstance(each, str)]
    return next((_CLASSES[node.kind, each] for each in names if (node.kind, each) in _CLASSES), None)


def _is_uuid(value: Any) -> bool:
    text = value.strip(_BLANKS)
    if not text or _UUID.fullmatch(text):
        return True
    if len(text) not in _UUID_IN_BASE64:
        return False
    try:
        content = base64.b64decode(text.ljust(_UUID_IN_BASE64[1], "=").translate({0x2D: "+", 0x5F: "/"}), validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(content) == _UUID_BYTES


def _is_decimal(value: Any) -> bool:
    text = _number_in(value)
    if not text:
        return text is not None
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return False
    exponent = int(match[3] or 0)
    return abs(exponent) in numbers.INT and len(match[1] or match[2] or "") - exponent in numbers.INT


def _is_integer(value: Any) -> bool:
    text = _number_in(value)
    return text is not None and (not text or bool(_INTEGER.fullmatch(text)))


def _number_in(value: Any) -> str | None:
    """Return the number that a text should be, "" if it is null or no text, None if the text is too long."""
    text = value.strip(_BLANKS) if value.__class__ is str else ""
    return "" if text == "null" else text if len(text) <= _MAX_LENGTH else None


def _is_uri(value: Any) -> bool:
    return bool(_URI.fullmatch(value.strip(_BLANKS)))


def _is_url(value: Any) -> bool:
    """Return True if a text may be a URL, which depends on the protocols that the consumer has."""
    text = value.strip(_BLANKS)
    return not text or bool(_PROTOCOL.match(text))


def _is_character(value: Any) -> bool:
    return value.__class__ is str or 0 <= value <= _LAST_CHARACTER


def _is_no_number(value: Any) -> bool:
    return value.__class__ is not int


def _is_date(value: Any) -> bool:
    """Return True for what a Date is read from. Its parts may be out of range, because its calendar is lenient."""
    if value.__class__ is not str:
        return value.__class__ is int and value in numbers.LONG
    text = value.strip(_BLANKS)
    if _WHOLE.fullmatch(text):
        return int(text) in numbers.LONG and (text[0] == "-" or len(text) <= _LONG_DIGITS)
    return text in ("", "null") or bool(_ISO_DATE.fullmatch(text) or _RFC_1123.match(text))


_DATES: Final = frozenset(
    {"java.util.Date", "java.util.Calendar", "java.util.GregorianCalendar", "java.sql.Date", "java.sql.Timestamp"}
)
_BYTE: Final = range(-128, 256)
_SHORT: Final = numbers.signed(16)
_TIME: Final = _Class("java.time.LocalTime", _is_no_number)
_DATE_TIME: Final = _Class("java.time.LocalDateTime", _is_no_number)
_UUID_CLASS: Final = _Class("java.util.UUID", _is_uuid)
_CLASSES: Final[Mapping[tuple[str, str], _Class]] = MappingProxyType(
    {
        ("string", "uuid"): _UUID_CLASS,
        ("string", "java.util.UUID"): _UUID_CLASS,
        **{
            ("string", name): _Class(name, reads)
            for name, reads in (
                ("java.math.BigDecimal", _is_decimal),
                ("java.math.BigInteger", _is_integer),
                ("java.net.URI", _is_uri),
                ("java.net.URL", _is_url),
            )
        },
        ("int", "java.lang.Byte"): _Class("java.lang.Byte", _BYTE.__contains__),
        ("int", "java.lang.Short"): _Class("java.lang.Short", _SHORT.__contains__),
        ("int", "java.lang.Character"): _Class("java.lang.Character", _is_character),
        ("int", "time-millis"): _TIME,
        ("long", "time-micros"): _TIME,
        **{("long", f"local-timestamp-{unit}"): _DATE_TIME for unit in ("millis", "micros", "nanos")},
    }
)
"""Classes by a type and its `java-class` or logical type."""
