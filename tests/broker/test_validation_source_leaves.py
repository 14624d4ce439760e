"""Reading leaves a broker as it was, to the last cursor, also where idle topics are collected."""

import os
import time
from collections.abc import Callable
from typing import Any

import pulsar as python
import pytest

from support.pulsar.rest_topic import RestTopic, optional, record
from support.sizes import sized
from support.validation.topic_messages import RetainedTopic, contents, open_client, rows
from testbed.pulsar import Pulsar
from topicschema.validation.request import PulsarSource
from topicschema.validation.sources.pulsar.errors import SourceDeletedError
from topicschema.validation.sources.pulsar.source import TopicMessages

pytestmark = [pytest.mark.timeout(400), pytest.mark.broker]

LATER = float(os.environ.get("TOPICSCHEMA_TEST_LATER") or sized(0, 180))
"""Seconds from the broker's collection of an idle topic to the test's check."""
ONE = record(optional("a"))


def _collects_idle_topics(pulsar: Pulsar, namespace: str) -> None:
    idle = {"inactiveTopicDeleteMode": "delete_when_no_subscriptions", "maxInactiveDurationSeconds": 2}
    pulsar.call("POST", f"/namespaces/{namespace}/inactiveTopicPolicies", {**idle, "deleteWhileInactive": True})


def _wait_for_the_collector(pulsar: Pulsar) -> None:
    """Return once the broker has collected a topic that is idle from now on, and so has checked all the others."""
    namespace = pulsar.create_namespace()
    _collects_idle_topics(pulsar, namespace)
    pulsar.call("PUT", f"/persistent/{namespace}/idle")
    deadline = time.monotonic() + 180  # a broker that is not ours checks once a minute
    while pulsar.call("GET", f"/persistent/{namespace}"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(LATER)


def test_a_topic_that_does_not_exist_has_no_messages_and_keeps_its_schema(topic: RestTopic) -> None:
    pulsar = topic.pulsar
    _collects_idle_topics(pulsar, topic.namespace)
    topic.upload_version(ONE)
    source = PulsarSource(pulsar.admin_url, pulsar.service_url)
    plan = TopicMessages(source, f"persistent://{topic.namespace}/{topic.name}").plan()
    assert (plan.splits, len(plan.notes)) == ((), 1)
    plan = TopicMessages(source, "persistent://nowhere/nowhere/x").plan()
    assert (plan.splits, plan.is_missing) == ((), True)
    _wait_for_the_collector(pulsar)
    assert (topic.index(), topic.versions()) == ([0], [0])
    assert pulsar.call("GET", f"/persistent/{topic.namespace}") == []


@pytest.mark.parametrize(("partitions", "is_unloaded"), [(0, False), (2, True)])
def test_a_topic_that_was_read_is_as_it_was(pulsar: Pulsar, partitions: int, *, is_unloaded: bool) -> None:
    topic = RetainedTopic.create(pulsar, partitions=partitions)
    _collects_idle_topics(pulsar, topic.namespace)
    RestTopic(pulsar, topic.namespace, topic.name).upload_version(ONE)
    with open_client(pulsar) as client:
        topic.send(client, [b"%d" % each for each in range(50)])
        # At its beginning: when 5.0 loads a topic, it moves a subscription at a ledger's end to the next ledger.
        client.subscribe(topic.full_name, "theirs", initial_position=python.InitialPosition.Earliest).close()
    before = topic.broker_state()
    if is_unloaded:
        pulsar.call("PUT", f"{topic.path}/unload")
    assert contents(rows(topic.source())) == topic.sent
    _wait_for_the_collector(pulsar)
    after = topic.broker_state()
    for part in ("topics", "partitioned", "schemas", "subscriptions"):
        assert after[part] == before[part], part
    assert all(list(each) == ["theirs"] for each in after["cursors"].values())
    positions = [_marked(each) for each in (before, after)]
    assert positions[0] == positions[1]


def _marked(state: dict[str, Any]) -> list[str]:
    return [cursor["markDeletePosition"] for each in state["cursors"].values() for cursor in each.values()]


def test_a_topic_without_any_subscription_stays_by_its_retention(pulsar: Pulsar) -> None:
    topic = RetainedTopic.create(pulsar)
    _collects_idle_topics(pulsar, topic.namespace)
    RestTopic(pulsar, topic.namespace, topic.name).upload_version(ONE)
    with open_client(pulsar) as client:
        topic.send(client, [b"1", b"2"])
    before = topic.broker_state()
    assert contents(rows(topic.source())) == topic.sent
    _wait_for_the_collector(pulsar)
    assert topic.broker_state() == before


def test_a_partition_that_was_never_used_has_no_messages(pulsar: Pulsar) -> None:
    topic = RetainedTopic.create(pulsar, partitions=2)
    pulsar.call("DELETE", f"{topic.path}-partition-1?force=true")
    plan = topic.source().plan()
    assert (plan.splits, len(plan.names)) == ((), 2)
    assert pulsar.call("GET", f"/persistent/{topic.namespace}") == [f"{topic.full_name}-partition-0"]


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_topic_that_is_deleted_meanwhile_is_not_created_again(pulsar: Pulsar, *, is_begun: bool) -> None:
    topic = RetainedTopic.create(pulsar)
    with open_client(pulsar) as client:
        topic.send(client, [b"x" * 50_000] * 1_000)
    source = topic.source(split_messages=10_000)
    split = source.plan().splits[0]
    reading = source.read(split)
    if is_begun:
        next(reading)
    pulsar.call("DELETE", f"{topic.path}?force=true")
    with pytest.raises(SourceDeletedError, match="deleted"):
        _drain(lambda: next(reading))
    time.sleep(2)
    assert pulsar.call("GET", f"/persistent/{topic.namespace}") == []


def _drain(step: Callable[[], object]) -> None:
    try:
        while True:
            step()
    except StopIteration:
        return
