"""Topics that are stalled by the state of their broker, which sends no events: they are reconciled again soon."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from support.kubernetes.reconciling import run_due
from support.kubernetes.topic import TOPIC
from support.pulsar.schema_service import Entry, PulsarSchemas
from support.schemas.examples import record
from support.validation.validated_topic import KEY, ValidatedTopic
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.core.errors import StalledAtBrokerError
from topicschema.core.reasons import Reason
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult, WorkQueue

ONE, TWO = record("id"), record("id", "a?")
HALF_AN_HOUR = 1800.0


def spoil(schemas: PulsarSchemas) -> None:
    """Register a text that no broker can read again, as another client."""
    schemas.entries[TOPIC] = (Entry(0, SchemaInfo(SchemaType.AVRO, b"{}"), "2026-11-21T01:00:00Z"),)


def register_other(schemas: PulsarSchemas) -> None:
    schemas.upload(TOPIC, ONE.info)


async def reason_after_due(topic: ValidatedTopic, queue: WorkQueue) -> str:
    """Return the reason of Ready once nothing is due."""
    await run_due(queue)
    return str((await topic.conditions())["Ready"]["reason"])


def work_queue(topic: ValidatedTopic) -> WorkQueue:
    """Return a work queue with the topic's clock, in which the topic is due."""
    queue = WorkQueue(topic.topics.reconcile, HALF_AN_HOUR, clock=lambda: topic.seconds)
    queue.add(KEY)
    return queue


def lose(schemas: PulsarSchemas) -> None:
    schemas.force_delete(TOPIC)


def forbid(schemas: PulsarSchemas) -> None:
    schemas.settings[TOPIC] = {"strategy": Strategy.ALWAYS_INCOMPATIBLE}


@pytest.mark.parametrize(
    ("is_registered", "breaks", "reason", "mends"),
    [
        (False, spoil, "Incompatible", lambda schemas: schemas.soft_delete(TOPIC)),
        (True, lose, "HistoryLost", register_other),
        (True, forbid, "RefusedByBroker", lambda schemas: schemas.settings.clear()),
    ],
)
async def test_a_topic_that_its_broker_stalls_is_ready_within_a_minute_after_that_was_fixed(
    topic: ValidatedTopic,
    breaks: Callable[[PulsarSchemas], None],
    reason: str,
    mends: Callable[[PulsarSchemas], None],
    *,
    is_registered: bool,
) -> None:
    queue, schemas = work_queue(topic), topic.broker.schemas
    if is_registered:
        topic.set_topic(ONE)
        assert await reason_after_due(topic, queue) == "Registered"
    breaks(schemas)
    edited = ONE if reason == "HistoryLost" else TWO
    topic.set_topic(edited)
    queue.add(KEY)
    assert await reason_after_due(topic, queue) == reason
    topic.seconds += 60.0
    assert await reason_after_due(topic, queue) == reason
    mends(schemas)
    topic.seconds += 60.0
    assert await reason_after_due(topic, queue) == "Registered"
    assert queue.next_due is not None
    assert queue.next_due > topic.seconds + 60.0


async def test_topics_of_a_broker_that_lost_everything_are_reconciled_two_a_second() -> None:
    now = 0.0
    times: list[float] = []

    async def fail(_: Key) -> ReconcileResult:
        times.append(now)
        raise StalledAtBrokerError(Reason.HISTORY_LOST, "the broker has no schema any more")

    queue = WorkQueue(fail, HALF_AN_HOUR, clock=lambda: now)
    for number in range(600):
        queue.add(Key(TOPIC_SCHEMA.plural, "shop", f"topic-{number}"))
    await run_due(queue)
    assert len(times) == 600
    for _ in range(600):
        assert queue.next_due is not None
        now = queue.next_due
        await run_due(queue)
    again = times[600:1200]
    assert again[0] <= 60.0
    assert all(later - earlier >= 0.5 for earlier, later in pairwise(again))
