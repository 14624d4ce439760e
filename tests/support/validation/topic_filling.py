"""Fills a topic faster than clients do: it encodes batches itself, each with its writer's schema version."""

import socket
import ssl
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from urllib.parse import urlsplit

from support.pulsar.fake_reader_broker import single
from support.pulsar.wire import encode_members
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
    """Send that number of messages, repeated in order, to an existing topic or partition."""
    with closing(_connect(service_url, credentials)) as connection:
        _create_producer(connection, topic, credentials)
        waiting = 0
        for number, (count, sent) in enumerate(_batches(messages, total)):
            connection.sendall(_frame(number, count, sent))
            waiting += 1
            while waiting >= _AHEAD:
                waiting -= _receive_receipt(connection)
        while waiting:
            waiting -= _receive_receipt(connection)


def _connect(service_url: str, credentials: Credentials | None) -> socket.socket:
    parts = urlsplit(service_url)
    connection = socket.create_connection((parts.hostname, parts.port), 20)
    if credentials is None:
        return connection
    trust = ssl.create_default_context(cafile=str(credentials.ca))
    return trust.wrap_socket(connection, server_hostname=parts.hostname)


def _create_producer(connection: socket.socket, topic: str, credentials: Credentials | None) -> None:
    connect = api.CommandConnect(client_version="filling", protocol_version=19)
    if credentials is not None:
        connect.auth_method_name, connect.auth_data = "token", credentials.tokens.superuser.encode()
    lookup = api.CommandLookupTopic(topic=topic, request_id=1)  # the broker loads the topic; it is the only broker
    producer = api.CommandProducer(topic=topic, producer_id=1, request_id=1)
    for command, response_type in (
        (BaseCommand(type=BaseCommand.CONNECT, connect=connect), BaseCommand.CONNECTED),
        (BaseCommand(type=BaseCommand.LOOKUP, lookupTopic=lookup), BaseCommand.LOOKUP_RESPONSE),
        (BaseCommand(type=BaseCommand.PRODUCER, producer=producer), BaseCommand.PRODUCER_SUCCESS),
    ):
        connection.sendall(protocol.frame(command))
        assert _receive(connection).type == response_type


def _frame(number: int, count: int, sent: bytes) -> bytes:
    send = api.CommandSend(producer_id=1, sequence_id=number, num_messages=count)
    return protocol.frame(BaseCommand(type=BaseCommand.SEND, send=send), sent)


def _batches(messages: Sequence[Message], total: int) -> Iterator[tuple[int, bytes]]:
    """Yield the number of messages of each batch, and its metadata and body. A batch has messages of one writer."""
    versions = dict.fromkeys(version for version, _ in messages)
    by_writer = {version: [each for of, each in messages if of == version] for version in versions}
    left = {version: total * len(of) // len(messages) for version, of in by_writer.items()}
    left[next(iter(left))] += total - sum(left.values())
    for version, payloads in by_writer.items():
        singles = [single(each) for each in payloads]
        at = 0
        while left[version]:
            parts, size = [], 0
            while left[version] and size < _BATCH_BYTES:
                parts.append(singles[at % len(singles)])
                size += len(parts[-1])
                at, left[version] = at + 1, left[version] - 1
            metadata = {1: b"f", 2: at, 3: time.time_ns() // 1_000_000, 11: len(parts), 16: version.to_bytes(8, "big")}
            encoded = encode_members(metadata)
            yield len(parts), struct.pack(">I", len(encoded)) + encoded + b"".join(parts)


def _receive_receipt(connection: socket.socket) -> int:
    """Return 1 for a receipt, 0 for a ping, which is answered."""
    response = _receive(connection)
    if response.type == BaseCommand.PING:
        connection.sendall(protocol.frame(BaseCommand(type=BaseCommand.PONG, pong=api.CommandPong())))
        return 0
    assert response.type == BaseCommand.SEND_RECEIPT, response
    return 1


def _receive(connection: socket.socket) -> BaseCommand:
    size = int.from_bytes(_receive_bytes(connection, 4), "big")
    return protocol.parse(_receive_bytes(connection, size)[4:])


def _receive_bytes(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        more = connection.recv(size - len(content))
        assert more, "the broker closed the connection"
        content += more
    return content
