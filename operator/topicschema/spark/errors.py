"""Errors of options and schemas of the data sources."""

from topicschema.core.errors import StalledError
from topicschema.core.reasons import Reason


class InvalidOptionError(StalledError):
    """Error of an option, or of a schema passed to `.schema()`, that a user must change."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.INVALID_VALIDATION_REQUEST, message)
