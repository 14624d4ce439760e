"""What every notation offers to the rest of core."""

from dataclasses import dataclass
from typing import Any, Protocol

from topicschema.core.schemas import PulsarLine, Schema, SchemaInfo
from topicschema.core.steps import Steps
from topicschema.core.strategies import Direction


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that a reader cannot read of a writer.

    `message` holds the marks `{reader}` and `{writer}` where the two are named; whoever knows which of the two is the
    candidate fills them in. The paths are JSON paths into the reader's and the writer's text. `is_mutual` says that
    neither reads the other for this reason, so it is told once and without a direction. `only_in` is for what depends
    on which of the two is the newer: it holds where the candidate is the reader (BACKWARD), or the writer (FORWARD).
    """

    rule: str
    message: str
    reader_path: str
    writer_path: str
    is_mutual: bool = False
    only_in: Direction | None = None


class Format(Protocol):
    """A notation of schemas."""

    @property
    def has_checker(self) -> bool:
        """Whether the broker looks at an earlier schema of this notation besides its type and its hash."""

    def parse(self, info: SchemaInfo, line: PulsarLine, *, validate_defaults: bool = True) -> Schema:
        """The parsed schema; InvalidSchemaError with rule and place when it cannot be used.

        `validate_defaults=False` is the parse of the broker's compatibility check alone, which leaves defaults unread.
        """

    def compares(self, schema: Any) -> bool:
        """Whether the broker has a checker for what `schema` holds; where it has none, UNDEFINED admits a change."""

    def unreadable(self, reader: Any, writer: Any, steps: Steps) -> tuple[Mismatch, ...]:
        """All that a reader with `reader` cannot read of messages written with `writer`, in the reader's order.

        TooComplexError if that needs more than the `steps` left; of `risks`, too.
        """

    def risks(self, reader: Any, writer: Any, steps: Steps) -> tuple[Mismatch, ...]:
        """What the broker's check lets pass, and a reader with `reader` loses or misreads of messages of `writer`.

        Nothing that `unreadable` tells. Both schemas are of one type.
        """
