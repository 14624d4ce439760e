"""Sources of messages. The driver plans a source once, and workers read its splits in any order.

The module imports nothing heavy: `opening` imports the source that a request names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from topicschema.core.schemas import SchemaInfo

if TYPE_CHECKING:
    import pyarrow as pa

OWN_WRITERS: Final = -10
"""Number of the first schema that a source itself brings. The next ones are below it."""
_NOWHERE: Mapping[str, str] = MappingProxyType({})
_NONE: Mapping[int, SchemaInfo] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Split:
    """Part of the messages that one worker reads at once. `what` is small, picklable and specific to the source."""

    what: Any
    messages: int
    """Approximate number of messages, for the progress."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Content of a source up to a fixed end. Later messages are in no split.

    A topic that does not exist (`is_missing`) or is empty has a plan without splits. `read_to` is the end for users, by
    the name of a partition or file. `names` are the names in tables for the numbers in `partition`. `files` are the
    files that a batch numbers in `ledger`, if it has no ledgers.
    """

    splits: tuple[Split, ...] = ()
    read_to: Mapping[str, str] = field(default_factory=lambda: _NOWHERE)
    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    writers: Mapping[int, SchemaInfo] = field(default_factory=lambda: _NONE)
    """Schemas that the source itself brings for its messages, by numbers from OWN_WRITERS down."""
    notes: tuple[str, ...] = ()
    is_missing: bool = False
    bytes: float = 0.0
    """Approximate stored bytes of the messages."""

    @property
    def messages(self) -> int:
        """Approximate number of messages."""
        return sum(each.messages for each in self.splits)


@dataclass(frozen=True, slots=True)
class Expired:
    """Messages of a split that the broker removed after the plan, for example by retention."""

    messages: int


@dataclass(frozen=True, slots=True)
class NotDelivered:
    """Entries of a split that are stored, but of which the broker sends a reader no message and no reason."""

    entries: int


class Source(Protocol):
    """Messages that do not change while they are read. The source is picklable, because workers receive it."""

    def plan(self) -> "Plan":
        """Return the splits. It creates and changes nothing in the source.

        Raises SourceError if the source does not answer.
        """

    def read(self, split: Split) -> "Iterator[pa.RecordBatch | Expired | NotDelivered]":
        """Yield the messages of the split as `batches.BATCH`, each once, in any process and as often as it is called.

        A batch has at most `batches.MAX_MESSAGES` messages and about `batches.MAX_BYTES` bytes. The method opens its
        own clients, and closes them at the end or if the caller stops early. Raises SourceError if the split cannot be
        read.

        It may omit or return messages that are too old for the sample: the run drops them itself.
        """
