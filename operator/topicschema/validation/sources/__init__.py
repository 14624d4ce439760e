"""Where messages come from. A source plans once, in the driver; its splits are read in workers, in any order.

Imports nothing heavy: which module opens a source is told in `opening`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from topicschema.core.schemas import SchemaInfo

if TYPE_CHECKING:
    import pyarrow as pa

OWN_WRITERS: Final = -10
"""From here down are the numbers of the schemas that a source itself brings."""
_NOWHERE: Mapping[str, str] = MappingProxyType({})
_NONE: Mapping[int, SchemaInfo] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Split:
    """A part of the messages that is read at once; `what` is small, picklable, and the source's own."""

    what: Any
    messages: int
    """About how many; progress counts with it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to read, up to an end that is fixed: what comes later belongs to no split.

    A topic that does not exist (`is_missing`), or holds nothing, is a plan without splits. `read_to` tells people the
    end, by the name of a partition or file. `names` are what tables call the numbers in `partition`; `files` are the
    files that a batch's `ledger` counts, where it is no ledger.
    """

    splits: tuple[Split, ...] = ()
    read_to: Mapping[str, str] = field(default_factory=lambda: _NOWHERE)
    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    writers: Mapping[int, SchemaInfo] = field(default_factory=lambda: _NONE)
    """Schemas that the source itself brings for its messages, by numbers from OWN_WRITERS down."""
    notes: tuple[str, ...] = ()
    is_missing: bool = False

    @property
    def messages(self) -> int:
        """About how many messages there are."""
        return sum(each.messages for each in self.splits)


@dataclass(frozen=True, slots=True)
class Expired:
    """Messages of a split that the broker removed (retention, say) between the plan and the reading."""

    messages: int


@dataclass(frozen=True, slots=True)
class NotDelivered:
    """Entries of a split that are stored, but of which the broker sends no reader a message; it does not say why."""

    entries: int


class Source(Protocol):
    """Messages that stay as they are while they are read; picklable, for it travels to the workers."""

    def plan(self) -> "Plan":
        """The splits; SourceError where the source cannot be asked. Creates nothing and changes nothing out there."""

    def read(self, split: Split) -> "Iterator[pa.RecordBatch | Expired | NotDelivered]":
        """The split's messages as batches.BATCH, each of them once, however often and wherever it is asked for.

        At most batches.MAX_MESSAGES or about batches.MAX_BYTES a batch. Opens its own clients and closes them at the
        end, also when the reading is given up. SourceError where it cannot be read.

        Messages that are older than the sample wants may be left out or handed on: the run drops them itself.
        """
