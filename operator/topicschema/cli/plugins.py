"""The checkers that are plugged in, for the commands: one that cannot be used is wrong input."""

from topicschema import checkers
from topicschema.cli.inputs.files import UsageError
from topicschema.core.checkers import Checkers


def load() -> Checkers:
    """The checkers by type; UsageError where one cannot be used."""
    try:
        return checkers.load()
    except checkers.UnusableCheckerError as error:
        raise UsageError(str(error)) from None
