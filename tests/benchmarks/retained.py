"""Speed of reading and judging a topic's messages by two processes, beside readers that ignore the payloads.

Two anchors, in the same rounds, of the same topic. One is Pulsar's Python client, whose messages are dropped at once.
The other is our own readers, whose batches are dropped unjudged: the difference to ours is judging. Each process has
one partition; its start and its first compilation are not measured. Wall time, for a broker takes part of the machine.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import pulsar as python

from benchmarks import orders
from benchmarks.rows import Goal, Row, beside
from support.validation.topic_filling import Message, fill
from support.validation.topic_messages import RetainedTopic
from testbed import brokers, pulsar
from testbed.instances import Instance
from testbed.progress import Progress
from testbed.pulsar import Pulsar
from testbed.pulsar_setup import Setup
from topicschema import payload
from topicschema.core import formats
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation.request import PulsarSource, ValidationRequest
from topicschema.validation.run.sampling import Sampling
from topicschema.validation.run.task import Task
from topicschema.validation.sources import Expired, NotDelivered, Split
from topicschema.validation.sources.pulsar.source import TopicMessages

_MESSAGES, _MADE, _READERS, _ROUNDS = 1_000_000, 2_000, 2, 5
_GOAL = Goal(0.9, at_most=False)
CACHES = {"dbStorage_readAheadCacheMaxSizeMb": "64", "managedLedgerCacheSizeMB": "64"}
"""Settings for large reads. With those of the other tests, the broker would be measured instead of its readers."""

Reading = Callable[[Task, Split], int]
"""A function that reads a split and returns its number of messages."""


def measure() -> Iterator[Row]:
    """Yield the rows."""
    brokers.prepare(Progress())
    instance = Instance.owned()
    try:
        yield from _measured(brokers.from_environment() or pulsar.start(instance, "retained", Setup(CACHES)))
    finally:
        instance.end()


def _measured(broker: Pulsar) -> Iterator[Row]:
    topic = RetainedTopic.create(broker, partitions=_READERS)
    request, messages = _made(topic)
    for number in range(_READERS):
        fill(broker.service_url, f"{topic.full_name}-partition-{number}", messages, _MESSAGES // _READERS)
    source = TopicMessages(topic.pulsar_source, topic.full_name, split_messages=2 * _MESSAGES)
    splits = source.plan().splits
    task = Task("benchmark", request.pack().content, source, Sampling(0))
    with ProcessPoolExecutor(_READERS, get_context("spawn")) as pool:
        rounds = [_Round.of(pool, task, splits) for _ in range(_ROUNDS + 1)][1:]
    judged = statistics.median(each.judged for each in rounds)
    for anchor, value in (
        ("pulsar-client's readers, nothing decoded", statistics.median(each.clients for each in rounds)),
        ("our own readers, nothing judged", statistics.median(each.dropped for each in rounds)),
    ):
        yield beside("retained messages read and judged, two readers", judged, "messages/s", (anchor, value), _GOAL)


@dataclass(frozen=True, slots=True)
class _Round:
    """Messages a second of one round."""

    judged: float
    dropped: float
    clients: float

    @classmethod
    def of(cls, pool: ProcessPoolExecutor, task: Task, splits: tuple[Split, ...]) -> "_Round":
        """Measure each way, one after the other."""
        return cls(*(_speed(pool, reading, task, splits) for reading in (_judge, _drop, _drop_client_s)))


def _speed(pool: ProcessPoolExecutor, reading: Reading, task: Task, splits: tuple[Split, ...]) -> float:
    started = time.monotonic()
    count = sum(pool.map(reading, [task] * len(splits), splits))
    if count != _MESSAGES:
        raise RuntimeError(f"{count} messages were read of {_MESSAGES}")
    return _MESSAGES / (time.monotonic() - started)


def _judge(task: Task, split: Split) -> int:
    return task.tally(split).messages


def _drop(task: Task, split: Split) -> int:
    return sum(len(each) for each in task.source.read(split) if not isinstance(each, Expired | NotDelivered))


def _drop_client_s(task: Task, split: Split) -> int:
    assert isinstance(task.source, TopicMessages)
    return drop(task.source.pulsar.service_url, split.what.topic, _MESSAGES // _READERS)


def drop(service_url: str, topic: str, count: int) -> int:
    """Receive that number of messages by Pulsar's Python client, and return it."""
    quiet = python.ConsoleLogger(python.LoggerLevel.Error)
    client = python.Client(service_url, logger=quiet, stats_interval_in_seconds=0)
    reader = client.create_reader(topic, python.MessageId.earliest, receiver_queue_size=5_000)._reader
    for _ in range(count):
        reader.read_next(10_000)
    client.close()
    return count


def _made(topic: RetainedTopic) -> tuple[ValidationRequest, list[Message]]:
    """Return the validation request of the orders, and some of them as they are sent."""
    made = orders.made(_MADE)
    infos = [SchemaInfo(SchemaType.AVRO, json.dumps(each).encode()) for each in made.writers]
    writers = [formats.parse(each) for each in infos]
    messages = [(number, payload.encode(writers[number], value).payload or b"") for number, value in made.messages]
    source = PulsarSource(topic.pulsar.admin_url, topic.pulsar.service_url)
    reader = SchemaInfo(SchemaType.AVRO, json.dumps(made.reader).encode())
    return ValidationRequest(reader, dict(enumerate(infos)), topic.full_name, pulsar=source), messages
