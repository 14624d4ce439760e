"""The data source `pulsar-verdicts` over files: the figures of a validation of the same files."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.validation import order_files
from topicschema.spark import PulsarVerdicts

ORDERS = order_files.orders(6_000)


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    spark.dataSource.register(PulsarVerdicts)
    return spark


@pytest.fixture
def options(tmp_path: Path) -> dict[str, str]:
    """Return the options for the orders in Parquet files of two folders, and for their versions."""
    for number, part in enumerate((ORDERS[:2_500], ORDERS[2_500:])):
        order_files.write(part, tmp_path / f"orders-{number}.parquet")
    history = []
    for number, info in order_files.VERSIONS.items():
        file = tmp_path / f"v{number}.avsc"
        file.write_bytes(info.schema)
        history.append(str(file))
    files = ",".join(str(tmp_path / f"orders-{number}.parquet") for number in (0, 1))
    return {"files": files, "history": ",".join(history), "schema": order_files.CANDIDATE.schema.decode()}


def read(session: Any, options: dict[str, str], **more: str) -> Any:
    return session.read.format("pulsar-verdicts").options(**{**options, **more}).load()


def test_counts_by_reason_version_and_hour(session: Any, options: dict[str, str]) -> None:
    rows = read(session, options).collect()
    reasons: Counter[str | None] = Counter()
    hours: Counter[Any] = Counter()
    for row in rows:
        reasons[row.reason] += row.messages
        hours[row.schema_version, int(row.hour.timestamp())] += row.messages
    assert reasons.pop(None) == 6_000 - sum(order_files.reasons(ORDERS).values())
    assert reasons == order_files.reasons(ORDERS)
    assert hours == Counter((each.version, each.publish_time // 3_600_000 * 3_600) for each in ORDERS)
    assert sum(row.bytes for row in rows) == sum(len(each.payload or b"") for each in ORDERS)
    assert {row.topic for row in rows} == set(options["files"].split(","))
    assert {row.partition for row in rows} == {None}


def test_examples_are_rows_of_the_file(session: Any, options: dict[str, str]) -> None:
    parts = dict(zip(options["files"].split(","), (ORDERS[:2_500], ORDERS[2_500:]), strict=True))
    examples = [
        (parts[row.topic][int(each)].reason, row.reason)
        for row in read(session, options).collect()
        for each in row.examples
    ]
    assert len(examples) > 20
    assert all(expected == reason for expected, reason in examples)


def test_the_current_schema_is_the_last_one_of_the_history(session: Any, options: dict[str, str]) -> None:
    current = read(session, options, schema="current", columns="reason,messages").groupBy("reason").sum("messages")
    assert {row.reason for row in current.collect()} == {None, "TRUNCATED", "UNKNOWN_WRITER_VERSION"}


def test_a_strategy_compares_the_last_version_with_the_others(session: Any, options: dict[str, str]) -> None:
    judged = read(session, options, schema="FULL_TRANSITIVE", columns="schema_version,messages,incompatibilities")
    broken: Counter[Any] = Counter()
    for row in judged.collect():
        rules = None if row.incompatibilities is None else tuple(each.rule for each in row.incompatibilities)
        broken[row.schema_version, rules] += row.messages
    versions = Counter(each.version for each in ORDERS)
    assert broken == {
        (0, ("FIELD_WITHOUT_DEFAULT",)): versions[0],
        (1, ()): versions[1],
        (order_files.UNKNOWN_VERSION, None): versions[order_files.UNKNOWN_VERSION],
    }


def test_a_schema_of_another_type(session: Any, tmp_path: Path) -> None:
    lines = [json.dumps({"value": {"n": each}}) for each in (1, 2, "three")]
    (tmp_path / "numbers.jsonl").write_text("\n".join(lines))
    schema = '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]}'
    rows = read(session, {"files": str(tmp_path / "numbers.jsonl"), "schema": schema, "schemaType": "JSON"}).collect()
    assert Counter({row.reason: row.messages for row in rows}) == {None: 2, "WRONG_TYPE": 1}
