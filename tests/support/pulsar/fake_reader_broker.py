"""The bytes that a broker sends a reader, and a fake broker on loopback that sends them.

It serves the binary protocol and a reader's two admin requests, for one topic. tests/broker has real brokers. This one
stalls, breaks off and sends false numbers at moments that a test chooses.
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

from support.pulsar.wire import Members, encode_members
from topicschema.validation.request import PulsarSource
from topicschema.validation.sources.pulsar import protocol
from topicschema.validation.sources.pulsar import pulsar_api_pb2 as api
from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand


def message(entry: int, body: bytes, metadata: Members | None = None, ledger: int = 3) -> bytes:
    """Return a MESSAGE frame as a broker sends it, with its own entry and a checksum."""
    place = api.MessageIdData(ledgerId=ledger, entryId=entry)
    command = BaseCommand(type=BaseCommand.MESSAGE, message=api.CommandMessage(consumer_id=1, message_id=place))
    encoded = encode_members({1: b"p", 2: 1, 3: 1_700_000_000_000, **(metadata or {})})
    sent = struct.pack(">I", len(encoded)) + encoded + body
    rest = struct.pack(">HI", 0x0E02, 2) + b"\x08\x01" + struct.pack(">HI", 0x0E01, crc32c(sent)) + sent
    return protocol.frame(command, rest)


def crc32c(content: bytes) -> int:
    """Return the checksum, computed bit by bit as in its definition."""
    left = 0xFFFFFFFF
    for byte in content:
        left ^= byte
        for _ in range(8):
            left = left >> 1 ^ (0x82F63B78 if left & 1 else 0)
    return left ^ 0xFFFFFFFF


def single(payload: bytes, more: Members | None = None) -> bytes:
    """Return a message of a batch."""
    encoded = encode_members({3: len(payload), **(more or {})})
    return struct.pack(">I", len(encoded)) + encoded + payload


def chunk(entry: int, number: int, count: int, body: bytes, uuid: bytes = b"a-1") -> bytes:
    return message(entry, body, {26: uuid, 27: count, 29: number})


Action = Callable[[Callable[[bytes], object]], object]
"""An action of the broker before its response. It receives the function that sends."""


def do_nothing(send: Callable[[bytes], object]) -> None:
    """Do nothing more than respond."""
    del send


def _never(number: int, path: str) -> bool:
    """Return False: the topic exists."""
    del number, path
    return False


@dataclass(slots=True)
class FakeReaderBroker:
    """A fake broker whose ledger 3 has `entries` entries and whose cursors report `reads_next` as their position.

    `on_subscribe` has one action for each reader, `on_last_message` one for each request of the last message. While
    `transactions` are open, `last_visible` is the last visible entry. `marks` are the mark-delete positions of the
    readers' cursors, in order; a cursor without one has not moved. `pending_reads` is the number of reads that have
    begun and are not sent. `is_trimmed`: the ledger is deleted. `rest_requests` counts admin requests. The response is
    an empty object while `is_rest_empty`, and 404 if `is_absent` is True for the number and the path of the request.
    """

    entries: int
    reads_next: int
    on_subscribe: list[Action] = field(default_factory=list)
    on_last_message: list[Action] = field(default_factory=list)
    transactions: int = 0
    last_visible: int | None = None
    marks: list[int] = field(default_factory=list)
    pending_reads: int = 0
    is_trimmed: bool = False
    rest_requests: int = 0
    is_rest_empty: bool = False
    partitions: int = 0
    is_absent: Callable[[int, str], bool] = _never
    permits: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    url: str = ""

    def handle(self, command: BaseCommand, send: Callable[[bytes], object]) -> None:
        """Run the actions of a command and respond to it."""
        response: BaseCommand | None = None
        if command.type == BaseCommand.CONNECT:
            response = BaseCommand(type=BaseCommand.CONNECTED, connected=api.CommandConnected(server_version=b"wire"))
        elif command.type == BaseCommand.LOOKUP:
            lookup = api.CommandLookupTopicResponse(
                brokerServiceUrl=self.url.encode(),
                response=api.CommandLookupTopicResponse.Connect,
                request_id=1,
                authoritative=True,
            )
            response = BaseCommand(type=BaseCommand.LOOKUP_RESPONSE, lookupTopicResponse=lookup)
        elif command.type == BaseCommand.SUBSCRIBE:
            self.names.append(command.subscribe.subscription)
            send(protocol.frame(BaseCommand(type=BaseCommand.SUCCESS, success=api.CommandSuccess(request_id=1))))
            (self.on_subscribe.pop(0) if self.on_subscribe else do_nothing)(send)
        elif command.type == BaseCommand.FLOW:
            self.permits.append(command.flow.messagePermits)
        elif command.type == BaseCommand.GET_LAST_MESSAGE_ID:
            (self.on_last_message.pop(0) if self.on_last_message else do_nothing)(send)
            entry = self.entries - 1 if self.last_visible is None else self.last_visible
            last = api.CommandGetLastMessageIdResponse(
                last_message_id=api.MessageIdData(ledgerId=3, entryId=entry), request_id=1
            )
            response = BaseCommand(type=BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE, getLastMessageIdResponse=last)
        if response is not None:
            send(protocol.frame(response))

    def stats(self) -> bytes:
        """Return the stats of the topic, as the admin API returns them."""
        if self.is_rest_empty:
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
                        "pendingReadOps": self.pending_reads,
                    }
                    for name, mark in zip(self.names, marks, strict=False)
                },
            }
        ).encode()


class _Binary(StreamRequestHandler):
    @override
    def handle(self) -> None:
        assert isinstance(self.server, _Listening)
        with suppress(OSError):  # the reader or the broker closed the connection
            while head := self.rfile.read(4):
                command = protocol.parse(self.rfile.read(int.from_bytes(head, "big"))[4:])
                self.server.broker.handle(command, self.request.sendall)


class _Rest(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, _Listening)
        broker = self.server.broker
        broker.rest_requests += 1
        is_absent = broker.is_absent(broker.rest_requests, self.path)
        body = b'{"reason": "Topic not found"}' if is_absent else broker.stats()
        self.send_response(404 if is_absent else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: object) -> None:
        return


class _Listening(ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, broker: FakeReaderBroker, of: type[BaseRequestHandler]) -> None:
        self.broker = broker
        super().__init__(("127.0.0.1", 0), of)


@contextmanager
def run_fake_reader_broker(broker: FakeReaderBroker) -> Iterator[PulsarSource]:
    """Run the broker on two ports of loopback while the context lasts."""
    with _Listening(broker, _Binary) as binary, _Listening(broker, _Rest) as rest:
        broker.url = f"pulsar://127.0.0.1:{binary.server_address[1]}"
        threads = [Thread(target=each.serve_forever, args=(0.05,)) for each in (binary, rest)]
        for thread in threads:
            thread.start()
        try:
            yield PulsarSource(f"http://127.0.0.1:{rest.server_address[1]}", broker.url)
        finally:
            for each, thread in zip((binary, rest), threads, strict=True):
                each.shutdown()
                thread.join()
