"""Bytes that change on the way from a real broker: read once more, and said to be damaged where they stay so."""

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
from topicschema.validation.sources.pulsar.source import PulsarMessages

pytestmark = [pytest.mark.timeout(120), pytest.mark.broker]

_TEXTS = [b"order-%04d" % number for number in range(200)]
_HIT, _BENT = b"order-0077", b"order-007?"


@dataclass
class _Relay:
    """Stands before a broker, whose own address it takes the place of, and bends one message so many times."""

    broker: tuple[str, int]
    times: int
    address: str = ""
    bent: int = 0

    def serve(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                broker = socket.create_connection(self.broker)
                for pair in ((client, broker, False), (broker, client, True)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_bending: bool) -> None:  # noqa: FBT001 - args
        with suppress(OSError):
            while content := source.recv(1 << 20):
                target.sendall(self._bent(content) if is_bending else content)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _bent(self, content: bytes) -> bytes:
        content = content.replace(b":%d" % self.broker[1], f":{self.address.rpartition(':')[2]}".encode())
        if _HIT in content and self.bent < self.times:
            self.bent += 1
            content = content.replace(_HIT, _BENT)
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
        found = rows(PulsarMessages(replace(topic.pulsar_source, service_url=relay.address), topic.full_name))
    assert relay.bent == 1
    assert contents(found) == topic.sent


def test_what_stays_damaged_is_a_finding_at_its_place_and_all_else_is_read(topic: RetainedTopic) -> None:
    with _relayed(topic.pulsar, times=1_000) as relay:
        found = rows(PulsarMessages(replace(topic.pulsar_source, service_url=relay.address), topic.full_name))
    assert relay.bent == 2
    assert [row["payload"] for row in found if row["writer"] != DAMAGED] == [each for each in _TEXTS if each != _HIT]
    (damaged,) = [row for row in found if row["writer"] == DAMAGED]
    assert (damaged["entry"], damaged["payload"]) == (77, b"")
