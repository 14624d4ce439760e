"""Record beside broker, case by case; tests/property goes through all that may happen to them."""

from dataclasses import replace

import pytest

from support.schemas.examples import KEY, LATER, ME, NOW, history, record
from topicschema.core.alignment import (
    Alignment,
    BrokerVersions,
    HistoryAhead,
    HistoryBehind,
    HistoryLost,
    InSync,
    agrees,
    align,
    grown,
)
from topicschema.core.history import History, NumberedBy, Origin, VersionEntry

ONE, TWO, THREE = record("id"), record("id", "a?"), record("id", "a?", "b?")
LOCAL = history(ONE, TWO, claim=ME)
NUMBERED = replace(LOCAL, numbered_by=NumberedBy.BROKER)
V0, V1 = NUMBERED.entries
V2 = history(ONE, TWO, THREE).entries[2]
OTHER_V1 = replace(V2, schema_version=1)


def sight(*versions: VersionEntry, index: tuple[int, ...] | None = None, floor: int = 0) -> BrokerVersions:
    return BrokerVersions(tuple(each.schema_version for each in versions) if index is None else index, versions, floor)


def numbers(result: Alignment) -> list[tuple[int, bool]]:
    assert isinstance(result, HistoryBehind)
    return [(entry.schema_version, entry.is_tombstone) for entry in result.history.entries]


def test_the_same_on_both_sides_is_aligned() -> None:
    assert align(NUMBERED, sight(V0, V1), NOW) == InSync()
    assert align(NUMBERED, sight(V1, index=(0, 1), floor=1), NOW) == InSync()
    assert align(History(KEY), BrokerVersions(), NOW) == InSync()
    assert agrees(NUMBERED, V1)
    assert not agrees(NUMBERED, replace(V1, registered_at=LATER))
    assert not agrees(LOCAL, V1)
    assert not agrees(History(KEY), V0)


def test_what_the_record_lacks_arrives_with_its_number() -> None:
    result = align(NUMBERED, sight(V1, V2, index=(0, 1, 2), floor=1), NOW)
    assert isinstance(result, HistoryBehind)
    assert result.new_versions == (V2,)
    assert result.history == replace(NUMBERED, entries=(V0, V1, V2))
    assert grown(NUMBERED, V2) == result


def test_a_deletion_is_a_tombstone_and_what_it_hides_stays_on_record() -> None:
    assert numbers(align(NUMBERED, sight(index=(0, 1, 2)), NOW)) == [(0, False), (1, False), (2, True)]
    late = replace(V2, schema_version=4)
    result = align(NUMBERED, sight(late, index=(0, 1, 2, 3, 4)), NOW)
    assert numbers(result) == [(0, False), (1, False), (3, True), (4, False)]


def test_a_version_that_was_deleted_before_it_was_read_is_a_gap() -> None:
    result = align(History(KEY), sight(replace(V2, schema_version=3), index=(0, 1, 2, 3)), NOW)
    assert numbers(result) == [(2, True), (3, False)]
    assert isinstance(result, HistoryBehind)
    assert result.history.numbered_by is NumberedBy.BROKER


@pytest.mark.parametrize(
    ("at_broker", "why"),
    [
        (sight(), "has no schema of it any more"),
        (sight(V0), "no longer has version 1"),
        (sight(V0, OTHER_V1), "has something else as version 1"),
        (sight(V0, index=(0, 1)), "has something else as version 1"),
        (sight(replace(V0, content_hash=V2.content_hash), V1), "has something else as version 0"),
    ],
)
def test_what_the_broker_counted_and_no_longer_has_is_lost(at_broker: BrokerVersions, why: str) -> None:
    assert align(NUMBERED, at_broker, NOW) == HistoryLost(why)


def test_a_number_that_was_skipped_once_cannot_come_later() -> None:
    gap = replace(NUMBERED, entries=(V1,))
    assert align(gap, sight(V0, V1), NOW) == HistoryLost("has a version 0 that was not there before")


def test_a_local_history_goes_on_where_the_broker_ends() -> None:
    assert align(LOCAL, BrokerVersions(), NOW) == HistoryAhead(LOCAL.entries)
    assert align(LOCAL, sight(V0), NOW) == HistoryAhead((V1,))
    result = align(LOCAL, sight(replace(V0, registered_at=LATER), V1), NOW)
    assert isinstance(result, HistoryBehind)
    assert (result.new_versions, result.history.incarnation) == ((), 0)
    assert [entry.registered_at for entry in result.history.entries] == [LATER, NOW]
    assert result.history.confirmed == result.history.entries


def test_a_local_history_yields_to_another_count() -> None:
    for at_broker in (sight(V0, OTHER_V1), sight(index=(0,)), sight(replace(V0, schema_version=1), index=(0, 1))):
        result = align(LOCAL, at_broker, NOW)
        assert isinstance(result, HistoryBehind)
        assert result.history.incarnation == 1
        assert result.history.active_versions == at_broker.versions
        assert result.new_versions == at_broker.versions


def test_what_was_registered_while_there_was_no_broker_is_neither_lost_nor_forgotten() -> None:
    grown_here = NUMBERED.with_version(THREE, Origin.SPEC, NOW)
    assert (grown_here.unconfirmed, grown_here.confirmed) == (1, (V0, V1))
    assert align(grown_here, sight(V0, V1), NOW) == HistoryAhead(grown_here.entries[2:])
    assert align(grown_here, BrokerVersions(), NOW) == HistoryLost("has no schema of it any more")
    result = align(grown_here, sight(V0, V1, V2), NOW)
    assert isinstance(result, HistoryBehind)
    assert (result.history.unconfirmed, result.new_versions) == (0, ())


def test_what_a_broker_counted_stays_on_record_where_what_it_never_had_gives_way() -> None:
    local = NUMBERED.with_version(THREE, Origin.SPEC, NOW)
    hidden = align(local, sight(index=(0, 1, 2)), LATER)
    assert numbers(hidden) == [(0, False), (1, False), (2, True)]
    late = replace(V2, schema_version=3)
    after = align(local, sight(late, index=(0, 1, 2, 3)), LATER)
    assert numbers(after) == [(0, False), (1, False), (2, True), (3, False)]
    other = replace(V2, content_hash=V0.content_hash)
    for result, arrived in (
        (hidden, (V0, V1)),
        (after, (V0, V1, late)),
        (align(local, sight(V0, V1, other), LATER), (V0, V1, other)),
    ):
        assert isinstance(result, HistoryBehind)
        assert (result.new_versions, result.history.incarnation) == (arrived, 1)
        assert result.history.confirmed == result.history.entries


def test_a_version_read_before_its_tombstone_came_does_not_count() -> None:
    assert sight(V0, V1, index=(0, 1, 2)).served == ()
