"""A topic filled faster than clients do: batches made once, sent as they are, each with its writer's schema version."""

import socket
import ssl
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from urllib.parse import urlsplit

from testbed.pulsar_setup import Credentials
from topicschema.validation.sources.pulsar import protocol
from topicschema.validation.sources.pulsar.protocol import Kind, Members, command, written

_PRODUCER, _SEND, _RECEIPT, _PRODUCER_SUCCESS = 5, 6, 7, 17
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
            line.sendall(_frame({1: 1, 2: number, 3: count}, sent))
            waiting += 1
            while waiting >= _AHEAD:
                waiting -= _receipts(line)
        while waiting:
            waiting -= _receipts(line)


def claim(service_url: str, topic: str, messages: int) -> None:
    """Send a batch of one message that says it has so many."""
    with closing(_line(service_url, None)) as line:
        _introduce(line, topic, None)
        told = written({1: b"c", 2: 1, 3: time.time_ns() // 1_000_000, 11: messages})
        line.sendall(_frame({1: 1, 2: 0, 3: 1}, struct.pack(">I", len(told)) + told + _single(b"one")))
        while not _receipts(line):
            pass


def _line(service_url: str, credentials: Credentials | None) -> socket.socket:
    parts = urlsplit(service_url)
    line = socket.create_connection((parts.hostname, parts.port), 20)
    if credentials is None:
        return line
    trust = ssl.create_default_context(cafile=str(credentials.ca))
    return trust.wrap_socket(line, server_hostname=parts.hostname)


def _introduce(line: socket.socket, topic: str, credentials: Credentials | None) -> None:
    shown = {} if credentials is None else {5: b"token", 3: credentials.tokens.superuser.encode()}
    for kind, members in (
        (int(Kind.CONNECT), {1: b"filling", 4: 19, **shown}),
        (int(Kind.LOOKUP), {1: topic.encode(), 2: 1, 3: 0}),  # the broker takes the topic up, and is the only one
        (_PRODUCER, {1: topic.encode(), 2: 1, 3: 1}),
    ):
        content = written({1: kind, kind: written(members)})
        line.sendall(struct.pack(">II", len(content) + 4, len(content)) + content)
        assert _answer(line)[0] in {int(Kind.CONNECTED), int(Kind.LOOKUP_RESPONSE), _PRODUCER_SUCCESS}


def _frame(told: Members, sent: bytes) -> bytes:
    content = written({1: _SEND, _SEND: written(told)})
    return struct.pack(">II", len(content) + 4 + len(sent), len(content)) + content + sent


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
    kind, found = _answer(line)
    if kind == Kind.PING:
        line.sendall(protocol.frame(Kind.PONG, {}))
        return 0
    assert kind == _RECEIPT, (kind, found)
    return 1


def _answer(line: socket.socket) -> tuple[int, Members]:
    size = int.from_bytes(_exactly(line, 4), "big")
    return command(_exactly(line, size)[4:])


def _exactly(line: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = line.recv(size - len(found))
        assert more, "the broker closed the connection"
        found += more
    return found
