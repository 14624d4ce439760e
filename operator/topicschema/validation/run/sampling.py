"""Selection of the messages for validation by each message's own identity, independent of splits and executors.

A message's hash mixes the seed with the message's location: partition, ledger, entry and index within a batch. A
message is selected if its hash is below a threshold. So each message has the same probability in any partition. The
same seed selects the same messages, and a greater percentage includes the messages of a smaller one.

`maxMessages` is a threshold, too: its share of the plan's messages. So the number of validated messages is approximate.
An exact number would depend on other messages and thus on the order of reading.

A percentage of few messages would mean little, so it selects about FEWEST or more.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from topicschema.payload.columnar.column import Flags
from topicschema.validation.request import Sample

Hashes = NDArray[np.uint64]
ALL: Final = 1 << 64
"""Threshold that selects every message."""
FEWEST: Final = 1_000
"""Approximate minimum number of messages of a percentage, or all if there are fewer."""
_GOLDEN: Final = 0x9E3779B97F4A7C15
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)
_MASK: Final = ALL - 1


@dataclass(frozen=True, slots=True)
class MessageLocations:
    """Location of the messages of a batch: the batch's own columns, of one length."""

    partition: NDArray[Any]
    ledger: NDArray[Any]
    entry: NDArray[Any]
    batch_index: NDArray[Any]

    def hashes(self, seed: int) -> Hashes:
        """Return a uniformly distributed hash for each message, the same for the same seed and place on any machine."""
        mixed = np.full(len(self.entry), (seed * _GOLDEN + 1) & _MASK, np.uint64)
        for part in (self.partition, self.ledger, self.entry, self.batch_index):
            mixed = _mixed(mixed + np.uint64(_GOLDEN), part.astype(np.int64).view(np.uint64))
        return mixed

    def take(self, chosen: NDArray[Any]) -> "MessageLocations":
        """Return the locations of some messages, by flags or indices."""
        return MessageLocations(
            self.partition[chosen], self.ledger[chosen], self.entry[chosen], self.batch_index[chosen]
        )


@dataclass(frozen=True, slots=True)
class Sampling:
    """Selection for a run: a message's hash is below `threshold`, its publish time at or after `since` (milliseconds).

    A message without a publish time is young enough.
    """

    seed: int
    threshold: int = ALL
    since: int | None = None

    @classmethod
    def of(cls, sample: Sample, messages: int, started: int) -> "Sampling":
        """Return the selection for a run that `started` then (milliseconds since 1970), with about `messages`."""
        threshold = min(ALL, max(ALL * sample.percent // 100, ALL * FEWEST // max(1, messages)))
        if sample.max_messages is not None and messages > sample.max_messages:
            threshold = min(threshold, ALL * sample.max_messages // messages)
        return cls(sample.seed, threshold, sample.since(started))

    @property
    def share(self) -> float:
        """The share of the messages that is selected, without regard to their times."""
        return self.threshold / ALL

    def chosen(self, identity: MessageLocations, publish_time: NDArray[np.int64]) -> Flags | None:
        """Return a flag for each message that is selected. Return None for all of them."""
        young = self.young(publish_time)
        if self.threshold >= ALL:
            return young
        flags: Flags = identity.hashes(self.seed) < np.uint64(self.threshold)
        return flags if young is None else flags & young

    def young(self, publish_time: NDArray[np.int64]) -> Flags | None:
        """Return a flag for each message that is young enough. Return None if there is no age limit."""
        return None if self.since is None else (publish_time >= self.since) | (publish_time < 0)


def _mixed(numbers: Hashes, more: Hashes) -> Hashes:
    """Return both numbers mixed by the last steps of SplitMix64."""
    mixed = numbers ^ more
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return mixed ^ (mixed >> np.uint64(31))
