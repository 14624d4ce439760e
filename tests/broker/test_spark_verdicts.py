"""The data source `pulsar-verdicts` in a real Spark session, beside validation runs over the same real topics."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.pulsar.rest_topic import RestTopic, optional, record
from support.validation import topic_orders
from support.validation.spark_reads import options
from support.validation.topic_messages import RetainedTopic, Sent, open_client
from testbed.fault_proxy import FaultProxy
from testbed.pulsar import Pulsar
from topicschema.core.schemas import NEWEST, SchemaInfo, SchemaType
from topicschema.core.topics import Topic
from topicschema.spark.versions import TopicVersions
from topicschema.validation.request import PulsarSource, ValidationRequest
from topicschema.validation.run import runner
from topicschema.validation.sources.pulsar import admin
from topicschema.validation.sources.pulsar.admin import Admin

pytestmark = [pytest.mark.timeout(600), pytest.mark.broker]

FORMAT = "pulsar-verdicts"
SHARE = topic_orders.Share(4_000)


@pytest.fixture(scope="module")
def broker(retaining_pulsar: Pulsar) -> Pulsar:
    return retaining_pulsar


def info(schema: Any) -> SchemaInfo:
    return SchemaInfo(SchemaType.AVRO, json.dumps(schema).encode())


@pytest.fixture(scope="module")
def orders(broker: Pulsar) -> RetainedTopic:
    """Return a topic with orders of a version, some of them truncated, and orders without a version."""
    topic = RetainedTopic.create(broker, partitions=2)
    with open_client(broker) as client:
        for messages, count in SHARE.parts:
            sent = [messages[number % len(messages)][1] for number in range(count)]
            topic.send(client, sent, schema=Sent(info(topic_orders.WRITTEN)), batching_enabled=True)
        topic.send(client, [messages[0][1][:-2]] * 3)
    return topic


def read(spark: Any, topic: RetainedTopic, **more: str) -> Any:
    return spark.read.format(FORMAT).options(**options(topic, **more)).load()


def by_reason(rows: Any) -> Counter[Any]:
    """Return the number of messages by version, reason and path."""
    counts: Counter[Any] = Counter()
    for row in rows.collect():
        counts[row.schema_version, row.reason, row.path] += row.messages
    return counts


def test_figures_are_those_of_a_validation_run(spark: Any, orders: RetainedTopic) -> None:
    written, proposed = info(topic_orders.WRITTEN), info(topic_orders.NARROWER)
    request = ValidationRequest(proposed, {0: written}, orders.full_name, pulsar=orders.pulsar_source)
    run = runner.run(request, orders.source(), workers=1).document
    rows = read(spark, orders, schema=proposed.schema.decode(), maxBytesPerPartition="20k")
    counts = by_reason(rows)
    assert counts == Counter(
        {
            (0, None, None): SHARE.messages - SHARE.bad,
            (0, "UNKNOWN_SYMBOL", "$.status"): SHARE.lost,
            (0, "TRUNCATED", "$.note"): SHARE.cut,
            (None, "TRUNCATED", "$.note"): 3,
        }
    )
    assert {each["reason"]: each["messages"] for each in run["byReason"]} == {
        "UNKNOWN_SYMBOL": SHARE.lost,
        "TRUNCATED": SHARE.cut + 3,
    }
    assert counts.total() == run["messages"]
    assert rows.selectExpr("sum(bytes)").first()[0] == sum(len(each or b"") for each, _ in orders.sent.elements())


def test_examples_are_positions_of_bad_messages(spark: Any, orders: RetainedTopic) -> None:
    proposed = json.dumps(topic_orders.NARROWER)
    lost = read(spark, orders, schema=proposed).where("reason = 'UNKNOWN_SYMBOL'").collect()
    examples = {(row.partition, each) for row in lost for each in row.examples}
    messages = spark.read.format("pulsar-messages").options(**options(orders)).load()
    sent = {each for each, _ in orders.sent}
    for row in messages.collect():
        place = (
            f"{row.ledger}:{row.entry}" if row.batch_index is None else f"{row.ledger}:{row.entry}:{row.batch_index}"
        )
        if (row.partition, place) in examples:
            examples.remove((row.partition, place))
            assert bytes(row.payload) in sent
            assert b"\x04" in row.payload  # the third status
    assert not examples
    assert {row.tolerated for row in lost} == {False}
    assert not any(row.examples for row in read(spark, orders, schema=proposed).where("reason IS NULL").collect())


def test_each_topic_is_read_with_its_current_schema(spark: Any, broker: Pulsar, orders: RetainedTopic) -> None:
    plain = RetainedTopic(broker, orders.namespace, "plain", 0)
    with open_client(broker) as client:
        plain.send(client, [b"anything", None])
    rows = read(spark, orders, namespace=orders.namespace, schema="current")
    counts = {tuple(row) for row in rows.groupBy("topic", "reason").sum("messages").collect()}
    assert counts == {
        (orders.full_name, None, SHARE.messages - SHARE.cut),
        (orders.full_name, "TRUNCATED", SHARE.cut + 3),
        (plain.full_name, None, 2),
    }


@pytest.mark.parametrize(
    ("limit", "requests"),
    [(10_000, ["schemas", "schema/3"]), (100, ["schemas", "schema/2", "schema/0", "schema/1", "schema/3"])],
)
def test_all_versions_are_requested_at_once_unless_they_are_large(
    broker: Pulsar, monkeypatch: pytest.MonkeyPatch, limit: int, requests: list[str]
) -> None:
    monkeypatch.setattr(admin, "_LISTED_BYTES", limit)
    topic = RetainedTopic.create(broker)
    rest = RestTopic(broker, topic.namespace, topic.name)
    texts = [record(optional(f"f{number}"), doc="long") for number in range(3)]
    assert [rest.upload_version(each) for each in texts] == [0, 1, 2]
    with FaultProxy.before(broker) as proxy, Admin(PulsarSource(proxy.url, broker.service_url)) as client:
        versions = TopicVersions(Topic.parse(topic.full_name), NEWEST)
        read = [versions.info(client, number) for number in (2, 0, 1, 3, 0)]
        calls = [call.path.partition("?")[0].partition(f"/{topic.name}/")[2] for call in proxy.calls]
    shown = [None if each is None else json.loads(each.schema) for each in read]
    assert shown == [json.loads(texts[2]), json.loads(texts[0]), json.loads(texts[1]), None, json.loads(texts[0])]
    assert calls == requests


@pytest.mark.full
def test_a_version_that_the_broker_lost_is_a_reason(spark: Any, broker: Pulsar) -> None:
    topic = RetainedTopic.create(broker)
    with open_client(broker) as client:
        topic.send(client, [b"\x02"] * 4, schema=Sent(info({"type": "record", "name": "R", "fields": []})))
    broker.call("DELETE", f"/schemas/{topic.namespace}/{topic.name}/schema?force=true")
    schema = '{"type": "record", "name": "R", "fields": []}'
    assert by_reason(read(spark, topic, schema=schema)) == {(0, "UNKNOWN_WRITER_VERSION", "$"): 4}


@pytest.mark.full
def test_a_topicschema_in_a_file_is_the_schema(spark: Any, orders: RetainedTopic, tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    spec = {"topic": orders.full_name, "type": "AVRO", "schema": json.dumps(topic_orders.NARROWER)}
    file.write_text(json.dumps({"apiVersion": "topicschema.io/v1alpha1", "kind": "TopicSchema", "spec": spec}))
    rows = read(spark, orders, schema=str(file), columns="reason,messages")
    assert rows.where("reason = 'UNKNOWN_SYMBOL'").selectExpr("sum(messages)").first()[0] == SHARE.lost


def test_a_stream_counts_each_message_once(spark: Any, broker: Pulsar, tmp_path: Path) -> None:
    topic = RetainedTopic.create(broker)
    values = options(topic, schema='"int"')

    def run() -> Counter[Any]:
        stream = spark.readStream.format(FORMAT).options(**values).load()
        writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.option("path", str(tmp_path / "table")).trigger(availableNow=True).start().awaitTermination()
        return by_reason(spark.read.parquet(str(tmp_path / "table")))

    with open_client(broker) as client:
        topic.send(client, [b"\x02"] * 70 + [b"\x82"], batching_enabled=True)
        assert run() == {(None, None, None): 70, (None, "TRUNCATED", "$"): 1}
        assert run().total() == 71
        topic.send(client, [b"\x82"] * 2)
        assert run() == {(None, None, None): 70, (None, "TRUNCATED", "$"): 3}
