"""Which messages are judged: a decision of each message's own identity, so that splits and executors change nothing.

A message's hash is a mix of the seed and of where the message is: partition, ledger, entry and index within a batch. It
is taken where the hash is below a threshold. So each has the same chance whatever its partition; the same seed takes
the same messages, and of two percentages the greater takes all that the smaller took.

`maxMessages` is a threshold, too: that share of the plan's messages. About so many are judged, not exactly: a message's
fate never hangs on the others, or it would hang on the order in which they are read.

A percentage of few messages would be nobody's answer: it never asks for fewer than about FEWEST.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from topicschema.validation.request import Sample

Hashes = NDArray[np.uint64]
Flags = NDArray[np.bool_]
ALL: Final = 1 << 64
"""The threshold that takes every message."""
FEWEST: Final = 1_000
"""About how many messages a percentage takes at least, or all where there are not so many."""
_GOLDEN: Final = 0x9E3779B97F4A7C15
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)
_MASK: Final = ALL - 1


@dataclass(frozen=True, slots=True)
class Identity:
    """Where the messages of a batch are: the batch's own columns, of one length."""

    partition: NDArray[Any]
    ledger: NDArray[Any]
    entry: NDArray[Any]
    batch_index: NDArray[Any]

    def hashes(self, seed: int) -> Hashes:
        """A number for each message, evenly spread; the same for the same seed and place, on any machine."""
        mixed = np.full(len(self.entry), (seed * _GOLDEN + 1) & _MASK, np.uint64)
        for part in (self.partition, self.ledger, self.entry, self.batch_index):
            mixed = _mixed(mixed + np.uint64(_GOLDEN), part.astype(np.int64).view(np.uint64))
        return mixed

    def take(self, chosen: NDArray[Any]) -> "Identity":
        """Those of some of the messages, by flags or indices."""
        return Identity(self.partition[chosen], self.ledger[chosen], self.entry[chosen], self.batch_index[chosen])


@dataclass(frozen=True, slots=True)
class Sampling:
    """The decision, made once for a run: below which hash a message is taken, and from which time on (milliseconds).

    A message without publish time is as young as is asked for.
    """

    seed: int
    threshold: int = ALL
    since: int | None = None

    @classmethod
    def of(cls, sample: Sample, messages: int, started: int) -> "Sampling":
        """The one for a plan of about so many messages, of a run that started then (milliseconds since 1970)."""
        threshold = min(ALL, max(ALL * sample.percent // 100, ALL * FEWEST // max(1, messages)))
        if sample.max_messages is not None and messages > sample.max_messages:
            threshold = min(threshold, ALL * sample.max_messages // messages)
        return cls(sample.seed, threshold, sample.since(started))

    def chosen(self, identity: Identity, publish_time: NDArray[np.int64]) -> Flags | None:
        """Which messages are judged; None for all of them."""
        young = self.young(publish_time)
        if self.threshold >= ALL:
            return young
        flags: Flags = identity.hashes(self.seed) < np.uint64(self.threshold)
        return flags if young is None else flags & young

    def young(self, publish_time: NDArray[np.int64]) -> Flags | None:
        """Which messages are young enough; None where any age is."""
        return None if self.since is None else (publish_time >= self.since) | (publish_time < 0)


def _mixed(numbers: Hashes, more: Hashes) -> Hashes:
    """SplitMix64's last steps over both."""
    mixed = numbers ^ more
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return mixed ^ (mixed >> np.uint64(31))
