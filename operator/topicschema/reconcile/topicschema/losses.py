"""Errors after the broker was observed to lack a stored version.

An error alone gives no reason to doubt the stored versions, but a missing version does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import VersionEntry
from topicschema.core.reasons import Category
from topicschema.reconcile.status_writer import ERRORS_WITHOUT_STATUS

_AFTER: Final = 60.0  # seconds


class VersionGoneError(WaitingError):
    """The broker lacks a stored version, and `cause` prevented further reads. The reason is that of `cause`."""

    def __init__(self, gone: VersionEntry, cause: TopicSchemaError) -> None:
        message = f"the broker no longer serves version {gone.schema_version}, and its other versions cannot be read"
        super().__init__(cause.reason, f"{message}: {cause.message}", getattr(cause, "after", _AFTER))
        self.gone = gone


@contextmanager
def with_note(gone: VersionEntry | None) -> Iterator[None]:
    """Raise an error of the block as VersionGoneError for the version `gone`. If it is None, raise it unchanged."""
    try:
        yield
    except (*ERRORS_WITHOUT_STATUS, VersionGoneError):
        raise
    except (WaitingError, StalledError) as error:
        if gone is None or (isinstance(error, StalledError) and error.reason.category is not Category.BROKER):
            raise
        raise VersionGoneError(gone, error) from error
