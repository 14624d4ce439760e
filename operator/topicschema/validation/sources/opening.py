"""The source that a question names. What reads it is imported with it."""

from topicschema.core.formats.key_value import has_keys_apart
from topicschema.validation.errors import InvalidQuestionError
from topicschema.validation.request import Question
from topicschema.validation.sources import Source


def source_of(asked: Question, started: int) -> Source:
    """The source, for a run that starts then (milliseconds since 1970); InvalidQuestionError where it names none."""
    has_keys = has_keys_apart(asked.candidate)
    if asked.files is not None:
        from topicschema.validation.sources.files.source import Files  # noqa: PLC0415  # Arrow's file systems

        return Files(asked.files, has_keys=has_keys)
    if asked.pulsar is not None:
        from topicschema.validation.sources.pulsar.source import PulsarSource  # noqa: PLC0415  # the broker's client

        return PulsarSource(asked.pulsar, asked.topic, has_keys, asked.sample.since(started))
    raise InvalidQuestionError("the question names no source")
