import pytest

from topicschema.reconcile.runtime.schedule import Schedule

A, B, C = "abc"


@pytest.fixture
def schedule() -> Schedule[str]:
    return Schedule()


def test_keys_are_due_in_the_order_of_their_times_and_then_of_their_addition(schedule: Schedule[str]) -> None:
    for key, due in ((A, 3.0), (B, 1.0), (C, 1.0), (A, 9.0)):
        schedule.add(key, due)
    assert (schedule.get(0.9), schedule.next_due, schedule.waiting(2.0), schedule.waiting(3.0)) == (None, 1.0, 2, 3)
    assert [schedule.get(5.0) for _ in range(4)] == [B, C, A, None]
    assert schedule.next_due is None


def test_a_key_that_is_added_often_is_due_once_at_the_earliest_time(schedule: Schedule[str]) -> None:
    for due in (5.0, 1.0, 9.0):
        schedule.add(A, due)
    assert schedule.get(1.0) == A
    schedule.done(A)
    assert schedule.get(10.0) is None


def test_a_key_in_progress_is_due_again_only_afterwards(schedule: Schedule[str]) -> None:
    schedule.add(A, 0.0)
    assert schedule.get(0.0) == A
    schedule.add(A, 7.0)
    schedule.add(A, 1.0)
    assert schedule.get(10.0) is None
    schedule.done(A)
    assert schedule.get(1.0) == A


@pytest.mark.parametrize(("due", "due_again"), [(1.0, None), (3.0, 3.0)])
def test_a_reconcile_covers_what_is_due_when_it_begins(
    schedule: Schedule[str], due: float, due_again: float | None
) -> None:
    schedule.add(A, 0.0)
    schedule.get(0.0)
    schedule.add(A, due)
    assert schedule.waiting(0.0) == 1
    schedule.begin(A, 2.0)
    assert schedule.waiting(0.0) == 0
    schedule.done(A)
    assert schedule.next_due == due_again
