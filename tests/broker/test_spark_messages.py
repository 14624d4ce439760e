"""The data source `pulsar-messages` in a real Spark session, beside what Pulsar's own client reads of real topics."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pulsar as python
import pytest

from support.validation.spark_reads import Stream, options
from support.validation.topic_messages import RetainedTopic, Sent, open_client
from testbed.pulsar import Pulsar
from topicschema.core.schemas import SchemaInfo, SchemaType

pytestmark = [pytest.mark.timeout(600), pytest.mark.broker]

FORMAT = "pulsar-messages"
EVENT = datetime(2026, 1, 31, 12, tzinfo=UTC)
NUMBER = '{"type": "record", "name": "N", "fields": [{"name": "n", "type": "int"}%s]}'


@pytest.fixture(scope="module")
def broker(retaining_pulsar: Pulsar) -> Pulsar:
    return retaining_pulsar


@pytest.fixture(scope="module")
def full(broker: Pulsar) -> RetainedTopic:
    """Return a topic of three partitions whose messages have all that a producer can set, alone and in batches."""
    topic = RetainedTopic.create(broker, partitions=3)
    with open_client(broker) as client:
        for batched in (False, True):
            producer = client.create_producer(
                topic.full_name, batching_enabled=batched, batching_max_publish_delay_ms=200, block_if_queue_full=True
            )
            for number in range(60):
                more: Any = {"partition_key": f"k{number % 5}"} if number % 2 else {"ordering_key": f"o{number}"}
                if number % 3 == 0:
                    more |= {"properties": {"é": f"{number}", "b": ""}, "event_timestamp": 1_769_860_800_000 + number}
                producer.send_async(b"%d" % number, lambda *_: None, **more)
            producer.flush()
            producer.close()
        topic.send(client, [None, b"", b"x" * 300_000], chunking_enabled=True)
    return topic


def read(spark: Any, topic: RetainedTopic, **more: str) -> Any:
    return spark.read.format(FORMAT).options(**options(topic, **more)).load()


def by_client(topic: RetainedTopic) -> Counter[Any]:
    """Return the messages as Pulsar's client reads them."""
    messages: Counter[Any] = Counter()
    with open_client(topic.pulsar) as client:
        for name in client.get_topic_partitions(topic.full_name):
            reader = client.create_reader(name, python.MessageId.earliest)
            while reader.has_message_available():
                message = reader.read_next(10_000)
                key, ordering_key = message.partition_key(), message.ordering_key()
                place = message.message_id()
                event = message.event_timestamp()
                messages[
                    int(name.rpartition("-")[2]),
                    (place.ledger_id(), place.entry_id(), None if place.batch_index() < 0 else place.batch_index()),
                    datetime.fromtimestamp(message.publish_timestamp() / 1000, UTC),
                    datetime.fromtimestamp(event / 1000, UTC) if event else None,
                    message.producer_name(),
                    key.encode() if key else None,
                    ordering_key.encode() if ordering_key else None,
                    tuple(sorted(message.properties().items())),
                    message.data(),
                ] += 1
            reader.close()
    return messages


def test_each_message_is_a_row_with_all_that_pulsar_s_client_reads(spark: Any, full: RetainedTopic) -> None:
    rows = read(spark, full, maxBytesPerPartition="2k").collect()
    assert {row.topic for row in rows} == {full.full_name}
    assert {row.error for row in rows} == {None}
    counted = Counter(
        (
            row.partition,
            (row.ledger, row.entry, row.batch_index),
            row.publish_time.replace(tzinfo=UTC),
            row.event_time and row.event_time.replace(tzinfo=UTC),
            row.producer,
            None if row.key is None else bytes(row.key),
            None if row.ordering_key is None else bytes(row.ordering_key),
            tuple(sorted(row.properties.items())),
            bytes(row.payload or b""),
        )
        for row in rows
    )
    assert counted == by_client(full)
    assert [row.payload for row in rows].count(None) == 1
    for producer in {row.producer for row in rows}:
        numbers = [row.sequence_id for row in rows if row.producer == producer]
        assert len(set(numbers)) == len(numbers)


@pytest.mark.full
def test_only_the_chosen_columns_are_read(spark: Any, full: RetainedTopic) -> None:
    chosen = read(spark, full, columns="partition, payload")
    assert chosen.columns == ["partition", "payload"]
    by_schema = spark.read.format(FORMAT).schema("payload binary, partition int").options(**options(full)).load()
    assert sorted(map(tuple, by_schema.select("partition", "payload").collect()), key=str) == sorted(
        map(tuple, chosen.collect()), key=str
    )


def test_a_dataframe_that_is_used_again_has_the_rows_of_each_query(spark: Any, broker: Pulsar) -> None:
    topic = RetainedTopic.create(broker, partitions=2)
    with open_client(broker) as client:
        topic.send(client, payloads("first", 20))
        messages = read(spark, topic, columns="partition")
        assert messages.where("partition = 1").count() == 10
        assert messages.where("partition = 0 OR partition = 1").count() == 20
        topic.send(client, payloads("second", 4))
        assert messages.count() == 20
        assert read(spark, topic, columns="partition").count() == 24


