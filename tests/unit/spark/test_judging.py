"""What is said of messages that no judge is asked about."""

import pyarrow as pa
import pytest

from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.payload.judges import judge_of
from topicschema.spark.batches import BATCH, DAMAGED, ENCRYPTED, STRANGE_VERSION
from topicschema.spark.judging import Judging

_TEXT = SchemaInfo(SchemaType.STRING, b"")


@pytest.mark.parametrize(
    ("writer", "reason"),
    [
        (ENCRYPTED, "ENCRYPTED"),
        (DAMAGED, "CHECKSUM_MISMATCH"),
        (STRANGE_VERSION, "UNKNOWN_WRITER_VERSION"),
        (7, "UNKNOWN_WRITER_VERSION"),
        (0, ""),
    ],
)
def test_what_cannot_be_judged_does_not_pass_and_says_why(writer: int, reason: str) -> None:
    judging = Judging(_TEXT, {0: _TEXT}, PulsarLine.V4_0, judge_of)
    row = {"payload": b"", "key": None, "writer": writer, "partition": 0}
    row |= {"ledger": 1, "entry": 2, "batch_index": -1, "publish_time": -1}
    judged = judging.judge(pa.RecordBatch.from_pylist([row], schema=BATCH))
    assert [judging.words[code] for code in judged.reason] == [reason]
