"""Values of a schema's type from which Jackson makes no value of the Java class that the schema names.

A class is named by a logical type, a `java-class`, or the name of a record. The limits are those of Pulsar's JSONSchema
(client 4.0.7, Jackson 2.17). What a limit allows may be less than the class allows, but never more than the type does.
A consumer with AUTO_CONSUME makes no such values and has no limits.
"""

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from ipaddress import IPv6Address
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from topicschema.core.formats.avro.model import Array, Fixed, Node, Primitive, Record
from topicschema.payload import numbers
from topicschema.payload.json import jackson
from topicschema.payload.json.document import FarNumber
from topicschema.payload.json.walk import Misfit

_BLANKS: Final = "".join(map(chr, range(0x21)))  # of Java's trim
_MAX_LENGTH: Final = 1_000  # of a number in a text
_LAST_CHARACTER: Final = 0xFFFF
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_UUID_BYTES: Final = 16
_UUID_IN_BASE64: Final = (22, 24)
_DECIMAL: Final = re.compile(  # Jackson demands a digit between a point and an exponent
    r"[+-]?(?:\d+\.?(\d*)|\.(\d+))(?:(?<!\.)e([+-]?\d+))?", re.IGNORECASE | re.ASCII
)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_MAX_SCALE: Final = 100_000  # of a number that becomes a BigInteger
_PROTOCOL: Final = re.compile(r"(?:url:)?(file|ftp|https?|jar|jmod|jrt|mailto):", re.IGNORECASE | re.ASCII)
_URL_AUTHORITY: Final = re.compile(  # characters of Java 25; Java 17 takes others, too
    r"[^\x00-\x1f\\\x7f@]*@[^\x00-\x1f\\\x7f@]*@[^\x00-\x1f\\\x7f]*|(?:[^\x00-\x1f\[\]\\\x7f@]*@)?"
    r"(?:\[(?P<address>[^\x00-\x1f\[\]\\\x7f@]+)\]|[^\x00-\x20\x7f\"<>\[\]\\^`{|}:@]*)(?::(?P<port>[+-]?\d+)?)?",
    re.ASCII,
)
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
_WEEKDAY: Final = "(?:(?:sun|mon|fri)(?:day)?|tue(?:sday)?|wed(?:nesday)?|thu(?:rsday)?|sat(?:urday)?)"
_MONTH: Final = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)"
)
_NUMBER: Final = r"[ \t]*-?\d+"
_ZONES: Final = (
    "ACDT ACST ADT AEDT AEST AKDT AKST AST AWDT AWST BST CAT CDT CEST CET ChST CST EAT EDT EEST EET EST HADT HAST HDT "
    "HKST HKT HST IDT IST JDT JST KST MDT MSK MST NDT NST NZDT NZST PDT PKST PKT PST SAST SST UTC WAT WEST WET WIB WIT"
)
"""The abbreviations that Java 17 and Java 25 both know (DateFormatSymbols, Locale.US), without GMT."""
_ZONE: Final = (
    rf"(?:[ \t]*(?:[+-](?:[01]\d|2[0-3])[0-5]\d|{_ZONES.replace(' ', '|')})"
    r"|[ \t]+gmt|gmt(?:(?![+-])|[+-](?:[01]?\d|2[0-3]):[0-5]\d))"
)
_RFC_1123: Final = re.compile(
    rf"{_WEEKDAY}, {_NUMBER} {_MONTH} {_NUMBER} {_NUMBER}:{_NUMBER}:{_NUMBER} {_ZONE}", re.IGNORECASE | re.ASCII
)


class _Class(NamedTuple):
    """A class, and the check of the values that it is read from."""

    name: str
    reads: Callable[[Any], bool]


def refusal(node: Node, value: Any) -> Misfit | None:
    """Return the misfit of a value that is of the type, but not of the type's class, or None."""
    java_class = _class_of(node)
    if java_class is None or java_class.reads(value):
        return None
    return Misfit("INVALID_FOR_CLASS", f"Java cannot read this into {java_class.name}, the class of the field")


