"""Plugged-in checkers for the commands. One that cannot be used is invalid input."""

from topicschema import checkers
from topicschema.cli.inputs.files import UsageError
from topicschema.core.checkers import Checkers


def load() -> Checkers:
    """Return the checkers by type. Raises UsageError if one cannot be used."""
    try:
        return checkers.load()
    except checkers.UnusableCheckerError as error:
        raise UsageError(str(error)) from None
