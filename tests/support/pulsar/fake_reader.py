"""What a broker sends a reader, byte by byte, and a broker on loopback that sends it as a test says.

It answers the binary protocol and the two admin questions of a reader, about one topic. What real brokers do is
tests/broker's; this one stalls, breaks off and claims at moments that a real one cannot be made to choose.
"""

import json
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from socketserver import BaseRequestHandler, StreamRequestHandler, ThreadingTCPServer
from threading import Thread

from typing_extensions import override

from support.pulsar.wire import Members, written
from topicschema.validation.request import PulsarAsked
from topicschema.validation.sources.pulsar import protocol
from topicschema.validation.sources.pulsar import pulsar_api_pb2 as api
from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand


def message(entry: int, body: bytes, metadata: Members | None = None, ledger: int = 3) -> bytes:
    """A MESSAGE frame as a broker sends it, with an entry of its own and a checksum."""
    place = api.MessageIdData(ledgerId=ledger, entryId=entry)
    command = BaseCommand(type=BaseCommand.MESSAGE, message=api.CommandMessage(consumer_id=1, message_id=place))
    told = written({1: b"p", 2: 1, 3: 1_700_000_000_000, **(metadata or {})})
    sent = struct.pack(">I", len(told)) + told + body
    rest = struct.pack(">HI", 0x0E02, 2) + b"\x08\x01" + struct.pack(">HI", 0x0E01, crc32c(sent)) + sent
    return protocol.frame(command, rest)


def crc32c(content: bytes) -> int:
    """The checksum, bit by bit as its definition has it."""
    left = 0xFFFFFFFF
    for byte in content:
        left ^= byte
        for _ in range(8):
            left = left >> 1 ^ (0x82F63B78 if left & 1 else 0)
    return left ^ 0xFFFFFFFF


def single(payload: bytes, more: Members | None = None) -> bytes:
    """A message of a batch."""
    told = written({3: len(payload), **(more or {})})
    return struct.pack(">I", len(told)) + told + payload


def chunk(entry: int, number: int, count: int, body: bytes, uuid: bytes = b"a-1") -> bytes:
    """A chunk of a message."""
    return message(entry, body, {26: uuid, 27: count, 29: number})


Happening = Callable[[Callable[[bytes], object]], object]
"""What the broker does, given how it sends: beyond its answer, which follows."""


def nothing(send: Callable[[bytes], object]) -> None:
    """Nothing more than the answer."""
    del send


def _never(number: int, path: str) -> bool:
    """The topic is there."""
    del number, path
    return False