def limit_of(node: Node) -> Callable[[Any], bool] | None:
    """Return a check of values of the type, which is true only if the class takes them, or None if it takes them all.

    The check is for values from a reader that makes 0 of a number with an exponent far below.
    """
    java_class = _class_of(node)
    if java_class is None:
        return None
    reads = java_class.reads
    return (lambda value: (value or value.__class__ is not float) and reads(value)) if reads in _OF_EXPONENTS else reads


def _class_of(node: Node) -> _Class | None:
    if isinstance(node, Record):
        name = node.full_name
        return _Class(name, _is_date) if name in _DATES else None
    logical, java_class = (node.props.get(each) for each in ("logicalType", "java-class"))
    if isinstance(node, Array):
        return _Class("char[]", _are_characters) if java_class == jackson.CHARACTERS else None
    kind = "bytes" if isinstance(node, Fixed) else node.kind if isinstance(node, Primitive) else ""
    names = [each for each in (java_class, logical) if isinstance(each, str)]
    return next((_CLASSES[kind, each] for each in names if (kind, each) in _CLASSES), None)


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
    scale = _scale(text)
    return scale is not None and all(each in numbers.INT for each in scale)


def _is_decimal_if_number(value: Any) -> bool:
    return value.__class__ is str or _is_decimal(value)


def _is_integer(value: Any) -> bool:
    text = _number_in(value)
    if not text or value.__class__ is str:
        return text is not None and (not text or bool(_INTEGER.fullmatch(text)))
    scale = _scale(text)
    return scale is not None and abs(scale[1]) <= _MAX_SCALE


def _number_in(value: Any) -> str | None:
    """Return the number that a text or a FarNumber should be, "" for what Java surely reads, None if it does not."""
    if value.__class__ is FarNumber:
        return str(value.text)
    if value.__class__ is not str:
        return "" if value.__class__ is not float or math.isfinite(value) else None
    text = value.strip(_BLANKS)
    return "" if text == "null" else text if len(text) <= _MAX_LENGTH else None


def _scale(number: str) -> tuple[int, int] | None:
    """Return the exponent, and the scale of the BigDecimal, or None if the text is no number."""
    match = _DECIMAL.fullmatch(number)
    if match is None:
        return None
    exponent = int(match[3] or 0)
    return exponent, len(match[1] or match[2] or "") - exponent


def _is_uri(value: Any) -> bool:
    return bool(_URI.fullmatch(value.strip(_BLANKS)))


def _is_url(value: Any) -> bool:
    text = value.strip(_BLANKS)
    match = _PROTOCOL.match(text)
    while match and match[1].lower() == "jar":
        text, bang, _ = text[match.end() :].partition("#")[0].rpartition("!/")
        match = _PROTOCOL.match(text.strip(_BLANKS)) if bang else None
    if match is None:
        return not value.strip(_BLANKS)
    rest = text.strip(_BLANKS)[match.end() :].partition("#")[0]
    return bool(rest) if match[1].lower() == "mailto" else _has_authority(rest)


def _has_authority(rest: str) -> bool:
    """Return True if what follows a URL's protocol has a valid authority or none."""
    if rest.startswith("////") or not rest.startswith("//"):
        return True
    match = _URL_AUTHORITY.fullmatch(re.split("[/?]", rest[2:], maxsplit=1)[0])
    if match is None or (match["port"] and not -1 <= int(match["port"]) <= numbers.INT[-1]):
        return False
    try:
        return match["address"] is None or bool(IPv6Address(match["address"]))
    except ValueError:
        return False


def _is_character(value: Any) -> bool:
    return value.__class__ is str or 0 <= value <= _LAST_CHARACTER


def _are_characters(value: Any) -> bool:
    return value.__class__ is str or all(each.__class__ is not int for each in value)


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
_INSTANT: Final = _Class("java.time.Instant", _is_decimal_if_number)
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
        **{("long", f"timestamp-{unit}"): _INSTANT for unit in ("millis", "micros", "nanos")},
        ("bytes", "decimal"): _Class("java.math.BigDecimal", _is_decimal_if_number),
    }
)
"""Classes by a type and its `java-class` or logical type."""
_OF_EXPONENTS: Final = frozenset({_is_decimal, _is_decimal_if_number, _is_integer})
"""Checks of numbers by their exponents."""
