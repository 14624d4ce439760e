"""What is said of messages that no judge is asked about."""

import pyarrow as pa
import pytest

from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.payload.columnar import validator_for
from topicschema.validation.report import rendering
from topicschema.validation.report.examples import Drawing
from topicschema.validation.report.tally import Tally
from topicschema.validation.run.batches import BATCH, DAMAGED, ENCRYPTED, STRANGE_KEY, STRANGE_VERSION
from topicschema.validation.run.judging import Judging

_TEXT = SchemaInfo(SchemaType.STRING, b"")


@pytest.mark.parametrize(
    ("writer", "reason"),
    [
        (ENCRYPTED, "ENCRYPTED"),
        (DAMAGED, "CHECKSUM_MISMATCH"),
        (STRANGE_KEY, "INVALID_BASE64"),
        (STRANGE_VERSION, "UNKNOWN_WRITER_VERSION"),
        (7, "UNKNOWN_WRITER_VERSION"),
        (0, ""),
    ],
)
def test_what_cannot_be_judged_does_not_pass_and_says_why(writer: int, reason: str) -> None:
    judging, batch = Judging(_TEXT, {0: _TEXT}, PulsarLine.V4_0, validator_for), _batch(writer)
    judged = judging.judge(batch)
    assert [judging.words[code] for code in judged.reason] == [reason]


def _batch(writer: int) -> pa.RecordBatch:
    row = {"payload": b"", "key": None, "writer": writer, "partition": 0}
    row |= {"ledger": 1, "entry": 2, "batch_index": -1, "publish_time": -1}
    return pa.RecordBatch.from_pylist([row], schema=BATCH)


@pytest.mark.parametrize(("writer", "value"), [(ENCRYPTED, None), (DAMAGED, None), (7, '""')])
def test_of_what_nobody_can_read_no_value_is_shown(writer: int, value: str | None) -> None:
    judging, batch, tally = Judging(_TEXT, {}, PulsarLine.V4_0, validator_for), _batch(writer), Tally()
    drawing = Drawing(0, rendering.of(_TEXT, {}, PulsarLine.V4_0))
    drawing.keep(tally, batch, judging.judge(batch), judging.words)
    assert [each.value for kept in tally.examples.values() for each in kept] == [value]