@dataclass(slots=True)
class ReaderAtTheWire:
    """The broker: how many entries its ledger 3 has, where it says that readers are, and what it does.

    `subscribed` and `asked_last` are done in turn, one for each reader and each question for the last message. While
    `transactions` are open, `shown` is the last entry that it shows. `marks` are the marks of the readers' cursors, in
    turn: up to where they were made to skip; that of others stays where they began. `reading` are the reads that have
    begun and are not sent. `is_trimmed`: that ledger is gone.
    `asked` counts questions of REST, which gets no answer of use while `is_mute`, and hears that there is no such topic
    where `is_absent` for that number and path.
    """

    entries: int
    reads_next: int
    subscribed: list[Happening] = field(default_factory=list)
    asked_last: list[Happening] = field(default_factory=list)
    transactions: int = 0
    shown: int | None = None
    marks: list[int] = field(default_factory=list)
    reading: int = 0
    is_trimmed: bool = False
    asked: int = 0
    is_mute: bool = False
    partitions: int = 0
    is_absent: Callable[[int, str], bool] = _never
    permits: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    url: str = ""

    def answer(self, command: BaseCommand, send: Callable[[bytes], object]) -> None:
        """Do what a command asks for."""
        told: BaseCommand | None = None
        if command.type == BaseCommand.CONNECT:
            told = BaseCommand(type=BaseCommand.CONNECTED, connected=api.CommandConnected(server_version=b"wire"))
        elif command.type == BaseCommand.LOOKUP:
            here = api.CommandLookupTopicResponse(
                brokerServiceUrl=self.url.encode(),
                response=api.CommandLookupTopicResponse.Connect,
                request_id=1,
                authoritative=True,
            )
            told = BaseCommand(type=BaseCommand.LOOKUP_RESPONSE, lookupTopicResponse=here)
        elif command.type == BaseCommand.SUBSCRIBE:
            self.names.append(command.subscribe.subscription)
            send(protocol.frame(BaseCommand(type=BaseCommand.SUCCESS, success=api.CommandSuccess(request_id=1))))
            (self.subscribed.pop(0) if self.subscribed else nothing)(send)
        elif command.type == BaseCommand.FLOW:
            self.permits.append(command.flow.messagePermits)
        elif command.type == BaseCommand.GET_LAST_MESSAGE_ID:
            (self.asked_last.pop(0) if self.asked_last else nothing)(send)
            entry = self.entries - 1 if self.shown is None else self.shown
            last = api.CommandGetLastMessageIdResponse(
                last_message_id=api.MessageIdData(ledgerId=3, entryId=entry), request_id=1
            )
            told = BaseCommand(type=BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE, getLastMessageIdResponse=last)
        if told is not None:
            send(protocol.frame(told))

    def stats(self) -> bytes:
        """What the admin API tells of the topic."""
        if self.is_mute:
            return b"{}"
        marks = [*self.marks, *[-1] * len(self.names)]
        return json.dumps(
            {
                "lastConfirmedEntry": f"3:{self.entries - 1}",
                "ledgers": [{"ledgerId": 4 if self.is_trimmed else 3, "entries": 0}],
                "ongoingTxnCount": self.transactions,
                "partitions": self.partitions,
                "cursors": {
                    name: {
                        "readPosition": f"3:{self.reads_next}",
                        "markDeletePosition": f"3:{mark}",
                        "pendingReadOps": self.reading,
                    }
                    for name, mark in zip(self.names, marks, strict=False)
                },
            }
        ).encode()


class _Binary(StreamRequestHandler):
    """Its binary port."""

    @override
    def handle(self) -> None:
        assert isinstance(self.server, _Listening)
        with suppress(OSError):  # the reader has gone, or the broker hangs up
            while head := self.rfile.read(4):
                command = protocol.parse(self.rfile.read(int.from_bytes(head, "big"))[4:])
                self.server.broker.answer(command, self.request.sendall)


class _Rest(BaseHTTPRequestHandler):
    """Its admin API."""

    def do_GET(self) -> None:
        assert isinstance(self.server, _Listening)
        broker = self.server.broker
        broker.asked += 1
        is_absent = broker.is_absent(broker.asked, self.path)
        told = b'{"reason": "Topic not found"}' if is_absent else broker.stats()
        self.send_response(404 if is_absent else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    @override
    def log_message(self, format: str, *args: object) -> None:
        return


class _Listening(ThreadingTCPServer):
    """A port of the broker's."""

    daemon_threads = True

    def __init__(self, broker: ReaderAtTheWire, of: type[BaseRequestHandler]) -> None:
        self.broker = broker
        super().__init__(("127.0.0.1", 0), of)


@contextmanager
def serving(broker: ReaderAtTheWire) -> Iterator[PulsarAsked]:
    """The broker on two ports of loopback, for as long as the block lasts."""
    with _Listening(broker, _Binary) as binary, _Listening(broker, _Rest) as rest:
        broker.url = f"pulsar://127.0.0.1:{binary.server_address[1]}"
        threads = [Thread(target=each.serve_forever, args=(0.05,)) for each in (binary, rest)]
        for thread in threads:
            thread.start()
        try:
            yield PulsarAsked(f"http://127.0.0.1:{rest.server_address[1]}", broker.url)
        finally:
            for each, thread in zip((binary, rest), threads, strict=True):
                each.shutdown()
                thread.join()
