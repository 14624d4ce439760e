"""The interface of a schema format."""

from dataclasses import dataclass
from typing import Any, Protocol

from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo
from topicschema.core.steps import Steps
from topicschema.core.strategies import Direction


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that a reader cannot read of a writer.

    `message` contains the placeholders `{reader}` and `{writer}`, which are replaced when the candidate is known. The
    paths are JSON paths into the reader's and the writer's text.

    `is_mutual` is True if neither reads the other for this reason, so it is reported once and without a direction.
    `only_in` is for what depends on which of the two is the newer. It applies if the candidate is the reader (BACKWARD)
    or the writer (FORWARD).
    """

    rule: str
    message: str
    reader_path: str
    writer_path: str
    is_mutual: bool = False
    only_in: Direction | None = None


class Format(Protocol):
    """A schema format."""

    @property
    def has_checker(self) -> bool:
        """True if the broker compares earlier schemas of this format by more than their type and hash."""

    def parse(self, info: SchemaInfo, pulsar_version: PulsarVersion, *, validate_defaults: bool = True) -> Schema:
        """Return the parsed schema. Raises InvalidSchemaError with rule and place if it is invalid.

        `validate_defaults=False` parses as the broker's compatibility check alone does, which does not read defaults.
        """

    def compares(self, schema: Any) -> bool:
        """Return True if the broker has a checker for `schema`. If not, UNDEFINED admits a change."""

    def unreadable(self, reader: Any, writer: Any, steps: Steps) -> tuple[Mismatch, ...]:
        """Return all that a reader with `reader` cannot read of messages written with `writer`, in the reader's order.

        Like `risks`, it raises TooComplexError if this needs more than the remaining `steps`.
        """

    def risks(self, reader: Any, writer: Any, steps: Steps) -> tuple[Mismatch, ...]:
        """Return what the broker's check accepts, and a reader with `reader` loses or misreads of messages of `writer`.

        The findings of `unreadable` are left out. Both schemas have the same type.
        """
