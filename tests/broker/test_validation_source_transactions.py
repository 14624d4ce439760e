"""Messages of a transaction count once it is committed: to a consumer, and so to a run.

A run waits some seconds for what is behind the last message.
"""

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pulsar as python
import pytest
from pyarrow import RecordBatch

from support.pulsar.wire import encode_members
from support.sizes import IS_FULL
from support.validation.topic_messages import RetainedTopic, open_client, rows
from testbed.pulsar import Pulsar
from topicschema.validation.sources import NotDelivered
from topicschema.validation.sources.pulsar import protocol
from topicschema.validation.sources.pulsar import pulsar_api_pb2 as api
from topicschema.validation.sources.pulsar.errors import SourceSilentError
from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand

_COORDINATOR = "persistent://pulsar/system/transaction_coordinator_assign-partition-0"
_SECONDS = 20
_ANSWERS = {BaseCommand.PRODUCER: BaseCommand.PRODUCER_SUCCESS}
Transaction = dict[str, int]
"""The two numbers that are a transaction's id, as commands name them."""


@dataclass
class Transactions:
    """One producer of one topic, and the transactions that it sends in."""

    line: socket.socket
    topic: str
    sent: int = 0

    @classmethod
    @contextmanager
    def on(cls, service_url: str, topic: str) -> "Iterator[Transactions]":
        """Connect to the broker, which must be the only one."""
        parts = urlsplit(service_url)
        with closing(socket.create_connection((parts.hostname, parts.port), _SECONDS)) as line:
            made = cls(line, topic)
            connect = api.CommandConnect(client_version="transactions", protocol_version=19)
            made._request(BaseCommand(type=BaseCommand.CONNECT, connect=connect))
            for name in (_COORDINATOR, topic):
                lookup = api.CommandLookupTopic(topic=name, request_id=1)
                made._request(BaseCommand(type=BaseCommand.LOOKUP, lookupTopic=lookup))
            made._begin_as_a_client()
            producer = api.CommandProducer(topic=topic, producer_id=1, request_id=1, txn_enabled=True)
            made._request(BaseCommand(type=BaseCommand.PRODUCER, producer=producer))
            yield made

    def begin(self) -> Transaction:
        """Begin a transaction that the topic takes part in."""
        new = api.CommandNewTxn(request_id=1, txn_ttl_seconds=3_600_000, tc_id=0)
        begun = self._request(BaseCommand(type=BaseCommand.NEW_TXN, newTxn=new)).newTxnResponse
        ids = {"txnid_least_bits": begun.txnid_least_bits, "txnid_most_bits": begun.txnid_most_bits}
        joined = api.CommandAddPartitionToTxn(request_id=1, partitions=[self.topic], **ids)
        self._request(BaseCommand(type=BaseCommand.ADD_PARTITION_TO_TXN, addPartitionToTxn=joined))
        return ids

    def send(self, payloads: Sequence[bytes], transaction: Transaction | None = None) -> None:
        """Send them, each by itself."""
        ids = transaction or {}
        inner = dict(zip((22, 23), ids.values(), strict=False))
        for payload in payloads:
            self.sent += 1
            metadata = encode_members({1: b"t", 2: self.sent, 3: time.time_ns() // 1_000_000, **inner})
            rest = struct.pack(">I", len(metadata)) + metadata + payload
            send = api.CommandSend(producer_id=1, sequence_id=self.sent, num_messages=1, **ids)
            self._request(BaseCommand(type=BaseCommand.SEND, send=send), rest)

    def end(self, transaction: Transaction, *, is_aborted: bool) -> None:
        """Commit or abort it."""
        action = api.CommandEndTxn.ABORT if is_aborted else api.CommandEndTxn.COMMIT
        end = api.CommandEndTxn(request_id=1, txn_action=action, **transaction)
        self._request(BaseCommand(type=BaseCommand.END_TXN, endTxn=end))

    def _begin_as_a_client(self) -> None:
        """Connect to the coordinator, which starts some seconds after its broker."""
        until = time.monotonic() + _SECONDS
        connect = api.CommandTcClientConnectRequest(request_id=1, tc_id=0)
        while True:
            command = BaseCommand(type=BaseCommand.TC_CLIENT_CONNECT_REQUEST, tcClientConnectRequest=connect)
            answer = self._request(command).tcClientConnectResponse
            if not answer.HasField("error"):
                return
            assert time.monotonic() < until, answer.message
            time.sleep(0.2)

    def _request(self, command: BaseCommand, rest: bytes = b"") -> BaseCommand:
        """Send the command and return the response: its type is mostly the number after that of the command."""
        self.line.sendall(protocol.frame(command, rest))
        while True:
            size = int.from_bytes(self._exactly(4), "big")
            answer = protocol.parse(self._exactly(size)[4:])
            if answer.type == BaseCommand.PING:
                continue
            assert answer.type == _ANSWERS.get(command.type, command.type + 1), answer
            return answer

    def _exactly(self, size: int) -> bytes:
        content = b""
        while len(content) < size:
            more = self.line.recv(size - len(content))
            assert more, "the broker closed the connection"
            content += more
        return content


pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]


@pytest.fixture(scope="module")
def topic(retaining_pulsar: Pulsar) -> RetainedTopic:
    return RetainedTopic.create(retaining_pulsar)


def _consumed(topic: RetainedTopic) -> list[bytes]:
    """Return what Pulsar's own client reads, as far as there is more."""
    payloads: list[bytes] = []
    with open_client(topic.pulsar) as client:
        reader = client.create_reader(topic.full_name, python.MessageId.earliest)
        while reader.has_message_available():
            payloads.append(reader.read_next(5_000).data())
    return payloads


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
        payloads = [row["payload"] for row in rows(topic.source())]
        assert payloads == [b"before", b"committed 1", b"between", b"committed 2", b"behind"] == _consumed(topic)
        for messages in (1, 2, 4):
            assert [row["payload"] for row in rows(topic.source(split_messages=messages))] == payloads
        open_one = client.begin()
        client.send([b"open"], open_one)
        client.send([b"behind the open one"])
        with pytest.raises(SourceSilentError, match=r"a transaction is open|does not say which message is the last"):
            rows(topic.source(timeout=3.0))
        client.end(open_one, is_aborted=False)
    assert [row["payload"] for row in rows(topic.source())] == [*payloads, b"open", b"behind the open one"]


def test_a_topic_that_ends_in_what_no_reader_gets_is_read_to_its_end_and_has_no_read_under_way(
    topic: RetainedTopic,
) -> None:
    """Check that a read that waits for messages is none that is under way: or a run would never end here.

    Each run waits some seconds for what is behind the last message; a full run cuts the reading in another way, too.
    """
    ended = RetainedTopic.create(topic.pulsar)
    with Transactions.on(ended.pulsar.service_url, ended.full_name) as client:
        client.send([b"delivered"])
        aborted = client.begin()
        client.send([b"aborted"] * 3, aborted)
        client.end(aborted, is_aborted=True)
    for messages in (None, 2) if IS_FULL else (2,):
        source = ended.source(split_messages=messages, timeout=20.0)
        parts = [each for split in source.plan().splits for each in source.read(split)]
        withheld = [each for each in parts if isinstance(each, NotDelivered)]
        batches = [each for each in parts if isinstance(each, RecordBatch)]
        assert [row["payload"] for batch in batches for row in batch.to_pylist()] == [b"delivered"]
        assert sum(each.entries for each in withheld) == 4
        assert len(parts) == len(withheld) + len(batches)
    with open_client(ended.pulsar) as idle:
        reader = idle.create_reader(ended.full_name, python.MessageId.earliest)
        assert reader.read_next(5_000).data() == b"delivered"
        assert _waits_at_the_end(ended)["pendingReadOps"] == 0


def _waits_at_the_end(topic: RetainedTopic) -> dict[str, Any]:
    """Return the topic's one cursor, once it has come behind the last entry and waits there."""
    deadline = time.monotonic() + 60
    while True:
        stats = topic.pulsar.call("GET", f"{topic.path}/internalStats")
        ledger, entry = map(int, stats["lastConfirmedEntry"].split(":"))
        cursor: dict[str, Any]
        (cursor,) = stats["cursors"].values()
        if cursor["readPosition"] == f"{ledger}:{entry + 1}" and cursor["waitingReadOp"]:
            return cursor
        assert time.monotonic() < deadline, stats
        time.sleep(0.1)
