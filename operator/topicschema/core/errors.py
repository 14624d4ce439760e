"""Errors of the product, as a tree whose branches are the retry policy.

- TopicSchemaError(reason)
  - StalledError: a person must change something; no retry until the generation changes
    - StalledAtBrokerError: the same at the broker, which sends no event; the operator retries within a minute
    - InvalidSchemaError: the text is no schema of its type; it has the rule and the place
    - InvalidPayloadError: the bytes are no message of their schema, or a value has no such bytes; it has rule and place
  - WaitingError(after): something else must happen first; retry after that number of seconds

Any other exception is a bug. An incompatibility is a value (`compatibility.Incompatibility`), never an error.
"""

import copyreg
from dataclasses import dataclass

from topicschema.core.reasons import Reason


class TopicSchemaError(Exception):
    """An error that a person or a change in the environment can fix.

    `reason` is UpperCamelCase. It is the condition reason, the event reason and the metric label.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the attributes: the constructors of subclasses take other arguments than those of an exception."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class StalledError(TopicSchemaError):
    """A person must change something first. A retry before that is pointless."""


class StalledAtBrokerError(StalledError):
    """A person must change something at the broker.

    The broker sends no event, so the operator soon reconciles again.
    """


class WaitingError(TopicSchemaError):
    """Something else must happen first. `after` is the time to the next try, in seconds."""

    def __init__(self, reason: Reason, message: str, after: float = 5.0) -> None:
        super().__init__(reason, message)
        self.after = after


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a schema text: a JSON path from `$`, and for syntax errors line and column from 1."""

    path: str = "$"
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        """Return the place as text, for instance `$.fields[2].type` or `line 3, column 14`."""
        if self.line is None:
            return self.path
        return f"line {self.line}, column {self.column}"


class InvalidSchemaError(StalledError):
    """The text is not a schema of its type. `rule` is a documented rule id, `place` the place of the error.

    `escapes` is True if Avro throws another exception than the one for texts that do not parse, and the rule alone does
    not imply this.
    """

    def __init__(self, rule: str, message: str, place: Place | None = None, *, escapes: bool = False) -> None:
        super().__init__(Reason.INVALID_SCHEMA, message)
        self.rule = rule
        self.place = place or Place()
        self.escapes = escapes

    @property
    def sentence(self) -> str:
        """Rule, place and message, in one sentence."""
        return f"{self.rule} at {self.place}: {self.message}"


class InvalidPayloadError(StalledError):
    """The bytes are no message of their schema, or a value cannot be written as one. `rule` is a documented rule id.

    `path` leads through the schema's fields from `$`. `offset` counts the payload's bytes from 0, and is None for a
    value to write. They and the message contain nothing of the payload itself.
    """

    def __init__(self, rule: str, message: str, path: str = "$", offset: int | None = None) -> None:
        super().__init__(Reason.INVALID_PAYLOAD, message)
        self.rule = rule
        self.path = path
        self.offset = offset

    @property
    def sentence(self) -> str:
        """Rule, place and message, in one sentence."""
        where = self.path if self.offset is None else f"{self.path}, byte {self.offset}"
        return f"{self.rule} at {where}: {self.message}"
