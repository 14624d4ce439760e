"""What was seen to be gone from a broker before an error kept the rest from being seen: the error tells of it, too.

An error alone gives no reason to doubt what is on record; this does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import VersionEntry
from topicschema.reconcile.runtime.status_apply import ERRORS_WITHOUT_STATUS

_AFTER: Final = 60.0  # seconds
_OUT_OF_SIGHT: Final = ("BrokerNotAllowed", "UnsupportedSchemaType")
"""What ends a look for good, and says nothing of the versions on record."""


class VersionGoneError(WaitingError):
    """The broker serves a version on record no more, and `cause`, whose reason stays, kept what followed from that."""

    def __init__(self, gone: VersionEntry, cause: TopicSchemaError) -> None:
        message = f"the broker no longer serves version {gone.schema_version}, and what to do now is not known"
        super().__init__(cause.reason, f"{message}: {cause.message}", getattr(cause, "after", _AFTER))
        self.gone = gone


@contextmanager
def with_note(gone: VersionEntry | None) -> Iterator[None]:
    """Raise an error within as VersionGoneError, with the note that this version is gone; unchanged for None."""
    try:
        yield
    except (*ERRORS_WITHOUT_STATUS, VersionGoneError):
        raise
    except (WaitingError, StalledError) as error:
        if gone is None or (isinstance(error, StalledError) and error.reason not in _OUT_OF_SIGHT):
            raise
        raise VersionGoneError(gone, error) from error
