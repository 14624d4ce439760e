"""Bytes that change on the way from a real broker: read once more, and reported as damaged if they stay so."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import pytest

from support.validation.topic_messages import RetainedTopic, contents, open_client, rows
from testbed.pulsar import Pulsar
from topicschema.validation.run.batches import DAMAGED
from topicschema.validation.sources.pulsar.source import TopicMessages

pytestmark = [pytest.mark.timeout(120), pytest.mark.broker]

_TEXTS = [b"order-%04d" % number for number in range(200)]
_CHOSEN, _DAMAGED = b"order-0077", b"order-007?"


@dataclass
class _Relay:
    """A relay before a broker, which replaces the broker's address by its own and damages one message `times` times."""

    broker: tuple[str, int]
    times: int
    address: str = ""
    damages: int = 0

    def serve(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                broker = socket.create_connection(self.broker)
                for pair in ((client, broker, False), (broker, client, True)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_damaging: bool) -> None:  # noqa: FBT001 - args
        with suppress(OSError):
            while content := source.recv(1 << 20):
                target.sendall(self._damage(content) if is_damaging else content)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _damage(self, content: bytes) -> bytes:
        content = content.replace(b":%d" % self.broker[1], f":{self.address.rpartition(':')[2]}".encode())
        if _CHOSEN in content and self.damages < self.times:
            self.damages += 1
            content = content.replace(_CHOSEN, _DAMAGED)
        return content


@contextmanager
def _relayed(pulsar: Pulsar, times: int) -> Iterator[_Relay]:
    parts = urlsplit(pulsar.service_url)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        relay = _Relay((parts.hostname or "", parts.port or 0), times, f"pulsar://127.0.0.1:{port}")
        assert len(str(port)) == len(str(parts.port)), "or the broker's address is not as long as the relay's"
        serving = threading.Thread(target=relay.serve, args=(listening,), daemon=True)
        serving.start()
        try:
            yield relay
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            serving.join(10)


@pytest.fixture(scope="module")
def topic(pulsar: Pulsar) -> RetainedTopic:
    topic = RetainedTopic.create(pulsar)
    with open_client(pulsar) as client:
        topic.send(client, _TEXTS)
    return topic


def test_what_is_damaged_on_the_way_is_read_once_more_and_no_finding(topic: RetainedTopic) -> None:
    with _relayed(topic.pulsar, times=1) as relay:
        messages = rows(TopicMessages(replace(topic.pulsar_source, service_url=relay.address), topic.full_name))
    assert relay.damages == 1
    assert contents(messages) == topic.sent


def test_what_stays_damaged_is_a_finding_at_its_place_and_all_else_is_read(topic: RetainedTopic) -> None:
    with _relayed(topic.pulsar, times=1_000) as relay:
        messages = rows(TopicMessages(replace(topic.pulsar_source, service_url=relay.address), topic.full_name))
    assert relay.damages == 2
    assert [row["payload"] for row in messages if row["writer"] != DAMAGED] == [
        each for each in _TEXTS if each != _CHOSEN
    ]
    (damaged,) = [row for row in messages if row["writer"] == DAMAGED]
    assert (damaged["entry"], damaged["payload"]) == (77, b"")
