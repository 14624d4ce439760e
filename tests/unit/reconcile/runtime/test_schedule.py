from topicschema.reconcile.runtime.schedule import Schedule

A, B, C = "abc"


def test_who_is_due_first_is_taken_first() -> None:
    schedule = Schedule[str]()
    for key, due in ((A, 3.0), (B, 1.0), (C, 2.0)):
        schedule.add(key, due)
    assert [schedule.get(5.0), schedule.get(5.0), schedule.get(5.0), schedule.get(5.0)] == [B, C, A, None]


def test_nobody_is_taken_before_being_due() -> None:
    schedule = Schedule[str]()
    schedule.add(A, 3.0)
    assert schedule.get(2.9) is None
    assert schedule.next_due == 3.0
    assert schedule.get(3.0) == A
    assert schedule.next_due is None


def test_many_enqueues_are_one_look_and_the_earliest_counts() -> None:
    schedule = Schedule[str]()
    for due in (5.0, 1.0, 9.0):
        schedule.add(A, due)
    assert schedule.get(1.0) == A
    schedule.done(A)
    assert schedule.get(10.0) is None


def test_a_key_is_never_taken_twice_at_once_and_enqueues_again_afterwards() -> None:
    schedule = Schedule[str]()
    schedule.add(A, 0.0)
    assert schedule.get(0.0) == A
    schedule.add(A, 7.0)
    schedule.add(A, 1.0)
    assert schedule.get(10.0) is None
    schedule.done(A)
    assert schedule.next_due == 1.0
    assert schedule.get(1.0) == A


def test_who_waits_is_counted() -> None:
    schedule = Schedule[str]()
    for key, due in ((A, 1.0), (B, 2.0), (C, 3.0)):
        schedule.add(key, due)
    assert schedule.waiting(2.0) == 2


def test_who_was_enqueued_first_for_the_same_time_is_taken_first() -> None:
    schedule = Schedule[str]()
    for key in (C, A, B):
        schedule.add(key, 1.0)
    assert [schedule.get(1.0), schedule.get(1.0), schedule.get(1.0)] == [C, A, B]


def test_what_comes_due_before_a_reconcile_begins_is_covered_by_it() -> None:
    schedule = Schedule[str]()
    schedule.add(A, 0.0)
    assert schedule.get(0.0) == A
    schedule.add(A, 1.0)
    schedule.begin(A, 2.0)
    schedule.done(A)
    assert schedule.next_due is None


def test_what_comes_due_after_a_reconcile_began_is_not_covered_by_it() -> None:
    schedule = Schedule[str]()
    schedule.add(A, 0.0)
    assert schedule.get(0.0) == A
    schedule.add(A, 3.0)
    schedule.begin(A, 2.0)
    schedule.done(A)
    assert schedule.next_due == 3.0


def test_a_key_that_waits_for_its_turn_is_counted_until_it_begins() -> None:
    schedule = Schedule[str]()
    schedule.add(A, 0.0)
    schedule.get(0.0)
    assert schedule.waiting(0.0) == 1
    schedule.begin(A, 0.0)
    assert schedule.waiting(0.0) == 0
