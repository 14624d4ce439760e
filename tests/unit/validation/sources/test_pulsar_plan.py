"""What a plan says of a topic that is deleted while it is asked for, and of one that was never used."""

from collections.abc import Callable

import pytest

from support.pulsar.fake_reader import ReaderAtTheWire, serving
from topicschema.validation.sources import Plan
from topicschema.validation.sources.pulsar.source import PulsarMessages


def planned(partitions: int, is_absent: Callable[[int, str], bool]) -> Plan:
    broker = ReaderAtTheWire(entries=0, reads_next=0, partitions=partitions, is_absent=is_absent)
    with serving(broker) as asked:
        return PulsarMessages(asked, "persistent://shop/live/orders").plan()


@pytest.mark.parametrize("partitions", [0, 1, 3])
def test_a_topic_that_is_deleted_between_two_questions_of_the_plan_does_not_exist(partitions: int) -> None:
    plan = planned(partitions, lambda number, _path: number > 1)
    assert (plan.splits, plan.is_missing) == ((), True)
    assert plan.notes == ("persistent://shop/live/orders does not exist: it has no messages",)


@pytest.mark.parametrize("partitions", [0, 1, 3])
def test_topic_without_messages_exists(partitions: int) -> None:
    plan = planned(partitions, lambda _number, path: partitions > 0 and "/partitions" not in path)
    assert (plan.splits, plan.is_missing, len(plan.names)) == ((), False, max(1, partitions))
