"""The current time in the form in which times are stored and compared."""

from datetime import UTC, datetime


def utc_now() -> str:
    """Return the current time as stored: RFC 3339, UTC, seconds."""
    return rfc3339(datetime.now(UTC))


def rfc3339(time: datetime) -> str:
    """Return a time in UTC as stored."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_between(earlier: str, later: str) -> float:
    """Return the seconds from one stored time to another."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
