"""Selection and content of the examples of invalid messages, the same for any split of the messages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from topicschema.validation.report.tally import EXAMPLES, Example, Tally
from topicschema.validation.run.judging import UNJUDGED, Judged
from topicschema.validation.run.sampling import Identity

Render = Callable[[bytes | None, bytes | None, int], str]
"""Function from payload, key and schema version of a message to the text in an example."""
_APART: Final = 0x5EED_F00D_CAFE
"""Value that changes the seed. With the sample's seed, all examples would be the sample's lowest hashes."""
_PLACE: Final = ("partition", "ledger", "entry", "batch_index")


def identity_of(batch: pa.RecordBatch) -> Identity:
    """Return the columns that locate the messages."""
    return Identity(*(batch.column(name).to_numpy() for name in _PLACE))


@dataclass(frozen=True, slots=True)
class Drawing:
    """Selection of examples by rank. `render` returns their values, None if values must not appear."""

    seed: int
    render: Render | None = None

    def keep(self, tally: Tally, batch: pa.RecordBatch, judged: Judged, words: Sequence[str]) -> None:
        """Add to the tally the batch's invalid messages with the lowest ranks of each reason."""
        rows = np.flatnonzero(judged.reason)
        ranks = identity_of(batch).take(rows).hashes(self.seed ^ _APART)
        reasons = judged.reason[rows]
        for code in np.unique(reasons).tolist():
            found = np.flatnonzero(reasons == code)
            bound = tally.rank_bound(words[code])
            if bound is not None:
                found = found[ranks[found] < np.uint64(bound)]
            first = found[np.argsort(ranks[found], kind="stable")[:EXAMPLES]]
            tally.keep(self._example(batch, judged, words, (int(rows[at]), int(ranks[at]))) for at in first)

    def _example(self, batch: pa.RecordBatch, judged: Judged, words: Sequence[str], at: tuple[int, int]) -> Example:
        row, rank = at
        told = {name: batch.column(name)[row].as_py() for name in (*_PLACE, "writer", "publish_time")}
        return Example(
            rank=rank,
            place=(told["partition"], told["ledger"], told["entry"], told["batch_index"]),
            writer=told["writer"],
            publish_time=told["publish_time"],
            reason=words[judged.reason[row]],
            path=words[judged.path[row]],
            offset=int(judged.offset[row]),
            value=self._value(batch, row, told["writer"]),
        )

    def _value(self, batch: pa.RecordBatch, row: int, writer: int) -> str | None:
        if self.render is None or writer in UNJUDGED:
            return None
        return self.render(batch.column("payload")[row].as_py(), batch.column("key")[row].as_py(), writer)
