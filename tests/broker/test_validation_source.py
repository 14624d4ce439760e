"""The messages of a real topic: each is read once, however it was sent and wherever the reading is cut."""

import hashlib
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pulsar as python
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from support.validation.topic_messages import RetainedTopic, Sent, contents, open_client, places, rows
from testbed.fault_proxy import FaultProxy
from testbed.pulsar import Pulsar
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation.run.batches import ENCRYPTED, NO_VERSION
from topicschema.validation.sources import Split
from topicschema.validation.sources.pulsar.source import TopicMessages

pytestmark = [pytest.mark.timeout(240), pytest.mark.broker]

COMPRESSIONS = [getattr(python.CompressionType, name) for name in ("NONE", "LZ4", "ZLib", "ZSTD", "SNAPPY")]
NUMBER = '{"type": "record", "name": "N", "fields": [{"name": "n", "type": "int"}%s]}'


@pytest.fixture(scope="module")
def broker(retaining_pulsar: Pulsar) -> Pulsar:
    return retaining_pulsar


@pytest.fixture(scope="module")
def full(broker: Pulsar) -> RetainedTopic:
    """Return a topic with all that Python's client can send, chunks of several producers between other messages."""
    topic = RetainedTopic.create(broker)
    with open_client(broker) as client:
        _send_everything(topic, client)
        _send_interleaved(topic, client)
        _send_everything(topic, client)
    return topic


@pytest.fixture
def encryption(tmp_path: Path) -> python.CryptoKeyReader:
    """Return keys that producers encrypt with, and that the product has not."""
    key = rsa.generate_private_key(65537, 2048)
    pem, known = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "public.pem").write_bytes(key.public_key().public_bytes(pem, known))
    private, plain = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    (tmp_path / "private.pem").write_bytes(key.private_bytes(pem, private, plain))
    return python.CryptoKeyReader(str(tmp_path / "public.pem"), str(tmp_path / "private.pem"))


def _send_everything(topic: RetainedTopic, client: python.Client) -> None:
    for number, compression in enumerate(COMPRESSIONS):
        texts = [b"%d %d " % (number, each) + b"x" * (each * 7) for each in range(20)]
        for batched in (False, True):
            topic.send(client, [*texts, None, b""], batching_enabled=batched, compression_type=compression)
            topic.send(client, texts[:3], key="é", batching_enabled=batched, compression_type=compression)
        large = b"large %d" % number + hashlib.shake_128(b"%d" % number).digest(300_000)
        topic.send(client, [large], chunking_enabled=True, compression_type=compression)


def _send_interleaved(topic: RetainedTopic, client: python.Client) -> None:
    """Send chunked messages of three producers and small ones of a fourth, all at once."""
    large = [client.create_producer(topic.full_name, chunking_enabled=True) for _ in range(3)]
    small = client.create_producer(topic.full_name)
    for turn in range(3):
        for number, producer in enumerate(large):
            payload = b"%d %d" % (turn, number) + b"c" * 500_000
            producer.send_async(payload, lambda *_: None)
            topic.sent[payload, ""] += 1
            small.send(payload[:3])
            topic.sent[payload[:3], ""] += 1
    for producer in (*large, small):
        producer.flush()
        producer.close()


def test_every_message_is_read_once_however_it_was_sent(full: RetainedTopic) -> None:
    source = full.source(has_keys=True)
    messages = rows(source)
    assert contents(messages) == full.sent
    assert len(set(places(messages))) == len(messages)
    assert {row["writer"] for row in messages} == {NO_VERSION}
    assert all(row["publish_time"] > 1_700_000_000_000 for row in messages)
    assert {row["partition"] for row in messages} == {0}


@pytest.mark.parametrize("messages", [1, 7, 40])
def test_wherever_the_reading_is_cut_the_messages_are_the_same(full: RetainedTopic, messages: int) -> None:
    whole = rows(full.source())
    source = full.source(split_messages=messages)
    plan = source.plan()
    picked = plan.splits if messages > 1 else plan.splits[::9]
    read = places([row for split in picked for row in rows(source, replace(plan, splits=(split,)))])
    assert len(set(read)) == len(read)
    if messages > 1:
        assert sorted(read) == sorted(places(whole))
    else:
        assert set(read) <= set(places(whole))


def test_two_processes_read_a_partitioned_topic_to_the_same_messages(broker: Pulsar) -> None:
    topic = RetainedTopic.create(broker, partitions=3)
    with open_client(broker) as client:
        for batched in (False, True):
            topic.send(client, [b"%d" % each for each in range(300)], batching_enabled=batched)
            topic.send(client, [b"k%d" % each for each in range(100)], key="one", batching_enabled=batched)
    source = topic.source(has_keys=True, split_messages=50)
    plan = source.plan()
    assert plan.names == tuple(f"{topic.full_name}-partition-{number}" for number in range(3))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        messages = [row for part in processes.map(_read, [source] * len(plan.splits), plan.splits) for row in part]
    assert contents(messages) == topic.sent
    assert len(set(places(messages))) == len(messages)


