"""What can go wrong with a topic that is read. None of it is a verdict; the texts never hold credentials."""

from topicschema.spark.errors import SourceError


class SourceSilentError(SourceError):
    """The broker answers nothing any more, though there are messages left to be read."""


class SourceRefusedError(SourceError):
    """The broker does not let the run in, or does not allow it to read the topic."""


class SourceDeletedError(SourceError):
    """The topic was deleted while it was read."""
