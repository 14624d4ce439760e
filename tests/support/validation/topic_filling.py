"""A topic filled faster than clients do: batches made once, sent as they are, each with its writer's schema version."""

import socket
import ssl
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from urllib.parse import urlsplit

from support.pulsar.wire import written
from testbed.pulsar_setup import Credentials
from topicschema.validation.sources.pulsar import protocol
from topicschema.validation.sources.pulsar import pulsar_api_pb2 as api
from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand

_BATCH_BYTES = 100_000
_AHEAD = 64

Message = tuple[int, bytes]
"""The writer's version, and the payload."""


def fill(
    service_url: str, topic: str, messages: Sequence[Message], total: int, credentials: Credentials | None = None
) -> None:
    """Send that many, the messages over and over, to a topic or a partition that exists."""
    with closing(_line(service_url, credentials)) as line:
        _introduce(line, topic, credentials)
        waiting = 0
        for number, (count, sent) in enumerate(_batches(messages, total)):
            line.sendall(_frame(number, count, sent))
            waiting += 1
            while waiting >= _AHEAD:
                waiting -= _receipts(line)
        while waiting:
            waiting -= _receipts(line)


def _line(service_url: str, credentials: Credentials | None) -> socket.socket:
    parts = urlsplit(service_url)
    line = socket.create_connection((parts.hostname, parts.port), 20)
    if credentials is None:
        return line
    trust = ssl.create_default_context(cafile=str(credentials.ca))
    return trust.wrap_socket(line, server_hostname=parts.hostname)


def _introduce(line: socket.socket, topic: str, credentials: Credentials | None) -> None:
    connect = api.CommandConnect(client_version="filling", protocol_version=19)
    if credentials is not None:
        connect.auth_method_name, connect.auth_data = "token", credentials.tokens.superuser.encode()
    lookup = api.CommandLookupTopic(topic=topic, request_id=1)  # the broker takes the topic up, and is the only one
    producer = api.CommandProducer(topic=topic, producer_id=1, request_id=1)
    for command, answer in (
        (BaseCommand(type=BaseCommand.CONNECT, connect=connect), BaseCommand.CONNECTED),
        (BaseCommand(type=BaseCommand.LOOKUP, lookupTopic=lookup), BaseCommand.LOOKUP_RESPONSE),
        (BaseCommand(type=BaseCommand.PRODUCER, producer=producer), BaseCommand.PRODUCER_SUCCESS),
    ):
        line.sendall(protocol.frame(command))
        assert _answer(line).type == answer


def _frame(number: int, count: int, sent: bytes) -> bytes:
    told = api.CommandSend(producer_id=1, sequence_id=number, num_messages=count)
    return protocol.frame(BaseCommand(type=BaseCommand.SEND, send=told), sent)


def _batches(messages: Sequence[Message], total: int) -> Iterator[tuple[int, bytes]]:
    """Metadata and body of each batch, and how many messages it has; a batch has messages of one writer."""
    by_writer = {version: [each for of, each in messages if of == version] for version, _ in messages}
    left = {version: total * len(of) // len(messages) for version, of in by_writer.items()}
    left[next(iter(left))] += total - sum(left.values())
    for version, payloads in by_writer.items():
        singles = [_single(each) for each in payloads]
        at = 0
        while left[version]:
            parts, size = [], 0
            while left[version] and size < _BATCH_BYTES:
                parts.append(singles[at % len(singles)])
                size += len(parts[-1])
                at, left[version] = at + 1, left[version] - 1
            metadata = {1: b"f", 2: at, 3: time.time_ns() // 1_000_000, 11: len(parts), 16: version.to_bytes(8, "big")}
            told = written(metadata)
            yield len(parts), struct.pack(">I", len(told)) + told + b"".join(parts)


def _single(payload: bytes) -> bytes:
    told = written({3: len(payload)})
    return struct.pack(">I", len(told)) + told + payload


def _receipts(line: socket.socket) -> int:
    answer = _answer(line)
    if answer.type == BaseCommand.PING:
        line.sendall(protocol.frame(BaseCommand(type=BaseCommand.PONG, pong=api.CommandPong())))
        return 0
    assert answer.type == BaseCommand.SEND_RECEIPT, answer
    return 1


def _answer(line: socket.socket) -> BaseCommand:
    size = int.from_bytes(_exactly(line, 4), "big")
    return protocol.parse(_exactly(line, size)[4:])


def _exactly(line: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = line.recv(size - len(found))
        assert more, "the broker closed the connection"
        found += more
    return found
