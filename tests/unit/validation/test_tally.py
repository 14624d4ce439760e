"""Figures are exact however the messages are cut and put together again."""

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.validation import order_files
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.columnar.reasons import REASONS
from topicschema.validation.report import counting, rendering
from topicschema.validation.report.bounded_counter import ANY, Rollup, dropped, hours_of
from topicschema.validation.report.counting import grouped
from topicschema.validation.report.examples import ExampleSelection
from topicschema.validation.report.tables import Figures
from topicschema.validation.report.tally import MAX_UNKNOWN_VERSIONS, Tally
from topicschema.validation.run.batches import (
    BATCH,
    DAMAGED,
    ENCRYPTED,
    INVALID_KEY,
    NO_VERSION,
    UNKNOWN_SCHEMA_VERSION,
)
from topicschema.validation.run.validators import Validators
from topicschema.validation.sources import Plan

ORDERS = order_files.orders(400, share=0.2)


def batch_of(rows: list[int]) -> pa.RecordBatch:
    orders = [ORDERS[row] for row in rows]
    places = [{"partition": row % 3, "ledger": 5, "entry": row, "batch_index": -1, "key": None} for row in rows]
    messages = [
        {"payload": each.payload, "writer": each.version, "publish_time": each.publish_time * (1 + row % 2)}
        for row, each in zip(rows, orders, strict=True)
    ]
    return pa.RecordBatch.from_pylist([place | each for place, each in zip(places, messages, strict=True)], BATCH)


def tally_of(rows: list[int]) -> Tally:
    tally = Tally()
    batch = batch_of(rows)
    verdicts = list(Validators(order_files.CANDIDATE, order_files.VERSIONS, PulsarVersion.V4_0).validate(batch))
    counting.count(tally, batch, verdicts)
    for each in verdicts:
        ExampleSelection(3).add(tally, batch, each)
    return tally


WHOLE = tally_of(list(range(len(ORDERS))))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, len(ORDERS) - 1), unique=True, max_size=6), st.randoms(use_true_random=False))
def test_tallies_of_any_parts_merged_in_any_order_are_the_tally_of_the_whole(
    cuts: list[int], chance: random.Random
) -> None:
    rows = list(range(len(ORDERS)))
    chance.shuffle(rows)
    bounds = [0, *sorted(cuts), len(rows)]
    parts = [tally_of(rows[start:end]) for start, end in pairwise(bounds)]
    while len(parts) > 1:
        chance.shuffle(parts)
        one, other, *rest = parts
        parts = [Tally.unpacked(one.packed).merge(Tally.unpacked(other.packed)), *rest]
    assert parts[0].packed == WHOLE.packed


STEPS = (hours_of(1, 24), dropped(0, ANY), dropped(1, ANY))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 200)), max_size=60), st.integers(0, 60))
def test_a_table_with_too_many_keys_is_coarser_and_the_same_in_any_order(keys: list[tuple[int, int]], cut: int) -> None:
    whole, one, other = Rollup(STEPS, 8), Rollup(STEPS, 8), Rollup(STEPS, 8)
    for number, key in enumerate(keys):
        whole.add(key, 1)
        (one if number < cut else other).add(key, 1)
    other.merge(one.counts.items(), one.level)
    assert (other.counts, other.level) == (whole.counts, whole.level)
    assert len(whole.counts) <= 8
    assert sum(whole.counts.values()) == len(keys)


@pytest.mark.parametrize("wide", [False, True])
def test_rows_are_counted_by_their_values_however_far_apart_these_are(wide: bool) -> None:  # noqa: FBT001
    chance = random.Random(1)  # noqa: S311  # the same each time
    big = (1 << 62) if wide else 3
    rows = [(chance.randrange(3), chance.choice([-big, 0, big])) for _ in range(500)]
    columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
    assert dict(grouped(columns)) == Counter(rows)
    assert dict(grouped([np.zeros(0, np.int64)])) == {}