@pytest.mark.parametrize("is_one_missing", [False, True])
def test_many_partitions_are_planned_in_few_requests_and_none_is_passed_over(
    broker: Pulsar, *, is_one_missing: bool
) -> None:
    topic = RetainedTopic.create(broker, partitions=20)
    with open_client(broker) as client:
        topic.send(client, [b"%d" % each for each in range(200)])
    if is_one_missing:
        broker.call("DELETE", f"{topic.path}-partition-7?force=true")
    with FaultProxy.before(broker) as proxy:
        source = replace(topic.pulsar_source, admin_url=proxy.url)
        plan = TopicMessages(source, topic.full_name).plan()
        counted = len(proxy.calls)
    assert counted == (22 if is_one_missing else 3)
    assert len({split.what.topic for split in plan.splits}) == 20 - is_one_missing
    assert plan.messages == 200 - 10 * is_one_missing


@pytest.mark.parametrize("partitions", [0, 3])
def test_what_is_sent_after_the_plan_was_made_belongs_to_no_split(broker: Pulsar, partitions: int) -> None:
    topic = RetainedTopic.create(broker, partitions=partitions)
    with open_client(broker) as client:
        for batched in (False, True):
            topic.send(client, [b"before %d" % each for each in range(40)], key="one", batching_enabled=batched)
        source = topic.source(has_keys=True, split_messages=15)
        plan, before = source.plan(), topic.sent.copy()
        for batched in (False, True):
            topic.send(client, [b"after %d" % each for each in range(40)], key="one", batching_enabled=batched)
            topic.send(client, [b"after, elsewhere"] * 40, batching_enabled=batched)
    assert contents(rows(source, plan)) == before
    assert contents(rows(source)) == topic.sent != before


def _read(source: TopicMessages, split: Split) -> list[dict[str, Any]]:
    return [row for batch in source.read(split) for row in batch.to_pylist()]


def test_each_message_has_its_own_writer_version(broker: Pulsar) -> None:
    topic = RetainedTopic.create(broker)
    texts = [NUMBER % "", NUMBER % ', {"name": "m", "type": "int", "default": 1}']
    with open_client(broker) as client:
        for batched in (False, True):
            for number, text in enumerate(texts):
                topic.send(
                    client,
                    [b"\x02" + b"\x04" * number] * 5,
                    schema=Sent(SchemaInfo(SchemaType.AVRO, text.encode())),
                    batching_enabled=batched,
                )
            topic.send(client, [b"\x00"] * 3, batching_enabled=batched)
    counts = Counter((row["writer"], row["payload"]) for row in rows(topic.source()))
    assert counts == {(0, b"\x02"): 10, (1, b"\x02\x04"): 10, (NO_VERSION, b"\x00"): 6}


def test_from_a_time_on_every_message_is_read(broker: Pulsar) -> None:
    topic = RetainedTopic.create(broker)
    with open_client(broker) as client:
        for number in range(4):  # several ledgers
            topic.send(client, [b"%d" % number] * 30, batching_enabled=False)
            topic.send(client, [b"%d" % number] * 30, batching_enabled=True)
            time.sleep(0.2)
    times = sorted(row["publish_time"] for row in rows(topic.source()))
    assert len({place[1] for place in places(rows(topic.source()))}) > 1
    edges = [times[0] - 1_000, *times[:: len(times) // 8], times[-1], times[-1] + 1, times[-1] + 60_000]
    for since in edges:
        read = [row["publish_time"] for row in rows(topic.source(since=since))]
        assert sorted(each for each in read if each >= since) == [each for each in times if each >= since], since


def test_messages_that_cannot_be_decrypted_are_counted_as_such(
    broker: Pulsar, encryption: python.CryptoKeyReader
) -> None:
    topic = RetainedTopic.create(broker)
    secret = {"encryption_key": "k", "crypto_key_reader": encryption}
    with open_client(broker) as client:
        topic.send(client, [b"open"])
        topic.send(client, [b"closed"] * 3, **secret)
        topic.send(client, [b"closed"] * 4, batching_enabled=True, **secret)
        topic.send(client, [b"open"])
    messages = rows(topic.source())
    assert Counter((row["writer"], row["payload"]) for row in messages) == {
        (NO_VERSION, b"open"): 2,
        (ENCRYPTED, b""): 7,
    }
    assert len(set(places(messages))) == len(messages)
