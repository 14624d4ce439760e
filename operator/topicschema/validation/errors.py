"""Why a run ended without a verdict."""

from typing import Final

from topicschema.core.errors import StalledError, TopicSchemaError

OUT_OF_MEMORY: Final = "OutOfMemory"
"""The reason that begins the message of a driver whose executors were too small."""


class InvalidQuestionError(StalledError):
    """The question cannot be asked: a person must change it."""

    def __init__(self, message: str) -> None:
        super().__init__("InvalidValidationRequest", message)


class SourceError(TopicSchemaError):
    """Messages could not be read; the message says which and where. Never a verdict.

    `place` is what a person looks at first: a file and a row, or a topic's partition and a message id.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__("SourceUnreadable", f"{place}: {message}" if place else message)
        self.place = place

    def __reduce__(self) -> tuple[object, ...]:
        """As it travels from a worker's process: whole."""
        return _rebuilt, (type(self), self.message, self.place)


class RunError(TopicSchemaError):
    """The run ended for a reason that lies in neither the question nor the messages. Never a verdict."""

    def __init__(self, message: str) -> None:
        super().__init__("RunFailed", message)


class OutOfMemoryError(TopicSchemaError):
    """Pods of the run are killed at their limit of memory, until somebody raises it. Never a verdict."""

    def __init__(self, whose: str) -> None:
        super().__init__(OUT_OF_MEMORY, f"{whose} ran out of memory: raise template.resources.limits.memory")


def _rebuilt(kind: type[SourceError], message: str, place: str) -> SourceError:
    error = kind(message)
    error.place = place
    return error
