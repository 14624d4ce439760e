"""What a transaction sent counts once it is committed: to a consumer, and so to a run.

A run waits some seconds for what is behind the last message.
"""

import time
from typing import Any

import pulsar as python
import pytest
from pyarrow import RecordBatch

from support.pulsar.transactions import Transactions
from support.sizes import IS_FULL
from support.validation.topic_messages import RetainedTopic, client_of, rows
from testbed.pulsar import Pulsar
from topicschema.validation.sources import NotDelivered
from topicschema.validation.sources.pulsar.errors import SourceSilentError

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]


@pytest.fixture(scope="module")
def topic(retaining_pulsar: Pulsar) -> RetainedTopic:
    return RetainedTopic.made(retaining_pulsar)


def _consumed(topic: RetainedTopic) -> list[bytes]:
    """What Pulsar's own client reads, as far as there is more."""
    found: list[bytes] = []
    with client_of(topic.pulsar) as client:
        reader = client.create_reader(topic.full_name, python.MessageId.earliest)
        while reader.has_message_available():
            found.append(reader.read_next(5_000).data())
    return found


def test_a_run_reads_of_transactions_what_a_consumer_reads(topic: RetainedTopic) -> None:
    with Transactions.on(topic.pulsar.service_url, topic.full_name) as client:
        client.send([b"before"])
        committed, aborted = client.begin(), client.begin()
        client.send([b"committed 1"], committed)
        client.send([b"aborted 1", b"aborted 2"], aborted)
        client.send([b"between"])
        client.send([b"committed 2"], committed)
        client.end(aborted, is_aborted=True)
        client.end(committed, is_aborted=False)
        client.send([b"behind"])
        found = [row["payload"] for row in rows(topic.source())]
        assert found == [b"before", b"committed 1", b"between", b"committed 2", b"behind"] == _consumed(topic)
        for messages in (1, 2, 4):
            assert [row["payload"] for row in rows(topic.source(split_messages=messages))] == found
        held = client.begin()
        client.send([b"held"], held)
        client.send([b"behind what is held"])
        with pytest.raises(SourceSilentError, match=r"a transaction is open|does not say which message is the last"):
            rows(topic.source(patience=3.0))
        client.end(held, is_aborted=False)
    assert [row["payload"] for row in rows(topic.source())] == [*found, b"held", b"behind what is held"]


def test_a_topic_that_ends_in_what_no_reader_gets_is_read_to_its_end_and_has_no_read_under_way(
    topic: RetainedTopic,
) -> None:
    """A read that waits for messages to be sent is none that is under way: or a run would never end here.

    Each run waits some seconds for what is behind the last message; a full run cuts the reading in another way, too.
    """
    ended = RetainedTopic.made(topic.pulsar)
    with Transactions.on(ended.pulsar.service_url, ended.full_name) as client:
        client.send([b"kept"])
        aborted = client.begin()
        client.send([b"aborted"] * 3, aborted)
        client.end(aborted, is_aborted=True)
    for messages in (None, 2) if IS_FULL else (2,):
        source = ended.source(split_messages=messages, patience=20.0)
        found = [each for split in source.plan().splits for each in source.read(split)]
        withheld = [each for each in found if isinstance(each, NotDelivered)]
        batches = [each for each in found if isinstance(each, RecordBatch)]
        assert [row["payload"] for batch in batches for row in batch.to_pylist()] == [b"kept"]
        assert sum(each.entries for each in withheld) == 4
        assert len(found) == len(withheld) + len(batches)
    with client_of(ended.pulsar) as idle:
        reader = idle.create_reader(ended.full_name, python.MessageId.earliest)
        assert reader.read_next(5_000).data() == b"kept"
        assert _waits_at_the_end(ended)["pendingReadOps"] == 0


def _waits_at_the_end(topic: RetainedTopic) -> dict[str, Any]:
    """The topic's one cursor, once it has come behind the last entry and waits there."""
    deadline = time.monotonic() + 60
    while True:
        told = topic.pulsar.tell("GET", f"{topic.path}/internalStats")
        ledger, entry = map(int, told["lastConfirmedEntry"].split(":"))
        cursor: dict[str, Any]
        (cursor,) = told["cursors"].values()
        if cursor["readPosition"] == f"{ledger}:{entry + 1}" and cursor["waitingReadOp"]:
            return cursor
        assert time.monotonic() < deadline, told
        time.sleep(0.1)
