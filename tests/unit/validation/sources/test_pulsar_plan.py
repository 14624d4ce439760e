"""The plan of a topic that is deleted during planning, and of one that was never used."""

from collections.abc import Callable

import pytest

from support.pulsar.fake_reader_broker import FakeReaderBroker, run_fake_reader_broker
from topicschema.validation.sources import Plan
from topicschema.validation.sources.pulsar.source import TopicMessages


def planned(partitions: int, is_absent: Callable[[int, str], bool]) -> Plan:
    broker = FakeReaderBroker(entries=0, reads_next=0, partitions=partitions, is_absent=is_absent)
    with run_fake_reader_broker(broker) as source:
        return TopicMessages(source, "persistent://shop/live/orders").plan()


@pytest.mark.parametrize("partitions", [0, 1, 3])
def test_a_topic_that_is_deleted_between_two_requests_of_the_plan_does_not_exist(partitions: int) -> None:
    plan = planned(partitions, lambda number, _path: number > 1)
    assert (plan.splits, plan.is_missing) == ((), True)
    assert plan.notes == ("persistent://shop/live/orders does not exist: it has no messages",)


@pytest.mark.parametrize("partitions", [0, 1, 3])
def test_topic_without_messages_exists(partitions: int) -> None:
    plan = planned(partitions, lambda _number, path: partitions > 0 and "/partitions" not in path)
    assert (plan.splits, plan.is_missing, len(plan.names)) == ((), False, max(1, partitions))
