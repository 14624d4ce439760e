"""Typed columns of `pulsar-messages`: each message decoded by its own version, and projected on one schema."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from support.validation.spark_reads import options
from support.validation.topic_messages import RetainedTopic, Sent, open_client
from testbed.pulsar import Pulsar
from topicschema import payload
from topicschema.core import formats
from topicschema.core.schemas import SchemaInfo, SchemaType

pytestmark = [pytest.mark.timeout(600), pytest.mark.broker]

DAY = {"type": "int", "logicalType": "date"}
MOMENT = {"type": "long", "logicalType": "timestamp-millis"}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}


def record(*fields: tuple[str, Any, Any]) -> SchemaInfo:
    members = [{"name": name, "type": type_} | ({} if default is ... else {"default": default})
               for name, type_, default in fields]  # fmt: skip
    return SchemaInfo(SchemaType.AVRO, json.dumps({"type": "record", "name": "Order", "fields": members}).encode())


OLD = record(("id", "int", ...), ("day", DAY, ...), ("lines", {"type": "array", "items": "string"}, ...))
NEW = record(
    *(("id", "long", ...), ("at", MOMENT, 0), ("price", PRICE, "\x01"), ("note", ["null", "string"], None)),
    *(("lines", {"type": "array", "items": "string"}, []), ("day", DAY, 0)),
)


def encoded(info: SchemaInfo, value: dict[str, Any]) -> bytes:
    return payload.encode(formats.parse(info), value).payload or b""


@pytest.fixture(scope="module")
def orders(retaining_pulsar: Pulsar) -> RetainedTopic:
    """Return a topic with orders of two versions, a broken one, one with more bytes, and a null message."""
    topic = RetainedTopic.create(retaining_pulsar)
    retaining_pulsar.call("PUT", f"/namespaces/{topic.namespace}/schemaCompatibilityStrategy", "BACKWARD")
    old = [{"id": number, "day": number, "lines": ["x"] * number} for number in range(4)]
    new = {"id": 1 << 40, "at": 1_769_860_800_123, "price": b"\x04\xd2", "note": "été", "lines": [], "day": 20_000}
    with open_client(retaining_pulsar) as client:
        topic.send(client, [encoded(OLD, each) for each in old], schema=Sent(OLD), batching_enabled=True)
        whole = encoded(NEW, new)
        topic.send(client, [whole, whole[:-1], whole + b"?", None], schema=Sent(NEW))
    return topic


def read(spark: Any, topic: RetainedTopic, **more: str) -> Any:
    return spark.read.format("pulsar-messages").options(**options(topic, **more)).load()


def test_messages_of_all_versions_are_rows_of_one_schema(spark: Any, orders: RetainedTopic) -> None:
    rows = read(spark, orders, readerSchema=NEW.schema.decode(), columns="schema_version,value,_corrupt").collect()
    values = [row.value.asDict() for row in rows if row.value is not None]
    assert [each["id"] for each in values] == [0, 1, 2, 3, 1 << 40, 1 << 40]
    assert [each["lines"] for each in values] == [[], ["x"], ["x", "x"], ["x", "x", "x"], [], []]
    assert {each["note"] for each in values[:4]} == {None}
    assert values[3]["day"] == date(1970, 1, 4)
    assert values[0]["price"] == Decimal("0.01")
    last = values[4]
    assert (last["price"], last["note"], last["day"]) == (Decimal("12.34"), "été", date(2024, 10, 4))
    assert last["at"].replace(tzinfo=UTC) == datetime(2026, 1, 31, 12, 0, 0, 123_000, UTC)
    faulty = [(row.value is None, *row._corrupt) for row in rows if row._corrupt is not None]
    assert faulty == [(True, "TRUNCATED", "$.day"), (False, "TRAILING_BYTES", "$")]
    assert values[5] == last
    assert len(rows) == 8


def test_the_current_schema_of_a_topic(spark: Any, orders: RetainedTopic) -> None:
    rows = read(spark, orders, readerSchema="current", mode="DROPMALFORMED")
    assert rows.where("value.note = 'été'").count() == 2
    assert rows.where("value IS NOT NULL").agg({"value.id": "max"}).first()[0] == 1 << 40
    assert "_corrupt" not in rows.columns
    assert rows.count() == 7


@pytest.mark.full
def test_failfast_names_the_first_bad_message(spark: Any, orders: RetainedTopic) -> None:
    with pytest.raises(Exception, match=rf"{orders.full_name}, \d+:\d+:-1: the schema cannot read the message: TRUNC"):
        read(spark, orders, readerSchema=NEW.schema.decode(), mode="FAILFAST").collect()
