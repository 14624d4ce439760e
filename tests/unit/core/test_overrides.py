"""A topic's own settings: record before broker, strategy before schema, enforcement after it, and the way back."""

import pytest

from topicschema.core.history import PendingTopicSettings, TopicSettingsRecord
from topicschema.core.overrides import NoteSettings, Overrides, WriteSettings, back, toward
from topicschema.core.remote import TopicSettings
from topicschema.core.strategies import Strategy

NOTHING = TopicSettings()
FULL, BACKWARD = TopicSettings(Strategy.FULL), TopicSettings(Strategy.BACKWARD)
BOTH = TopicSettings(Strategy.FULL, enforces_validation=True)
UNSET = TopicSettings(Strategy.UNDEFINED)


def test_what_is_there_already_is_not_written_and_a_strategy_is_noted_once() -> None:
    enforced = TopicSettings(enforces_validation=True)
    for wanted, there in ((FULL, FULL), (BOTH, BOTH), (enforced, BOTH)):
        assert toward(Overrides(wanted, there), is_before_schema=True) is None  # it comes on record with the schema
        noted = TopicSettingsRecord(there)
        assert toward(Overrides(wanted, there), is_before_schema=False) == NoteSettings(noted)
        assert toward(Overrides(wanted, there, noted), is_before_schema=False) is None
    assert toward(Overrides(enforced, enforced), is_before_schema=False) is None


def test_what_was_found_is_on_record_before_the_first_write() -> None:
    noted = toward(Overrides(FULL, BACKWARD), is_before_schema=False)
    assert noted == NoteSettings(TopicSettingsRecord(found=BACKWARD, written=FULL))
    assert isinstance(noted, NoteSettings)
    assert toward(Overrides(FULL, BACKWARD, noted.record), is_before_schema=False) == WriteSettings(FULL)
    assert toward(Overrides(FULL, FULL, noted.record), is_before_schema=False) is None


def test_what_was_found_first_stays_found() -> None:
    record = TopicSettingsRecord(found=NOTHING, written=FULL)
    noted = toward(Overrides(BACKWARD, FULL, record), is_before_schema=False)
    assert noted == NoteSettings(TopicSettingsRecord(found=NOTHING, written=BACKWARD))


def test_before_a_schema_the_way_back_is_on_record_and_enforcement_waits() -> None:
    noted = toward(Overrides(BOTH, BACKWARD), is_before_schema=True)
    pending = PendingTopicSettings(before=BACKWARD, wanted=FULL)
    assert noted == NoteSettings(TopicSettingsRecord(found=BACKWARD, written=FULL, pending=pending))
    assert isinstance(noted, NoteSettings)
    assert toward(Overrides(BOTH, BACKWARD, noted.record), is_before_schema=True) == WriteSettings(FULL)
    assert toward(Overrides(BOTH, FULL, noted.record), is_before_schema=True) is None
    late = toward(Overrides(BOTH, FULL, noted.record), is_before_schema=False)
    assert isinstance(late, NoteSettings)
    assert late.record.written == BOTH


def test_once_the_schema_is_there_nothing_is_under_way() -> None:
    pending = PendingTopicSettings(before=NOTHING, wanted=FULL)
    record = TopicSettingsRecord(found=NOTHING, written=FULL, pending=pending)
    assert toward(Overrides(FULL, FULL, record), is_before_schema=False) == NoteSettings(
        TopicSettingsRecord(found=NOTHING, written=FULL)
    )


@pytest.mark.parametrize(("before", "written"), [(BACKWARD, Strategy.BACKWARD), (NOTHING, Strategy.UNDEFINED)])
def test_what_was_there_is_put_back_and_then_forgotten(before: TopicSettings, written: Strategy) -> None:
    record = TopicSettingsRecord(before, FULL, PendingTopicSettings(before, FULL))
    assert back(Overrides(FULL, FULL, record)) == WriteSettings(TopicSettings(written))
    done = NoteSettings(TopicSettingsRecord(before, TopicSettings(written)))
    assert back(Overrides(FULL, before, record)) == done
    assert back(Overrides(FULL, None, record)) == done  # the topic went with its settings
    assert back(Overrides(FULL, before, done.record)) is None
    assert back(Overrides(FULL, before)) is None


def test_what_somebody_else_set_meanwhile_is_not_written_over() -> None:
    record = TopicSettingsRecord(BACKWARD, FULL, PendingTopicSettings(BACKWARD, FULL))
    theirs = TopicSettings(Strategy.FORWARD)
    assert back(Overrides(FULL, theirs, record)) == NoteSettings(TopicSettingsRecord(BACKWARD, FULL))
    assert back(Overrides(FULL, NOTHING, record)) == NoteSettings(TopicSettingsRecord(BACKWARD, FULL))