@pytest.mark.full
def test_times_limit_the_messages_exactly(spark: Any, full: RetainedTopic) -> None:
    times = sorted(row.publish_time.replace(tzinfo=UTC) for row in read(spark, full).collect())
    middle = times[len(times) // 2]
    for name, expected in (
        ("since", [each for each in times if each >= middle]),
        ("until", [each for each in times if each < middle]),
    ):
        rows = read(spark, full, **{name: middle.isoformat()}).collect()
        assert sorted(row.publish_time.replace(tzinfo=UTC) for row in rows) == expected
    assert read(spark, full, since="30d").count() == len(times)
    assert read(spark, full, since=(datetime.now(UTC) + timedelta(days=1)).isoformat()).count() == 0


def test_a_namespace_has_all_its_topics_and_each_message_its_schema_version(spark: Any, broker: Pulsar) -> None:
    orders = RetainedTopic.create(broker)
    broker.call("PUT", f"/persistent/{orders.namespace}/empty")
    broker.call("PUT", f"/persistent/{orders.namespace}/parts/partitions", 2)
    parts = RetainedTopic(broker, orders.namespace, "parts", 2)
    with open_client(broker) as client:
        for more in ("", ', {"name": "m", "type": "int", "default": 0}'):
            info = SchemaInfo(SchemaType.AVRO, (NUMBER % more).encode())
            orders.send(client, [b"\x02"] * 5, schema=Sent(info))
        parts.send(client, [b"%d" % each for each in range(20)])
    messages = read(spark, orders, namespace=orders.namespace)
    counts = {tuple(row) for row in messages.groupBy("topic", "schema_version").count().collect()}
    assert counts == {(orders.full_name, 0, 5), (orders.full_name, 1, 5), (parts.full_name, None, 20)}
    assert {row.partition for row in messages.where("schema_version IS NULL").collect()} == {0, 1}
    assert {row.partition for row in messages.where("schema_version = 0").collect()} == {None}
    pattern = f"persistent://{orders.namespace}/p.*"
    assert read(spark, orders, topicsPattern=pattern).select("topic").distinct().count() == 1


def payloads(word: str, count: int) -> list[bytes]:
    return [f"{word} {number}".encode() for number in range(count)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"topics": "persistent://public/default/nowhere"}, "public/default/nowhere: the topic does not exist"),
        ({"namespace": "public/nowhere"}, "public/nowhere: the namespace does not exist"),
    ],
)
def test_what_does_not_exist_is_an_error(spark: Any, full: RetainedTopic, values: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        read(spark, full, **values).count()


def test_a_stream_reads_each_message_once_and_continues_at_its_checkpoint(
    spark: Any, broker: Pulsar, tmp_path: Path
) -> None:
    topic = RetainedTopic.create(broker, partitions=2)
    other = RetainedTopic(broker, topic.namespace, "later", 0)
    stream = Stream(spark, tmp_path, options(topic, namespace=topic.namespace, failOnDataLoss="false"))
    with open_client(broker) as client:
        topic.send(client, payloads("first", 90), batching_enabled=True)
        assert stream.run() == Counter(payloads("first", 90))
        assert stream.run() == Counter()
        topic.send(client, payloads("second", 10))
        other.send(client, payloads("new topic", 5))
        broker.call("POST", f"{topic.path}/partitions", 3)
        topic.send(client, payloads("third", 30))
        assert stream.run() == Counter(payloads("second", 10) + payloads("new topic", 5) + payloads("third", 30))
        broker.call("DELETE", f"{other.path}?force=true")
        topic.send(client, payloads("fourth", 4))
        assert stream.run() == Counter(payloads("fourth", 4))
        other.send(client, payloads("again", 3))
        assert stream.run() == Counter(payloads("again", 3))


@pytest.mark.full
def test_a_stream_that_may_not_lose_data_names_the_topic_that_was_deleted(
    spark: Any, broker: Pulsar, tmp_path: Path
) -> None:
    topic = RetainedTopic.create(broker)
    stream = Stream(spark, tmp_path, options(topic))
    with open_client(broker) as client:
        topic.send(client, payloads("first", 3))
    assert stream.run() == Counter(payloads("first", 3))
    broker.call("DELETE", f"{topic.path}?force=true")
    with pytest.raises(Exception, match=f"{topic.full_name}: the topic was deleted since the last micro-batch"):
        stream.run()


@pytest.mark.full
def test_a_limit_divides_a_stream_into_micro_batches(spark: Any, broker: Pulsar, tmp_path: Path) -> None:
    topic = RetainedTopic.create(broker, partitions=2)
    with open_client(broker) as client:
        topic.send(client, [b"x" * 1000 + each for each in payloads("", 60)])
    stream = Stream(spark, tmp_path, options(topic, maxBytesPerTrigger="20k"))
    assert len(stream.run()) == 60
    assert stream.batches >= 3


@pytest.mark.full
def test_a_stream_begins_at_a_time(spark: Any, broker: Pulsar, tmp_path: Path) -> None:
    topic = RetainedTopic.create(broker)
    with open_client(broker) as client:
        topic.send(client, payloads("old", 5))
        since = read(spark, topic).selectExpr("max(publish_time)").first()[0] + timedelta(milliseconds=1)
        topic.send(client, payloads("new", 5))
    begin = since.replace(tzinfo=UTC).isoformat()
    stream = Stream(spark, tmp_path, options(topic, since=begin, maxBytesPerTrigger="100"))
    assert stream.run() == Counter(payloads("new", 5))
    assert stream.batches > 1
