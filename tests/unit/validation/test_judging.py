"""What is said of messages that no judge is asked about."""

import pyarrow as pa
import pytest

from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.payload.columnar.reasons import REASONS
from topicschema.validation.report import rendering
from topicschema.validation.report.examples import ExampleSelection
from topicschema.validation.report.tally import Tally
from topicschema.validation.run.batches import BATCH, DAMAGED, ENCRYPTED, INVALID_KEY, UNKNOWN_SCHEMA_VERSION
from topicschema.validation.run.validators import Validators

_TEXT = SchemaInfo(SchemaType.STRING, b"")


@pytest.mark.parametrize(
    ("writer", "reason"),
    [
        (ENCRYPTED, "ENCRYPTED"),
        (DAMAGED, "CHECKSUM_MISMATCH"),
        (INVALID_KEY, "INVALID_BASE64"),
        (UNKNOWN_SCHEMA_VERSION, "UNKNOWN_WRITER_VERSION"),
        (7, "UNKNOWN_WRITER_VERSION"),
        (0, ""),
    ],
)
def test_what_cannot_be_judged_does_not_pass_and_says_why(writer: int, reason: str) -> None:
    [each] = Validators(_TEXT, {0: _TEXT}, PulsarLine.V4_0).validate(_batch(writer))
    assert [REASONS[number] for number in each.verdicts.reasons] == [reason]


def _batch(writer: int) -> pa.RecordBatch:
    row = {"payload": b"", "key": None, "writer": writer, "partition": 0}
    row |= {"ledger": 1, "entry": 2, "batch_index": -1, "publish_time": -1}
    return pa.RecordBatch.from_pylist([row], schema=BATCH)


@pytest.mark.parametrize(("writer", "value"), [(ENCRYPTED, None), (DAMAGED, None), (7, '""')])
def test_of_what_nobody_can_read_no_value_is_shown(writer: int, value: str | None) -> None:
    batch, tally = _batch(writer), Tally()
    [each] = Validators(_TEXT, {}, PulsarLine.V4_0).validate(batch)
    ExampleSelection(0, rendering.of(_TEXT, {}, PulsarLine.V4_0)).add(tally, batch, each)
    assert [example.value for examples in tally.examples.values() for example in examples] == [value]
