"""The subject of a call to the API server."""

from testbed.calls import Call

_READS = {"GET", "HEAD", "OPTIONS"}


def is_write(call: Call) -> bool:
    """Return True for each write but those of Leases: a moment at which a process may die."""
    return call.method not in _READS and "/leases" not in call.path


def target_of(call: Call) -> str:
    """Return the resource, with its part if there is one: `topicschemas/status`."""
    parts = call.path.partition("?")[0].strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    parts = parts[2:] if parts[0] == "namespaces" and len(parts) > 2 else parts
    return "/".join((parts[0], *parts[2:]))
