"""Function that opens the source of a request, and imports only the reader of that source."""

from topicschema.core.formats.key_value import has_keys_apart
from topicschema.validation.errors import InvalidQuestionError
from topicschema.validation.request import ValidationRequest
from topicschema.validation.sources import Source


def source_of(asked: ValidationRequest, started: int) -> Source:
    """Return the source for a run that `started` then (ms since 1970).

    Raises InvalidQuestionError if the request names no source.
    """
    has_keys = has_keys_apart(asked.candidate)
    if asked.files is not None:
        from topicschema.validation.sources.files.source import FileMessages  # noqa: PLC0415  # Arrow's file systems

        return FileMessages(asked.files, has_keys=has_keys)
    if asked.pulsar is not None:
        from topicschema.validation.sources.pulsar.source import PulsarMessages  # noqa: PLC0415  # the broker's client

        return PulsarMessages(asked.pulsar, asked.topic, has_keys, asked.sample.since(started))
    raise InvalidQuestionError("the question names no source")
