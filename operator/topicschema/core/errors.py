"""The errors of the product, as a tree whose branches are the retry policy.

TopicSchemaError(reason)
├ StalledError           a person must change something: no retry until the generation changes
│ ├ StalledAtBrokerError the same, at the broker, where no event tells of it: a look within a minute
│ ├ InvalidSchemaError   the text is no schema of its type; carries the rule and the place
│ └ InvalidPayloadError  the bytes are no message of their schema, or a value has no such bytes; carries rule and place
└ WaitingError(after)    something else must happen first: retry after that many seconds

Anything else that is raised is a bug. An incompatibility is a value (`compatibility.Incompatibility`), never an error.
"""

import copyreg
from dataclasses import dataclass


class TopicSchemaError(Exception):
    """Something that a person or the surroundings can mend.

    `reason` is UpperCamelCase; it is the condition reason, the event reason and the metric label.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the attributes, for the constructors of subclasses take other arguments than an exception's."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class StalledError(TopicSchemaError):
    """A person must change something first; retrying is pointless until they did."""


class StalledAtBrokerError(StalledError):
    """A person must change what a broker has. No event tells of that, so the object is looked at again soon."""


class WaitingError(TopicSchemaError):
    """Something else must happen first; `after` is the time to the next try, in seconds."""

    def __init__(self, reason: str, message: str, after: float = 5.0) -> None:
        super().__init__(reason, message)
        self.after = after


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a schema text something is: a JSON path from `$`, and for syntax errors line and column from 1."""

    path: str = "$"
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        """The place as people read it, for instance `$.fields[2].type` or `line 3, column 14`."""
        if self.line is None:
            return self.path
        return f"line {self.line}, column {self.column}"


class InvalidSchemaError(StalledError):
    """The text is not a schema of its type; `rule` is a documented rule id, `place` says where.

    `escapes` where Avro ends on it with another exception than its one for texts that do not parse, and the rule alone
    does not tell.
    """

    def __init__(self, rule: str, message: str, place: Place | None = None, *, escapes: bool = False) -> None:
        super().__init__("InvalidSchema", message)
        self.rule = rule
        self.place = place or Place()
        self.escapes = escapes

    @property
    def sentence(self) -> str:
        """Rule, place and message: all that a person needs, in one sentence."""
        return f"{self.rule} at {self.place}: {self.message}"


class InvalidPayloadError(StalledError):
    """The bytes are no message of their schema, or a value cannot be written as one; `rule` is a documented rule id.

    `path` leads through the schema's fields from `$`; `offset` counts the payload's bytes from 0, and is None where a
    value was to be written. Neither they nor the message hold anything of the payload itself.
    """

    def __init__(self, rule: str, message: str, path: str = "$", offset: int | None = None) -> None:
        super().__init__("InvalidPayload", message)
        self.rule = rule
        self.path = path
        self.offset = offset

    @property
    def sentence(self) -> str:
        """Rule, place and message: all that a person needs, in one sentence."""
        where = self.path if self.offset is None else f"{self.path}, byte {self.offset}"
        return f"{self.rule} at {where}: {self.message}"
