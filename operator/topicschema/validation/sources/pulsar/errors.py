"""Errors of reading a topic. None of them is a verdict, and their messages never contain credentials."""

from topicschema.validation.errors import SourceError


class SourceSilentError(SourceError):
    """Error of a broker that no longer answers, although messages remain to be read."""


class SourceRefusedError(SourceError):
    """Error of a broker that rejects the run's credentials, or does not allow it to read the topic."""


class SourceDeletedError(SourceError):
    """Error of a topic that was deleted while it was read."""


def refused(message: str, place: str, *, shows_credentials: bool) -> SourceRefusedError:
    """Return the error with the broker's message and the fix.

    The fix is a permission for the run's role, or credentials if the run has none.
    """
    if shows_credentials:
        return SourceRefusedError(f"{message}; the run's role needs the permission to consume from the topic", place)
    missing = "the run shows no credentials: set validation.authentication (from a shell: --token-file)"
    return SourceRefusedError(f"{message}; {missing}", place)
