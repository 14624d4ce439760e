"""Transactions as a client sends them, by Pulsar's binary protocol: Python's client has none.

Source: PulsarApi.proto. A transaction's coordinator is asked over the connection that its messages are sent on.
"""

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import IntEnum
from urllib.parse import urlsplit

from topicschema.validation.sources.pulsar.protocol import Kind, Members, command, number, text, written

_COORDINATOR = "persistent://pulsar/system/transaction_coordinator_assign-partition-0"
_SECONDS = 20


class _Of(IntEnum):
    """Commands that the product does not send."""

    PRODUCER = 5
    SEND = 6
    RECEIPT = 7
    PRODUCER_SUCCESS = 17
    BEGIN = 50
    BEGUN = 51
    ADD_TOPIC = 52
    TOPIC_ADDED = 53
    END = 56
    ENDED = 57
    COORDINATOR = 62
    COORDINATED = 63


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
            made._ask(Kind.CONNECT, {1: b"transactions", 4: 19}, Kind.CONNECTED)
            for name in (_COORDINATOR, topic):
                made._ask(Kind.LOOKUP, {1: name.encode(), 2: 1, 3: 0}, Kind.LOOKUP_RESPONSE)
            made._begin_as_a_client()
            made._ask(_Of.PRODUCER, {1: topic.encode(), 2: 1, 3: 1, 12: 1}, _Of.PRODUCER_SUCCESS)
            yield made

    def begin(self) -> Members:
        """A transaction that the topic takes part in: its id, as commands and messages have it."""
        begun = self._ask(_Of.BEGIN, {1: 1, 2: 3_600_000, 3: 0}, _Of.BEGUN)
        least, most = number(begun, 2), number(begun, 3)
        self._ask(_Of.ADD_TOPIC, {1: 1, 2: least, 3: most, 4: self.topic.encode()}, _Of.TOPIC_ADDED)
        return {2: least, 3: most}

    def send(self, payloads: Sequence[bytes], transaction: Members | None = None) -> None:
        """Send them, each by itself."""
        for payload in payloads:
            self.sent += 1
            of = {} if transaction is None else {4: transaction[2], 5: transaction[3]}
            inner = {} if transaction is None else {22: transaction[2], 23: transaction[3]}
            told = written({1: b"t", 2: self.sent, 3: time.time_ns() // 1_000_000, **inner})
            rest = struct.pack(">I", len(told)) + told + payload
            self._ask(_Of.SEND, {1: 1, 2: self.sent, 3: 1, **of}, _Of.RECEIPT, rest)

    def end(self, transaction: Members, *, is_aborted: bool) -> None:
        """Commit or abort it."""
        self._ask(_Of.END, {1: 1, **transaction, 4: int(is_aborted)}, _Of.ENDED)

    def _begin_as_a_client(self) -> None:
        """The coordinator is there some seconds after its broker."""
        until = time.monotonic() + _SECONDS
        while True:
            answer = self._ask(_Of.COORDINATOR, {1: 1, 2: 0}, _Of.COORDINATED)
            if 2 not in answer:
                return
            assert time.monotonic() < until, text(answer, 3)
            time.sleep(0.2)

    def _ask(self, kind: int, members: Members, wanted: int, rest: bytes = b"") -> Members:
        content = written({1: int(kind), int(kind): written(members)})
        self.line.sendall(struct.pack(">II", len(content) + 4 + len(rest), len(content)) + content + rest)
        while True:
            size = int.from_bytes(self._exactly(4), "big")
            found, answer = command(self._exactly(size)[4:])
            if found == Kind.PING:
                continue
            assert found == wanted, (found, answer)
            return answer

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            more = self.line.recv(size - len(found))
            assert more, "the broker closed the connection"
            found += more
        return found
