"""Values of Java's own classes in JSON, as Jackson writes them, and the column's value of each. See payload/json.

An integer is in the unit of the schema's type. A decimal number of an instant is seconds, as in Jackson's form of it.
"""

import decimal
import re
from collections.abc import Callable
from typing import Any, Final

from topicschema.core.formats.avro.model import Node, Union
from topicschema.payload.arrow.logical import decimal_of, micros
from topicschema.payload.arrow.shapes import BeyondColumnError
from topicschema.payload.columnar.avro.outputs import is_null
from topicschema.payload.json import java_classes, leaves
from topicschema.payload.json.document import FarNumber
from topicschema.payload.json.walk import Misfit, Walk

_MICROS: Final = 1_000_000
_DAY: Final = 86_400 * _MICROS
_LONG: Final = range(-(2**63), 2**63)
_EXPONENTS: Final = range(-60, 60)
"""Decimal exponents that a column may have a place for."""
_CONTEXT: Final = decimal.Context(prec=1_200, Emax=10**6, Emin=-(10**6))
_DATE: Final = re.compile(r"([+-]?\d{4,9})-(\d\d)-(\d\d)(?:T.*)?", re.ASCII | re.DOTALL)
_TIME: Final = re.compile(r"(?:.*T)?(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d)?", re.ASCII | re.DOTALL)
_SECONDS: Final = re.compile(r"\d{1,11}(?:\.\d{1,9})?", re.ASCII)


def reader(node: Node) -> Callable[[Any], Any]:
    """Return the conversion of a JSON value that holds no others, as payload/json reads it."""

    def convert(value: Any) -> Any:
        read = leaves.read(node, value)
        if isinstance(read, Misfit):
            raise BeyondColumnError
        return read

    return convert


def branch_reader(union: Union) -> Callable[[Any], Any]:
    """Return the conversion of a JSON value by the branch of a union that payload/json chooses."""
    branch = _walk().branch

    def convert(value: Any) -> Any:
        chosen = branch(union, value)
        return None if chosen is None else leaves.read(chosen, value)

    return convert


def chooser(union: Union) -> Callable[[Any], int | None]:
    """Return the choice of a branch, among those that are not null, for a JSON value."""
    branch = _walk().branch
    others = [each for each in union.branches if not is_null(each)]

    def choose(value: Any) -> int | None:
        chosen = branch(union, value)
        return None if chosen is None else others.index(chosen)

    return choose


def _walk() -> Walk:
    return Walk(leaves.read, lambda *_: None, refusal=java_classes.refusal)


def text(value: Any) -> str:
    """Return a text, or the digits of a number, which a BigDecimal or a BigInteger is."""
    if isinstance(value, str):
        return value
    if value.__class__ is int:
        return str(value)
    return _exact(value)


def character(value: Any) -> Any:
    """Return the number of a Character."""
    return ord(value) if isinstance(value, str) and len(value) == 1 else value


def date(value: Any) -> int:
    """Return the days since 1970 of a LocalDate: a number of them, year, month and day, or a text."""
    if value.__class__ is int:
        return int(value)
    if isinstance(value, list):
        return _days(*value[:3])
    match = _DATE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise BeyondColumnError
    return _days(*map(int, match.groups()))


def time_of_day(unit: int) -> Callable[[Any], int]:
    """Return the conversion of a LocalTime to a number, of which a second has `unit`."""
    return lambda value: int(value) if value.__class__ is int else _micros_of_day(value, 0) * unit // _MICROS


def local(value: Any) -> int:
    """Return the microseconds of a LocalDateTime: its numbers from the year on, or a text."""
    if value.__class__ is int:
        raise BeyondColumnError
    return _bounded(date(value) * _DAY + _micros_of_day(value, 3))


def instant(*, has_millis: bool) -> Callable[[Any], int]:
    """Return the conversion of an Instant to microseconds."""

    def convert(value: Any) -> int:
        if value.__class__ is int:
            return micros(value) if has_millis else _bounded(value)
        if isinstance(value, str) and not _SECONDS.fullmatch(value):
            return _bounded(date(value) * _DAY + _micros_of_day(value, 0))
        seconds = _number(value if isinstance(value, str) else _exact(value))
        return _bounded(int(_CONTEXT.scaleb(seconds, 6).to_integral_value(decimal.ROUND_FLOOR, _CONTEXT)))

    return convert


def decimal_number(
    precision: int, scale: int, of_bytes: Callable[[bytes], decimal.Decimal], read: Callable[[Any], Any]
) -> Callable[[Any], decimal.Decimal]:
    """Return the conversion of bytes, or of a number with at most `scale` decimals."""

    def convert(value: Any) -> decimal.Decimal:
        if isinstance(value, str):
            return of_bytes(read(value))
        number = _number(str(value) if value.__class__ is int else _exact(value))
        unscaled = _CONTEXT.scaleb(number, scale)
        if unscaled != unscaled.to_integral_value(context=_CONTEXT):
            raise BeyondColumnError
        return decimal_of(int(unscaled), precision, scale)

    return convert


def _exact(value: Any) -> str:
    """Return the digits of a number that is no integer."""
    if value.__class__ is not FarNumber:
        raise BeyondColumnError
    return str(value.text)


def _number(digits: str) -> decimal.Decimal:
    try:
        number = decimal.Decimal(digits)
    except decimal.InvalidOperation:
        raise BeyondColumnError from None
    if number and number.adjusted() not in _EXPONENTS:
        raise BeyondColumnError
    return number


def _bounded(value: int) -> int:
    if value not in _LONG:
        raise BeyondColumnError
    return value


def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a date of the proleptic Gregorian calendar. Its year may be any."""
    year -= month < 3  # noqa: PLR2004  # years begin in March, so that a leap day is the last
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _micros_of_day(value: Any, first: int) -> int:
    """Return the microseconds of a time of day in UTC: numbers from `first` on, or a text, whose offset counts."""
    if isinstance(value, list):
        hour, minute, second, nano = map(int, (*value[first:], 0, 0)[:4])
        return ((hour * 60 + minute) * 60 + second) * _MICROS + nano // 1_000
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise BeyondColumnError
    hour, minute, second = (int(each or 0) for each in match.groups()[:3])
    seconds = (hour * 60 + minute) * 60 + second - _offset(match[5])
    return seconds * _MICROS + int((match[4] or "").ljust(9, "0")[:6])


def _offset(written: str | None) -> int:
    """Return the seconds of an offset from UTC."""
    if written is None or written == "Z":
        return 0
    size = int(written[1:3]) * 3_600 + int(written[4:]) * 60
    return -size if written[0] == "-" else size