@pytest.mark.parametrize("is_before_schema", [False, True], ids=["the schema of before", "another schema"])
def test_what_was_written_for_an_edit_that_is_withdrawn_is_put_back_before_all_else(
    is_before_schema: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    record = TopicSettingsRecord(BACKWARD, FULL, PendingTopicSettings(BACKWARD, FULL))
    enforced = TopicSettings(enforces_validation=True)
    for wanted in (NOTHING, enforced, TopicSettings(Strategy.FORWARD)):
        first = toward(Overrides(wanted, FULL, record), is_before_schema=is_before_schema)
        assert first == WriteSettings(BACKWARD)
        done = toward(Overrides(wanted, BACKWARD, record), is_before_schema=is_before_schema)
        assert done == NoteSettings(TopicSettingsRecord(BACKWARD, BACKWARD))


@pytest.mark.parametrize("reached", [NOTHING, BACKWARD], ids=["killed before the write", "its answer lost"])
def test_whatever_came_of_the_second_of_two_changes_what_was_there_is_put_back(reached: TopicSettings) -> None:
    first = toward(Overrides(FULL, NOTHING), is_before_schema=True)
    assert isinstance(first, NoteSettings)
    # The broker has the first strategy and not its schema, when an edit names the second.
    assert toward(Overrides(BACKWARD, FULL, first.record), is_before_schema=True) == WriteSettings(UNSET)
    done = toward(Overrides(BACKWARD, NOTHING, first.record), is_before_schema=True)
    assert done == NoteSettings(TopicSettingsRecord(NOTHING, UNSET))
    assert isinstance(done, NoteSettings)
    second = toward(Overrides(BACKWARD, NOTHING, done.record), is_before_schema=True)
    pending = PendingTopicSettings(before=NOTHING, wanted=BACKWARD)
    assert second == NoteSettings(TopicSettingsRecord(NOTHING, BACKWARD, pending))
    assert isinstance(second, NoteSettings)
    assert toward(Overrides(BACKWARD, NOTHING, second.record), is_before_schema=True) == WriteSettings(BACKWARD)
    step = back(Overrides(NOTHING, reached, second.record))
    assert step == (done if reached == NOTHING else WriteSettings(UNSET))


def test_only_what_is_to_be_written_waits_for_its_topic() -> None:
    assert Overrides(FULL, None).waits_for_topic
    assert Overrides(TopicSettings(enforces_validation=True), None).waits_for_topic
    # A new topic enforces nothing of its own.
    assert not Overrides(TopicSettings(enforces_validation=False), None).waits_for_topic
    assert not Overrides(NOTHING, None).waits_for_topic


def test_undefined_takes_the_topic_s_strategy_away_and_waits_for_no_topic() -> None:
    record = TopicSettingsRecord(found=NOTHING, written=UNSET)
    assert toward(Overrides(UNSET, FULL, record), is_before_schema=False) is not None
    assert toward(Overrides(UNSET, NOTHING), is_before_schema=False) is None
    assert not Overrides(UNSET, None).waits_for_topic


def test_a_strategy_that_nobody_manages_is_left_behind() -> None:
    assert Overrides(NOTHING, FULL).left_behind is Strategy.FULL
    assert Overrides(TopicSettings(enforces_validation=True), FULL).left_behind is Strategy.FULL
    assert Overrides(BACKWARD, FULL).left_behind is None
    assert Overrides(NOTHING, None).left_behind is None


def test_enforcement_that_was_written_once_is_left_behind_until_it_is_managed_or_gone() -> None:
    enforced = TopicSettings(enforces_validation=True)
    record = TopicSettingsRecord(found=NOTHING, written=enforced)
    assert Overrides(NOTHING, enforced, record).left_enforced
    assert Overrides(FULL, BOTH, record).left_enforced
    assert not Overrides(enforced, enforced, record).left_enforced
    assert not Overrides(NOTHING, TopicSettings(enforces_validation=False), record).left_enforced
    assert not Overrides(NOTHING, None, record).left_enforced
    # Others set it, or the broker sets it for all: that is no trace of a field that is gone.
    assert not Overrides(NOTHING, enforced, TopicSettingsRecord(found=NOTHING, written=FULL)).left_enforced
    assert not Overrides(NOTHING, enforced).left_enforced
