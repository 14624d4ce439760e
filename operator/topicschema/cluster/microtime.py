"""The present moment as Kubernetes' MicroTime: the form that leases and events want, with all six digits."""

from datetime import UTC, datetime


def micro_time() -> str:
    """The time now, for instance `2026-11-21T05:30:00.000000Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
