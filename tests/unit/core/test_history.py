from dataclasses import replace

from support.schemas.examples import KEY, ME, NOW, history, record
from topicschema.core.history import (
    MAX_DELETED,
    MAX_VERSIONS,
    DeletedVersions,
    Flaw,
    History,
    Origin,
    StoredTopicSettings,
    VersionEntry,
)
from topicschema.core.remote import TopicSettings
from topicschema.core.schemas import PulsarVersion, SchemaType
from topicschema.core.strategies import Strategy

FIRST, SECOND = record("id"), record("id", "note?")


def tombstone(number: int) -> VersionEntry:
    return VersionEntry(number, SchemaType.NONE, "", "", Origin.BROKER, NOW, is_tombstone=True)


def test_after_a_deletion_earlier_versions_do_not_count_but_numbering_goes_on() -> None:
    before = history(FIRST)
    deleted = replace(before, entries=(*before.entries, tombstone(1)))
    assert deleted.latest is None
    assert deleted.equal_to(FIRST.fingerprint) is None
    assert deleted.next_version == 2
    again = deleted.with_version(FIRST, Origin.SPEC, NOW)
    assert [entry.schema_version for entry in again.active_versions] == [2]
    assert again.latest == again.entries[-1]


def test_of_the_flaws_that_count_those_of_another_line_are_not_taken_for_granted() -> None:
    made = history(FIRST, SECOND, FIRST, SECOND)
    buried, grave, flawed, good = made.entries
    flawed = replace(flawed, flaw=Flaw.UNPARSABLE)
    known = replace(made, entries=(replace(buried, flaw=Flaw.UNPARSABLE), tombstone(1), flawed, good))
    assert known.flawed_by_another(PulsarVersion.V4_0) == ()
    assert known.flawed_by_another(PulsarVersion.V4_1) == (flawed,)
    assert (
        replace(known, entries=(replace(flawed, type=SchemaType.STRING),)).flawed_by_another(PulsarVersion.V4_1) == ()
    )
    read = replace(flawed, flaw=Flaw.NONE, pulsar_version=PulsarVersion.V4_1)
    assert known.with_read([read]).entries == (*known.entries[:2], read, good)
    assert known.names(read, 0)
    assert not known.names(grave, 0)


def test_of_what_was_written_stays_what_was_not_found() -> None:
    full, unset = TopicSettings(Strategy.FULL), TopicSettings(Strategy.UNDEFINED)
    none, enforced = TopicSettings(), TopicSettings(enforces_validation=True)
    for original, written, stays in (
        (none, full, full),
        (full, full, none),
        (full, unset, unset),
        (none, unset, none),
        (full, none, none),
        (none, enforced, enforced),
        (enforced, enforced, none),
        (none, TopicSettings(enforces_validation=False), none),
    ):
        assert StoredTopicSettings(original, written).stays_written == stays


def test_a_deletion_keeps_the_newest_active_versions_for_comparisons() -> None:
    made = replace(history(FIRST, SECOND, FIRST, claim=ME), incarnation=3)
    hidden, _, newest = made.entries
    after = replace(made, entries=(hidden, tombstone(1), newest)).after_deletion()
    assert after == History(KEY, incarnation=4, deleted=(DeletedVersions(3, (newest,)),))
    assert after.names(newest, 3)
    assert not after.names(newest, 4)
    again = replace(after, entries=(hidden,))
    assert again.remaining == MAX_VERSIONS - 2
    assert again.after_deletion().deleted == (DeletedVersions(3, (newest,)), DeletedVersions(4, (hidden,)))


def test_a_deletion_of_a_full_history_makes_space() -> None:
    (entry,) = history(FIRST).entries
    full = History(KEY, entries=tuple(replace(entry, schema_version=number) for number in range(MAX_VERSIONS)))
    (block,) = full.after_deletion().after_deletion().deleted
    assert [each.schema_version for each in block.entries] == [*range(MAX_VERSIONS - MAX_DELETED, MAX_VERSIONS)]
    assert History(KEY).after_deletion().deleted == ()
