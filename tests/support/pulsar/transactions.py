"""Transactions as a client sends them, by Pulsar's binary protocol: Python's client has none.

Source: PulsarApi.proto. A transaction's coordinator is asked over the connection that its messages are sent on.
"""

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from support.pulsar.wire import written
from topicschema.validation.sources.pulsar import protocol
from topicschema.validation.sources.pulsar import pulsar_api_pb2 as api
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
        """A connection to the broker, which must be the only one."""
        parts = urlsplit(service_url)
        with closing(socket.create_connection((parts.hostname, parts.port), _SECONDS)) as line:
            made = cls(line, topic)
            connect = api.CommandConnect(client_version="transactions", protocol_version=19)
            made._ask(BaseCommand(type=BaseCommand.CONNECT, connect=connect))
            for name in (_COORDINATOR, topic):
                lookup = api.CommandLookupTopic(topic=name, request_id=1)
                made._ask(BaseCommand(type=BaseCommand.LOOKUP, lookupTopic=lookup))
            made._begin_as_a_client()
            producer = api.CommandProducer(topic=topic, producer_id=1, request_id=1, txn_enabled=True)
            made._ask(BaseCommand(type=BaseCommand.PRODUCER, producer=producer))
            yield made

    def begin(self) -> Transaction:
        """A transaction that the topic takes part in."""
        new = api.CommandNewTxn(request_id=1, txn_ttl_seconds=3_600_000, tc_id=0)
        begun = self._ask(BaseCommand(type=BaseCommand.NEW_TXN, newTxn=new)).newTxnResponse
        ids = {"txnid_least_bits": begun.txnid_least_bits, "txnid_most_bits": begun.txnid_most_bits}
        joined = api.CommandAddPartitionToTxn(request_id=1, partitions=[self.topic], **ids)
        self._ask(BaseCommand(type=BaseCommand.ADD_PARTITION_TO_TXN, addPartitionToTxn=joined))
        return ids

    def send(self, payloads: Sequence[bytes], transaction: Transaction | None = None) -> None:
        """Send them, each by itself."""
        ids = transaction or {}
        inner = dict(zip((22, 23), ids.values(), strict=False))
        for payload in payloads:
            self.sent += 1
            told = written({1: b"t", 2: self.sent, 3: time.time_ns() // 1_000_000, **inner})
            rest = struct.pack(">I", len(told)) + told + payload
            send = api.CommandSend(producer_id=1, sequence_id=self.sent, num_messages=1, **ids)
            self._ask(BaseCommand(type=BaseCommand.SEND, send=send), rest)

    def end(self, transaction: Transaction, *, is_aborted: bool) -> None:
        """Commit or abort it."""
        action = api.CommandEndTxn.ABORT if is_aborted else api.CommandEndTxn.COMMIT
        end = api.CommandEndTxn(request_id=1, txn_action=action, **transaction)
        self._ask(BaseCommand(type=BaseCommand.END_TXN, endTxn=end))

    def _begin_as_a_client(self) -> None:
        """The coordinator is there some seconds after its broker."""
        until = time.monotonic() + _SECONDS
        wanted = api.CommandTcClientConnectRequest(request_id=1, tc_id=0)
        while True:
            command = BaseCommand(type=BaseCommand.TC_CLIENT_CONNECT_REQUEST, tcClientConnectRequest=wanted)
            answer = self._ask(command).tcClientConnectResponse
            if not answer.HasField("error"):
                return
            assert time.monotonic() < until, answer.message
            time.sleep(0.2)

    def _ask(self, command: BaseCommand, rest: bytes = b"") -> BaseCommand:
        """The answer: its type is mostly the number after that of the command."""
        self.line.sendall(protocol.frame(command, rest))
        while True:
            size = int.from_bytes(self._exactly(4), "big")
            answer = protocol.parse(self._exactly(size)[4:])
            if answer.type == BaseCommand.PING:
                continue
            assert answer.type == _ANSWERS.get(command.type, command.type + 1), answer
            return answer

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            more = self.line.recv(size - len(found))
            assert more, "the broker closed the connection"
            found += more
        return found
