"""What a call to the API server is about."""

from testbed.calls import Call

_READS = {"GET", "HEAD", "OPTIONS"}


def is_write(call: Call) -> bool:
    """Whether the call is a moment at which a process may die: every write, but for those of Leases."""
    return call.method not in _READS and "/leases" not in call.path


def target_of(call: Call) -> str:
    """The resource, and the part of it if it is one: `topicschemas/status`."""
    parts = call.path.partition("?")[0].strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    parts = parts[2:] if parts[0] == "namespaces" and len(parts) > 2 else parts
    return "/".join((parts[0], *parts[2:]))
