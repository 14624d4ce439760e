"""Current time as Kubernetes' MicroTime, the format of leases and Events, with all six digits."""

from datetime import UTC, datetime


def micro_time() -> str:
    """Return the current time, for instance `2026-11-21T05:30:00.000000Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
