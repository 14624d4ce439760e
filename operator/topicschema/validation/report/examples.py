"""Selection and content of the examples of invalid messages, the same for any split of the messages."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from topicschema.payload.columnar.reasons import REASONS
from topicschema.validation.report.tally import EXAMPLES, MessageExample, Tally
from topicschema.validation.run.sampling import MessageLocations
from topicschema.validation.run.validators import UNREAD, WriterVerdicts

Render = Callable[[bytes | None, bytes | None, int], str]
"""Function from payload, key and schema version of a message to the text in an example."""
FormatOf = Callable[[bytes | None, bytes | None, int], str | None]
"""Function from the same to the other format that the message begins like."""
_APART: Final = 0x5EED_F00D_CAFE
"""Value that changes the seed. With the sample's seed, all examples would be the sample's lowest hashes."""
_PLACE: Final = ("partition", "ledger", "entry", "batch_index")


def identity_of(batch: pa.RecordBatch) -> MessageLocations:
    """Return the columns that locate the messages."""
    return MessageLocations(*(batch.column(name).to_numpy() for name in _PLACE))


@dataclass(frozen=True, slots=True)
class ExampleSelection:
    """Selection of examples by rank. `render` returns their values, None if values must not appear."""

    seed: int
    render: Render | None = None
    format_of: FormatOf | None = None

    def add(self, tally: Tally, batch: pa.RecordBatch, each: WriterVerdicts) -> None:
        """Add to the tally the invalid messages with the lowest ranks of each reason."""
        bad = np.flatnonzero(each.verdicts.reasons)
        if not len(bad):
            return
        reasons = each.verdicts.reasons[bad]
        ranks = identity_of(batch).take(each.rows[bad]).hashes(self.seed ^ _APART)
        for number in np.unique(reasons).tolist():
            places = np.flatnonzero(reasons == number)
            bound = tally.rank_bound(REASONS[number])
            if bound is not None:
                places = places[ranks[places] < np.uint64(bound)]
            first = places[np.argsort(ranks[places], kind="stable")[:EXAMPLES]]
            tally.add_examples(self._example(batch, each, int(bad[at]), int(ranks[at])) for at in first)

    def _example(self, batch: pa.RecordBatch, each: WriterVerdicts, index: int, rank: int) -> MessageExample:
        row = int(each.rows[index])
        message = {name: batch.column(name)[row].as_py() for name in (*_PLACE, "writer", "publish_time")}
        return MessageExample(
            rank=rank,
            place=(message["partition"], message["ledger"], message["entry"], message["batch_index"]),
            writer=message["writer"],
            publish_time=message["publish_time"],
            reason=REASONS[each.verdicts.reasons[index]],
            path=each.validator.paths[each.verdicts.paths[index]],
            offset=int(each.verdicts.offsets[index]),
            value=self._of(self.render, batch, row, message["writer"]),
            format=self._of(self.format_of, batch, row, message["writer"]),
        )

    @staticmethod
    def _of(text_of: FormatOf | None, batch: pa.RecordBatch, row: int, writer: int) -> str | None:
        if text_of is None or writer in UNREAD:
            return None
        return text_of(batch.column("payload")[row].as_py(), batch.column("key")[row].as_py(), writer)
