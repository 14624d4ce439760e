"""Jackson's output for values of Java's own classes, if it differs from the schema's type.

Pulsar's JSONSchema uses the defaults of its mapper (client 4.0.7, ObjectMapperFactory.create). Values of java.time are
arrays of numbers and decimals of seconds, and are also read from texts. A BigDecimal is a number, a Character and a
char[] are texts, and a map is an object, whatever its keys are. The schema marks them by a logical type, by a
`java-class`, or not at all. A Java class unknown to Avro is a record of that name, but its values are never written as
such.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from topicschema.core.formats.avro.model import Array, Fixed, Node, Primitive, Record
from topicschema.payload.json.document import FarNumber

_DATE: Final = r"(\d{4}|\+\d{5,9}|-(?!0+-)\d{4,9})-(\d\d)-(\d\d)"
_PLAIN_DATE: Final = r"(\d{4})-(\d\d)-(\d\d)"
_TIME: Final = r"(\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?"
_OFFSET: Final = r"[+-](?:(?:0\d|1[0-7]):[0-5]\d|18:00)"
_DATE_TEXT: Final = re.compile(rf"{_DATE}|{_PLAIN_DATE}T{_TIME}Z?", re.ASCII)
_TIME_TEXT: Final = re.compile(_TIME, re.ASCII)
_DATE_TIME_TEXT: Final = re.compile(rf"{_DATE}T{_TIME}|{_PLAIN_DATE}T{_TIME}Z", re.ASCII)
_INSTANT_TEXT: Final = re.compile(rf"{_DATE}T(\d\d):(\d\d):(\d\d)(?:\.\d{{1,9}})?(?:Z|{_OFFSET})", re.ASCII)
_SECONDS_TEXT: Final = re.compile(r"\d{1,11}(?:\.\d{1,9})?", re.ASCII)
_LAST_YEAR: Final = 999_999_999
_FIRST_SECOND: Final = -31_557_014_167_219_200  # of Instant.MIN
_LAST_SECOND: Final = 31_556_889_864_403_200  # of Instant.MAX, as a float rounds it
_NANOS: Final = 1_000_000_000
_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LEAP_DAY: Final = (2, 29)

Form = Callable[[Any], bool]


def form_of(node: Node) -> Form | None:
    """Return the check of Jackson's output for the type, or None if its output is of the type itself."""
    logical, java_class = (node.props.get(each) for each in ("logicalType", "java-class"))
    if isinstance(node, Record):
        return _no_object if node.namespace.partition(".")[0] == "java" else None
    if isinstance(node, Array):
        return _text if java_class == CHARACTERS else _object if _is_pairs(node.items) else None
    kind = "bytes" if isinstance(node, Fixed) else node.kind if isinstance(node, Primitive) else ""
    if kind == "string":
        return _number if java_class in _DECIMALS else None
    if kind == "int" and java_class == _CHARACTER:
        return _character
    forms = _FORMS.get(kind)
    return forms.get(logical) if forms and isinstance(logical, str) else None


def takes(node: Node, value: Any) -> bool:
    """Return True if a value, which is not null, is Jackson's output for the type."""
    form = form_of(node)
    return form is not None and form(value)


def _no_object(value: Any) -> bool:
    return value is not None and value.__class__ is not dict


def _is_pairs(node: Node) -> bool:
    """Return True for the entries of a Java map whose keys are no texts, by which Avro describes it."""
    return isinstance(node, Record) and node.full_name.startswith(_PAIR)


def _object(value: Any) -> bool:
    return value.__class__ is dict


def _text(value: Any) -> bool:
    return value.__class__ is str


def _character(value: Any) -> bool:
    return value.__class__ is str and len(value) == 1 and value <= _LAST_CHARACTER


def _number(value: Any) -> bool:
    return value.__class__ in _NUMBERS


def _date(value: Any) -> bool:
    parts = _numbers(value, range(3, 4)) or _matched(_DATE_TEXT, value)
    return bool(parts) and _is_date(*parts[:3]) and _is_time(*parts[3:])


def _time(value: Any) -> bool:
    parts = _numbers(value, range(2, 5)) or _matched(_TIME_TEXT, value)
    return bool(parts) and _is_time(*parts)


def _date_time(value: Any) -> bool:
    parts = _numbers(value, range(5, 8)) or _matched(_DATE_TIME_TEXT, value)
    return bool(parts) and _is_date(*parts[:3]) and _is_time(*parts[3:])


def _instant(value: Any) -> bool:
    if value.__class__ is float or value.__class__ is FarNumber:
        return _FIRST_SECOND <= value <= _LAST_SECOND
    if value.__class__ is str and _SECONDS_TEXT.fullmatch(value):
        return True
    parts = _matched(_INSTANT_TEXT, value)
    return bool(parts) and _is_date(*parts[:3]) and _is_time(*parts[3:])


def _numbers(value: Any, lengths: range) -> list[int]:
    """Return the numbers of an array of such a length, empty for any other value."""
    is_it = value.__class__ is list and len(value) in lengths and all(each.__class__ is int for each in value)
    return value if is_it else []


def _matched(pattern: re.Pattern[str], value: Any) -> list[int]:
    """Return the numbers in a text, empty for any other value."""
    match = pattern.fullmatch(value) if value.__class__ is str else None
    return [int(each) for each in match.groups() if each is not None] if match else []


def _is_date(year: int, month: int, day: int) -> bool:
    if not (1 <= month <= len(_DAYS) and -_LAST_YEAR <= year <= _LAST_YEAR):
        return False
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= _DAYS[month - 1] and (is_leap or (month, day) != _LEAP_DAY)


def _is_time(hour: int = 0, minute: int = 0, second: int = 0, nano: int = 0) -> bool:
    return 0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= nano < _NANOS  # noqa: PLR2004  # a day's


_PAIR: Final = "org.apache.avro.reflect.Pair"
_CHARACTER: Final = "java.lang.Character"
_LAST_CHARACTER: Final = "\uffff"
CHARACTERS: Final = "[C"
_NUMBERS: Final = frozenset({int, float, FarNumber})
_DECIMALS: Final = ("java.math.BigDecimal", "java.math.BigInteger")
_INSTANTS: Final = dict.fromkeys(("timestamp-millis", "timestamp-micros", "timestamp-nanos"), _instant)
_LOCAL: Final = dict.fromkeys(("local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos"), _date_time)
_FORMS: Final[Mapping[str, Mapping[str, Form]]] = MappingProxyType(
    {
        "int": {"date": _date, "time-millis": _time},
        "long": {"time-micros": _time, **_INSTANTS, **_LOCAL},
        "bytes": {"decimal": _number},
    }
)
