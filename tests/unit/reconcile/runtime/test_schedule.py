import asyncio

import pytest

from topicschema.reconcile.runtime.schedule import (
    BrokerPartitions,
    RescheduleError,
    Schedule,
    enter_partition,
    require_partition,
)

A, B, C = "abc"


def test_who_is_due_first_is_taken_first() -> None:
    schedule = Schedule[str](width=3)
    for key, due in ((A, 3.0), (B, 1.0), (C, 2.0)):
        schedule.add(key, due)
    assert [schedule.get(5.0), schedule.get(5.0), schedule.get(5.0), schedule.get(5.0)] == [B, C, A, None]


def test_nobody_is_taken_before_being_due() -> None:
    schedule = Schedule[str](width=3)
    schedule.add(A, 3.0)
    assert schedule.get(2.9) is None
    assert schedule.next_due == 3.0
    assert schedule.get(3.0) == A
    assert schedule.next_due is None


def test_many_enqueues_are_one_look_and_the_earliest_counts() -> None:
    schedule = Schedule[str](width=3)
    for due in (5.0, 1.0, 9.0):
        schedule.add(A, due)
    assert schedule.get(1.0) == A
    schedule.done(A)
    assert schedule.get(10.0) is None


def test_a_key_is_never_taken_twice_at_once_and_enqueues_again_afterwards() -> None:
    schedule = Schedule[str](width=3)
    schedule.add(A, 0.0)
    assert schedule.get(0.0) == A
    schedule.add(A, 7.0)
    schedule.add(A, 1.0)
    assert schedule.get(10.0) is None
    schedule.done(A)
    assert schedule.next_due == 1.0
    assert schedule.get(1.0) == A


def test_who_waits_is_counted() -> None:
    schedule = Schedule[str](width=3)
    for key, due in ((A, 1.0), (B, 2.0), (C, 3.0)):
        schedule.add(key, due)
    assert schedule.waiting(2.0) == 2


def partitioned(**partitions: str) -> Schedule[str]:
    return Schedule(lambda key: partitions.get(key, ""))


def test_who_was_enqueued_first_for_the_same_time_is_taken_first() -> None:
    schedule = Schedule[str](width=3)
    for key in (C, A, B):
        schedule.add(key, 1.0)
    assert [schedule.get(1.0), schedule.get(1.0), schedule.get(1.0)] == [C, A, B]


def test_a_full_partition_holds_up_no_other_and_goes_on_when_there_is_room() -> None:
    schedule = partitioned(a="east", b="east", c="west")
    for due, key in enumerate((A, B, C)):
        schedule.add(key, due)
    assert [schedule.get(9.0), schedule.get(9.0), schedule.get(9.0)] == [A, C, None]
    assert schedule.next_due is None
    schedule.done(A)
    assert schedule.next_due == 1.0
    assert schedule.get(9.0) == B


def test_what_is_enqueued_after_it_changed_partition_is_in_the_newer_one_only() -> None:
    partitions = {A: "east", B: "east"}
    schedule = Schedule[str](partitions.__getitem__)
    schedule.add(B, 0.0)
    schedule.add(A, 1.0)
    assert schedule.get(9.0) == B  # east is full
    partitions[A] = "west"
    schedule.add(A, 5.0)
    assert schedule.next_due == 1.0
    assert schedule.get(9.0) == A
    schedule.done(A)
    schedule.done(B)
    assert schedule.next_due is None


def test_what_is_enqueued_while_busy_waits_in_the_partition_it_belongs_to_when_it_is_done() -> None:
    partitions = {A: "", B: ""}
    schedule = Schedule[str](partitions.__getitem__)
    schedule.add(A, 0.0)
    schedule.get(0.0)
    schedule.add(A, 0.0)
    partitions[A] = "east"
    schedule.add(B, 0.0)
    schedule.done(A)
    assert {schedule.get(0.0), schedule.get(0.0)} == {A, B}
    assert schedule.taken(A) == ("east", 0.0)


def test_a_key_goes_where_it_went_last_or_where_all_its_companions_go() -> None:
    partitions = BrokerPartitions[str](lambda _: (B, C))
    assert partitions.of(A) == ""
    partitions.assign(B, "east")
    assert partitions.of(A) == ""
    partitions.assign(C, "east")
    assert partitions.of(A) == "east"
    partitions.assign(A, "west")
    assert partitions.of(A) == "west"
    partitions.forget(A)
    assert partitions.of(A) == "east"


def test_a_key_without_companions_goes_nowhere_in_particular() -> None:
    partitions = BrokerPartitions[str]()
    partitions.assign(B, "east")
    assert partitions.of(A) == ""


async def test_a_pass_goes_on_in_its_own_partition_only() -> None:
    require_partition("east")  # whoever was begun in no partition may go anywhere

    async def looks(partition: str) -> None:
        enter_partition(partition)
        require_partition("east")

    await asyncio.create_task(looks("east"))
    with pytest.raises(RescheduleError) as raised:
        await asyncio.create_task(looks(""))
    assert raised.value.partition == "east"
