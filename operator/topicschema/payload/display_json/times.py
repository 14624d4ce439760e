"""Points in time as ISO 8601, like java.time, and back. Years are from -999,999,999 to 999,999,999.

Python's datetime is not used: it has neither years beyond 9999 nor nanoseconds.
"""

import re
from typing import Final

from topicschema.payload.codec import refused, wrong_type
from topicschema.payload.primitives import Instant, LocalDateTime

_DAY: Final = 86_400
_NANOS: Final = 1_000_000_000
_MILLIS: Final = 1_000
_ERA: Final = 146_097  # days of 400 years
_EPOCH: Final = 719_468  # days from 0000-03-01 to 1970-01-01
_WIDE_YEAR: Final = 9_999
_MARCH: Final = 3
_DATE: Final = re.compile(r"([+-]?\d{4,9})-(\d\d)-(\d\d)", re.ASCII)
_TIME: Final = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?", re.ASCII)


def date(days: int) -> str:
    """Return the date of a number of days from 1970-01-01."""
    era, day_of_era = divmod(days + _EPOCH, _ERA)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9  # noqa: PLR2004  # months from March to December
    year = year_of_era + era * 400 + (month < _MARCH)
    return f"{_year(year)}-{month:02}-{day:02}"


def days(text: object) -> int:
    """Return the days from 1970-01-01 to a date. Raises InvalidPayloadError WRONG_TYPE or OUT_OF_RANGE."""
    match = _DATE.fullmatch(_text(text, "a date such as 2026-01-31"))
    if match is None:
        raise refused("WRONG_TYPE", "a date is written like 2026-01-31")
    year, month, day = (int(each) for each in match.groups())
    shifted_year = year - (month < _MARCH)
    era, year_of_era = divmod(shifted_year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    number = era * _ERA + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - _EPOCH
    if not 1 <= month <= 12 or date(number) != f"{_year(year)}-{month:02}-{day:02}":  # noqa: PLR2004  # months
        raise refused("OUT_OF_RANGE", "there is no such date")
    return number


def time(nanos: int) -> str:
    """Return the time of day of a number of nanoseconds after midnight."""
    seconds, nano = divmod(nanos, _NANOS)
    minutes, second = divmod(seconds, 60)
    fraction = f".{nano:09}".rstrip("0") if nano else ""
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}{fraction}"


def nanos(text: object) -> int:
    """Return the nanoseconds from midnight to a time of day. Raises InvalidPayloadError WRONG_TYPE or OUT_OF_RANGE."""
    match = _TIME.fullmatch(_text(text, "a time such as 23:59:59.5"))
    if match is None:
        raise refused("WRONG_TYPE", "a time of day is written like 23:59:59.5")
    hour, minute, second, fraction = match.groups(default="0")
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:  # noqa: PLR2004  # a day's
        raise refused("OUT_OF_RANGE", "there is no such time of day")
    return ((int(hour) * 60 + int(minute)) * 60 + int(second)) * _NANOS + int(fraction.ljust(9, "0"))


def date_time(value: LocalDateTime) -> str:
    """Return a date with a time of day as text."""
    return f"{date(value.day)}T{time(value.nano)}"


def local_date_time(text: object) -> LocalDateTime:
    """Return the date and the time of day of a text."""
    day, letter, rest = _text(text, "a time such as 2026-01-31T23:59:59").partition("T")
    if not letter:
        raise refused("WRONG_TYPE", "a date with a time is written like 2026-01-31T23:59:59")
    return LocalDateTime(days(day), nanos(rest))


def instant_text(value: Instant) -> str:
    """Return a point in time as text, in UTC."""
    day, second = divmod(value.second, _DAY)
    return f"{date_time(LocalDateTime(day, second * _NANOS + value.nano))}Z"


def instant(text: object) -> Instant:
    """Return the point in time of a text that ends in Z."""
    written = _text(text, "a time such as 2026-01-31T23:59:59Z")
    if not written.endswith("Z"):
        raise refused("WRONG_TYPE", "a point in time is written in UTC, like 2026-01-31T23:59:59Z")
    day, nano = local_date_time(written[:-1])
    second, rest = divmod(nano, _NANOS)
    return Instant(day * _DAY + second, rest)


def millis_text(value: int) -> str:
    """Return a number of milliseconds from 1970-01-01T00:00Z as text."""
    second, milli = divmod(value, _MILLIS)
    return instant_text(Instant(second, milli * (_NANOS // _MILLIS)))


def millis(text: object) -> int:
    """Return the milliseconds to a point in time. A number is the milliseconds themselves."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    point = instant(text)
    if point.nano % (_NANOS // _MILLIS):
        raise refused("OUT_OF_RANGE", "the type counts milliseconds; the text has more digits")
    return point.second * _MILLIS + point.nano // (_NANOS // _MILLIS)


def _year(year: int) -> str:
    return f"{'+' if year > _WIDE_YEAR else '-' if year < 0 else ''}{abs(year):04}"


def _text(value: object, expected: str) -> str:
    if not isinstance(value, str):
        raise wrong_type(expected, value)
    return value
