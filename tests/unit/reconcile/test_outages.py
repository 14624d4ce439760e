from topicschema.reconcile.outages import Outages

ROOM = ("pulsar:8080", "shop")
OTHER = ("pulsar:8080", "store")


def test_while_a_broker_is_away_one_looks_early_and_the_others_wait_as_usual() -> None:
    outages = Outages[str]({ROOM}.__contains__)
    assert outages.delay("a", ROOM, 0.0, 5.0, 80.0) == 5.0
    assert outages.delay("b", ROOM, 1.0, 5.0, 80.0) == 80.0
    assert outages.delay("a", ROOM, 5.0, 10.0, 160.0) == 10.0
    assert outages.delay("b", ROOM, 14.0, 5.0, 160.0) == 160.0


def test_when_the_one_who_looks_is_gone_the_next_one_looks() -> None:
    outages = Outages[str]({ROOM}.__contains__)
    outages.delay("a", ROOM, 0.0, 5.0, 80.0)
    assert outages.delay("b", ROOM, 6.0, 5.0, 80.0) == 5.0


def test_nobody_looks_later_than_usual() -> None:
    assert Outages[str]({ROOM}.__contains__).delay("a", ROOM, 0.0, 60.0, 2.0) == 2.0


def test_an_error_of_a_broker_that_answers_is_no_outage() -> None:
    outages = Outages[str](lambda _: False)
    assert outages.delay("a", ROOM, 0.0, 5.0, 80.0) == 80.0
    assert outages.end(ROOM) == ()


def test_a_pass_that_ends_well_tells_of_all_who_waited_once_the_broker_is_back() -> None:
    away = {ROOM, OTHER}
    outages = Outages[str](away.__contains__)
    for key in ("a", "b", "a"):
        outages.delay(key, ROOM, 0.0, 5.0, 80.0)
    outages.delay("c", OTHER, 0.0, 5.0, 80.0)
    assert outages.end(ROOM) == ()  # a pass that did not ask it
    away.discard(ROOM)
    assert outages.end(ROOM) == ("a", "b")
    assert outages.end(ROOM) == ()


def test_nothing_is_kept_of_those_who_are_gone() -> None:
    outages = Outages[str]({ROOM}.__contains__)
    for key in ("a", "b"):
        outages.delay(key, ROOM, 0.0, 5.0, 80.0)
    outages.forget("a")
    assert outages.delay("b", ROOM, 1.0, 5.0, 80.0) == 80.0
    outages.forget("b")
    assert (outages._waiting, outages._scouted) == ({}, {})
