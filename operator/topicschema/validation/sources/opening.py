"""Function that opens the source of a request, and imports only the reader of that source."""

from topicschema.core.formats.key_value import has_keys_apart
from topicschema.validation.errors import InvalidRequestError
from topicschema.validation.request import ValidationRequest
from topicschema.validation.sources import Source


def source_of(request: ValidationRequest, started: int) -> Source:
    """Return the source for a run that `started` then (ms since 1970).

    Raises InvalidRequestError if the request names no source.
    """
    has_keys = has_keys_apart(request.candidate)
    if request.files is not None:
        from topicschema.validation.sources.files.source import FileMessages  # noqa: PLC0415  # Arrow's file systems

        return FileMessages(request.files, has_keys=has_keys)
    if request.pulsar is not None:
        from topicschema.validation.sources.pulsar.source import TopicMessages  # noqa: PLC0415  # the broker's client

        return TopicMessages(request.pulsar, request.topic, has_keys, request.sample.since(started))
    raise InvalidRequestError("the request names no source")