def test_the_number_of_reported_unknown_versions_is_limited() -> None:
    tally = Tally()
    for version in range(3 * MAX_UNKNOWN_VERSIONS, 0, -1):
        tally.count_unknown_version(version, 2)
    assert tally.unknown_versions == dict.fromkeys(range(1, MAX_UNKNOWN_VERSIONS + 1), 2)


def figures_of(*, finding_steps: int, traffic_steps: int) -> Figures:
    """Return figures of 30 messages in three partitions and hours, every tenth invalid, after steps of each table."""
    tally = Tally()
    for number in range(30):
        place = number // 10
        tally.traffic.add((0, place, 500 + 800 * place), 1)
        if number % 10 == 0:
            tally.findings.add(("TRUNCATED", "$.a", 0, place, 500 + 800 * place), 1)
    tally.findings.merge((), finding_steps)
    tally.traffic.merge((), traffic_steps)
    return Figures(tally, Plan(names=("p0", "p1", "p2")))


@pytest.mark.parametrize(
    ("finding_steps", "traffic_steps"), [(0, 0), (1, 0), (2, 0), (0, 2), (3, 2), (5, 0), (0, 4), (6, 4)]
)
def test_a_partition_or_hour_whose_invalid_messages_are_dropped_is_not_reported_as_valid(
    finding_steps: int, traffic_steps: int
) -> None:
    figures = figures_of(finding_steps=finding_steps, traffic_steps=traffic_steps)
    rows = figures.partitions()
    assert (sum(row["messages"] for row in rows), sum(row["invalid"] for row in rows)) == (30, 3)
    assert len(rows) == (3 if finding_steps < 2 and traffic_steps < 2 else 1)
    hours = figures.hours()["rows"]
    are_reported = finding_steps < 5 and traffic_steps < 4
    assert len(hours) == (3 if are_reported else 0)
    assert sum(row["invalid"] for row in hours) == len(hours)


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
def test_a_message_that_cannot_be_read_is_invalid_with_its_reason(writer: int, reason: str) -> None:
    [each] = Validators(_TEXT, {0: _TEXT}, PulsarVersion.V4_0).validate(_batch(writer))
    assert [REASONS[number] for number in each.verdicts.reasons] == [reason]


def _batch(writer: int, payload: bytes = b"") -> pa.RecordBatch:
    row = {"payload": payload, "key": None, "writer": writer, "partition": 0}
    row |= {"ledger": 1, "entry": 2, "batch_index": -1, "publish_time": -1}
    return pa.RecordBatch.from_pylist([row], schema=BATCH)


@pytest.mark.parametrize(("writer", "value"), [(ENCRYPTED, None), (DAMAGED, None), (7, '""')])
def test_an_unreadable_message_has_no_value_in_examples(writer: int, value: str | None) -> None:
    batch, tally = _batch(writer), Tally()
    [each] = Validators(_TEXT, {}, PulsarVersion.V4_0).validate(batch)
    ExampleSelection(0, rendering.of(_TEXT, {}, PulsarVersion.V4_0)).add(tally, batch, each)
    assert [example.value for examples in tally.examples.values() for example in examples] == [value]


def test_an_example_names_the_other_format_that_it_begins_like() -> None:
    reader = SchemaInfo(
        SchemaType.AVRO, b'{"type": "record", "name": "R", "fields": [{"name": "s", "type": "string"}]}'
    )
    batch, tally = _batch(NO_VERSION, b"\xc3\x01........\x02a"), Tally()
    [each] = Validators(reader, {}, PulsarVersion.V4_0).validate(batch)
    ExampleSelection(0, format_of=rendering.formats_of(reader, {}, PulsarVersion.V4_0)).add(tally, batch, each)
    [example] = Tally.unpacked(tally.packed).examples["NEGATIVE_LENGTH"]
    assert (example.format or "").startswith("Avro's single-object encoding")
