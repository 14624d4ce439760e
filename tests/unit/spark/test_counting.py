"""Facts of an audit and rows of verdicts: each message counts once, as in a loop over the messages."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from support.validation import order_files
from support.validation.order_files import Order
from topicschema.core.schemas import NEWEST
from topicschema.spark.audit.facts import ROWS, FactCounter
from topicschema.spark.counting import EXAMPLES
from topicschema.spark.counting import Counter as VerdictCounter
from topicschema.spark.incompatibilities import NO_STRATEGY, VersionComparisons
from topicschema.validation.run.batches import BATCH
from topicschema.validation.run.validators import Validators

VALIDATORS = Validators(order_files.CANDIDATE, order_files.VERSIONS, NEWEST)
UNCOMPARED = VersionComparisons(NO_STRATEGY, (3, order_files.CANDIDATE), order_files.VERSIONS, NEWEST)
HOUR = 3_600_000
END = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp() * 1000)
TIMES = st.sampled_from((-1, 0, HOUR - 1, HOUR, END - 1, END, (1 << 63) - 1))
GOOD = Order(b"\x02", 1, 0)
ORDERS = st.sampled_from((GOOD, Order(b"", 1, 0, "TRUNCATED"), Order(b"\x02", 7, 0, "UNKNOWN_WRITER_VERSION")))
Placed = tuple[Order, int, int, int]


def batch(messages: list[Placed]) -> pa.RecordBatch:
    """Return messages (order, time, ledger, batch index) as a batch. The entry is the number of the message."""
    orders = [order for order, *_ in messages]
    columns: list[Any] = [
        [each.payload for each in orders],
        [None] * len(orders),
        [each.version for each in orders],
        [3] * len(orders),
        [ledger for _, _, ledger, _ in messages],
        range(len(orders)),
        [index for *_, index in messages],
        [time for _, time, _, _ in messages],
    ]
    arrays = [pa.array(list(values), field.type) for values, field in zip(columns, BATCH, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=BATCH)


def facts(batches: Iterable[pa.RecordBatch], **more: bool) -> list[dict[str, Any]]:
    counter = FactCounter("t", "c", **({"has_partitions": True, "has_ledgers": True} | more))
    rows = list(counter.rows((each, VALIDATORS.validate(each)) for each in batches))
    assert all(each.schema == ROWS for each in rows)
    return [row for each in rows for row in each.to_pylist()]


def stamp(milliseconds: int) -> datetime | None:
    if not 0 <= milliseconds < END:
        return None
    return datetime.fromtimestamp(milliseconds // 1000, UTC).replace(microsecond=milliseconds % 1000 * 1000)


MESSAGES = st.lists(st.lists(st.tuples(ORDERS, TIMES, st.integers(1, 2), st.integers(-1, 1)), max_size=30), max_size=3)


@given(MESSAGES)
@settings(deadline=None, max_examples=60)
def test_facts_are_those_of_a_loop_over_the_messages(parts: list[list[Placed]]) -> None:
    rows = facts(batch(part) for part in parts)
    readable: Counter[Any] = Counter()
    times: dict[Any, list[int]] = {}
    for order, time, ledger, _ in (each for part in parts for each in part if not each[0].reason):
        key = (order.version, ledger, stamp(time // HOUR * HOUR if time >= 0 else -1))
        readable[key] += 1
        times.setdefault(key, []).append(time)
    counted = [row for row in rows if row["reason"] is None]
    assert {(row["writer"], row["ledger"], row["hour"]): row["messages"] for row in counted} == readable
    for row in counted:
        chosen = times[row["writer"], row["ledger"], row["hour"]]
        assert (row["first"], row["last"]) == (stamp(min(chosen)), stamp(max(chosen)))
        assert (row["bytes"], row["entry"], row["tolerated"]) == (row["messages"], None, None)
    bad = Counter(
        (row["reason"], row["path"], row["writer"], row["ledger"], row["entry"], row["batch_index"], row["last"])
        for row in rows
        if row["reason"] is not None
    )
    assert bad == Counter(
        (
            *(order.reason, "$.id" if order.reason == "TRUNCATED" else "$", order.version, ledger, entry),
            *(None if index < 0 else index, stamp(time)),
        )
        for part in parts
        for entry, (order, time, ledger, index) in enumerate(part)
        if order.reason
    )
    assert {row["messages"] for row in rows if row["reason"] is not None} <= {1}


@given(MESSAGES)
@settings(deadline=None, max_examples=60)
def test_verdicts_are_those_of_a_loop_over_the_messages(parts: list[list[Placed]]) -> None:
    counter = VerdictCounter("t", UNCOMPARED, has_partitions=True, has_ledgers=True)
    batches = counter.rows(map(batch, parts), VALIDATORS.validate)
    rows = [row for each in batches for row in each.to_pylist()]
    messages: Counter[Any] = Counter()
    sizes: Counter[Any] = Counter()
    positions: dict[Any, list[str]] = {}
    for part in parts:
        for entry, (order, time, ledger, index) in enumerate(part):
            hour = stamp(time // HOUR * HOUR) if 0 <= time < END else None
            path = {"TRUNCATED": "$.id", "UNKNOWN_WRITER_VERSION": "$"}.get(order.reason)
            key = (3, order.version, hour, order.reason or None, path)
            messages[key] += 1
            sizes[key] += len(order.payload or b"")
            if order.reason:
                place = f"{ledger}:{entry}" if index < 0 else f"{ledger}:{entry}:{index}"
                positions.setdefault(key, []).append(place)
    names = ("partition", "schema_version", "hour", "reason", "path")
    by_key = {tuple(row[name] for name in names): row for row in rows}
    assert len(by_key) == len(rows)
    assert {key: row["messages"] for key, row in by_key.items()} == messages
    assert {key: row["bytes"] for key, row in by_key.items()} == dict(sizes)
    assert {key: row["examples"] for key, row in by_key.items()} == {
        key: positions.get(key, [])[:EXAMPLES] for key in messages
    }


def test_what_is_not_known_is_null() -> None:
    (row,) = facts([batch([(GOOD, -1, 1, -1)])], has_partitions=False, has_ledgers=False)
    assert [row[name] for name in ("partition", "ledger", "hour", "first", "last", "error")] == [None] * 6


def test_an_event_counts_no_message() -> None:
    counter = FactCounter("t", "c", has_partitions=True, has_ledgers=True)
    (lost,), (failed,) = (counter.event(lost_entries=7).to_pylist(), counter.event(error="why").to_pylist())
    assert (lost["messages"], lost["lost_entries"], lost["error"]) == (0, 7, None)
    assert (failed["messages"], failed["lost_entries"], failed["error"]) == (0, None, "why")
    assert failed["candidate"] == "c"
