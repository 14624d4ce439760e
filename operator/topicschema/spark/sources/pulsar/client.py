"""Readers of one partition: opened, closed, and what their client wrote of chunks that begin before the reading does.

A reader has a subscription that the broker keeps in memory alone, and forgets when the reader goes.
"""

import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import _pulsar
import pulsar

from topicschema.spark.errors import SourceError
from topicschema.spark.question import PulsarAsked
from topicschema.spark.sources.pulsar.errors import SourceRefusedError, SourceSilentError
from topicschema.spark.sources.pulsar.identity import authentication_of
from topicschema.spark.sources.pulsar.ranges import Position

_CONNECT_MS: Final = 5_000
_OPERATION_SECONDS: Final = 15
# The client's own line for a chunk that it has no beginning of; it hands on nothing then, and tells nobody else.
_UNCACHED: Final = re.compile(rb"uncached chunk \(uuid: .{0,400}?chunkId: \d+, messageId: \((-?\d+),(-?\d+),")
_REFUSALS: Final = (
    _pulsar.AuthenticationError,
    _pulsar.AuthorizationError,
    _pulsar.ErrorGettingAuthenticationData,
    _pulsar.NotAllowedError,
)


@dataclass(frozen=True, slots=True)
class Opened:
    """A reader of the client's own kind, the start of its subscription's name, and the file that its client writes."""

    reader: Any
    name: str
    log: Path

    def strays(self) -> frozenset[Position]:
        """Chunks that came without the ones before them."""
        with suppress(FileNotFoundError):
            return frozenset(Position(int(a), int(b)) for a, b in _UNCACHED.findall(self.log.read_bytes()))
        return frozenset()


@contextmanager
def opened(asked: PulsarAsked, topic: str, first: Position, queue: int) -> Iterator[Opened]:
    """A reader of the topic from that entry on, which holds at most `queue` messages; SourceError where there is none.

    The topic must be there: a reader of one that is not makes it.
    """
    name = f"topicschema-{secrets.token_hex(8)}"
    with tempfile.TemporaryDirectory(prefix="topicschema-") as folder:
        log = Path(folder, "client.log")
        with told(topic):
            client = _client(asked, log)
        try:
            with told(topic):
                reader = client._client.create_reader(  # noqa: SLF001 - its wrapper makes each call twice as dear
                    topic, _pulsar.MessageId(-1, *first, -1), _configuration(name, queue)
                )
            yield Opened(reader, name, log)
        finally:
            with suppress(_pulsar.PulsarException):
                client.close()


@contextmanager
def told(place: str) -> Iterator[None]:
    """What the client raises, as errors of the run. Its own texts are the names of its results, without secrets."""
    try:
        yield
    except _REFUSALS as error:
        raise SourceRefusedError(f"the broker refuses the run's reader: {_word(error)}", place) from None
    except (_pulsar.Timeout, _pulsar.ConnectError) as error:
        raise SourceSilentError(f"the broker cannot be reached: {_word(error)}", place) from None
    except _pulsar.PulsarException as error:
        raise SourceError(f"the client ends with {_word(error)}", place) from None


def _client(asked: PulsarAsked, log: Path) -> pulsar.Client:
    return pulsar.Client(
        asked.service_url,
        authentication=authentication_of(asked),
        operation_timeout_seconds=_OPERATION_SECONDS,
        connection_timeout_ms=_CONNECT_MS,
        tls_trust_certs_file_path=asked.ca_file,
        tls_validate_hostname=True,
        stats_interval_in_seconds=0,
        logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, str(log)),
    )


def _configuration(name: str, queue: int) -> Any:
    configuration = _pulsar.ReaderConfiguration()
    configuration.receiver_queue_size(queue)
    configuration.subscription_role_prefix(name)
    configuration.start_message_id_inclusive(True)  # noqa: FBT003 - the client's own form
    configuration.read_compacted(False)  # noqa: FBT003 - as above
    # Without a key the client would wait for ever; so it hands on what it could not read, and the run says so.
    configuration.crypto_failure_action(pulsar.ConsumerCryptoFailureAction.CONSUME)
    return configuration


def _word(error: Exception) -> str:
    return str(error).removeprefix("Pulsar error: ")[:200] or type(error).__name__
