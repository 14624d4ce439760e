"""What can go wrong with a topic that is read. None of it is a verdict; the texts never hold credentials."""

from topicschema.validation.errors import SourceError


class SourceSilentError(SourceError):
    """The broker answers nothing any more, though there are messages left to be read."""


class SourceRefusedError(SourceError):
    """The broker does not let the run in, or does not allow it to read the topic."""


class SourceDeletedError(SourceError):
    """The topic was deleted while it was read."""


def refused(message: str, place: str, *, shows_credentials: bool) -> SourceRefusedError:
    """The broker's words, and what mends it: a right for the run's role, or a role in the first place."""
    if shows_credentials:
        return SourceRefusedError(f"{message}; the run's role needs the permission to consume from the topic", place)
    missing = "the run shows no credentials: set validation.authentication (from a shell: --token-file)"
    return SourceRefusedError(f"{message}; {missing}", place)
