"""Errors of runs that ended without a verdict."""

from topicschema.core.errors import StalledError, TopicSchemaError
from topicschema.core.reasons import Reason


class InvalidRequestError(StalledError):
    """Error of a request that cannot be validated until a user changes it."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.INVALID_VALIDATION_REQUEST, message)


class SourceError(TopicSchemaError):
    """Error of messages that could not be read. It is never a verdict.

    `place` is the location: a file and a row, or a topic's partition and a message id.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(Reason.SOURCE_UNREADABLE, f"{place}: {message}" if place else message)
        self.place = place

    def __reduce__(self) -> tuple[object, ...]:
        """Return what pickle needs to restore the error, with its place, from another process."""
        return _rebuilt, (type(self), self.message, self.place)


class RunError(TopicSchemaError):
    """Error of a run for a reason in neither the request nor the messages. It is never a verdict."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.RUN_FAILED, message)


class RunOutOfMemoryError(TopicSchemaError):
    """Error of a run whose pods exceed their memory limit until a user raises it. It is never a verdict."""

    def __init__(self, whose: str) -> None:
        super().__init__(Reason.OUT_OF_MEMORY, f"{whose} ran out of memory: raise template.resources.limits.memory")


def _rebuilt(kind: type[SourceError], message: str, place: str) -> SourceError:
    error = kind(message)
    error.place = place
    return error
