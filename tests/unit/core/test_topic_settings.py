"""A topic's own settings: record before broker, strategy before schema, enforcement after it, and the restoration."""

import pytest

from topicschema.core.history import StoredTopicSettings
from topicschema.core.remote import TopicSettings
from topicschema.core.strategies import Strategy
from topicschema.core.topic_settings import StoreSettings, TopicSettingsState, WriteSettings, apply, restore

NOTHING = TopicSettings()
FULL, BACKWARD = TopicSettings(Strategy.FULL), TopicSettings(Strategy.BACKWARD)
ENFORCED = TopicSettings(enforces_validation=True)
BOTH = TopicSettings(Strategy.FULL, enforces_validation=True)
UNSET = TopicSettings(Strategy.UNDEFINED)


def test_what_is_there_already_is_not_written_and_a_strategy_is_noted_once() -> None:
    for desired, there in ((FULL, FULL), (BOTH, BOTH), (ENFORCED, BOTH)):
        # The history gets it with the schema.
        assert apply(TopicSettingsState(desired, there), is_before_schema=True) is None
        noted = StoredTopicSettings(there)
        assert apply(TopicSettingsState(desired, there), is_before_schema=False) == StoreSettings(noted)
        assert apply(TopicSettingsState(desired, there, noted), is_before_schema=False) is None
    assert apply(TopicSettingsState(ENFORCED, ENFORCED), is_before_schema=False) is None


def test_the_original_settings_are_recorded_before_the_first_write() -> None:
    noted = apply(TopicSettingsState(FULL, BACKWARD), is_before_schema=False)
    assert noted == StoreSettings(StoredTopicSettings(original=BACKWARD, written=FULL))
    assert isinstance(noted, StoreSettings)
    assert apply(TopicSettingsState(FULL, BACKWARD, noted.stored), is_before_schema=False) == WriteSettings(FULL)
    assert apply(TopicSettingsState(FULL, FULL, noted.stored), is_before_schema=False) is None


def test_before_another_strategy_the_original_is_restored_so_that_a_crash_in_between_hides_nothing() -> None:
    record = StoredTopicSettings(original=NOTHING, written=FULL)
    assert restore(TopicSettingsState(BACKWARD, FULL, record)) == WriteSettings(UNSET)
    noted = restore(TopicSettingsState(BACKWARD, NOTHING, record))
    assert noted == StoreSettings(StoredTopicSettings(NOTHING))
    assert restore(TopicSettingsState(BACKWARD, NOTHING, StoredTopicSettings(NOTHING))) is None


def test_before_a_schema_enforcement_waits() -> None:
    noted = apply(TopicSettingsState(BOTH, BACKWARD), is_before_schema=True)
    assert noted == StoreSettings(StoredTopicSettings(original=BACKWARD, written=FULL))
    assert isinstance(noted, StoreSettings)
    assert apply(TopicSettingsState(BOTH, BACKWARD, noted.stored), is_before_schema=True) == WriteSettings(FULL)
    assert apply(TopicSettingsState(BOTH, FULL, noted.stored), is_before_schema=True) is None
    late = apply(TopicSettingsState(BOTH, FULL, noted.stored), is_before_schema=False)
    assert isinstance(late, StoreSettings)
    assert late.stored.written == BOTH


@pytest.mark.parametrize(
    ("before", "written", "original"),
    [
        (BACKWARD, FULL, BACKWARD),
        (NOTHING, FULL, UNSET),
        (FULL, UNSET, FULL),
        (NOTHING, ENFORCED, TopicSettings(enforces_validation=False)),
        (ENFORCED, TopicSettings(enforces_validation=False), ENFORCED),
        (BACKWARD, BOTH, TopicSettings(Strategy.BACKWARD, enforces_validation=False)),
    ],
)
def test_what_no_field_names_any_more_is_restored_and_then_forgotten(
    before: TopicSettings, written: TopicSettings, original: TopicSettings
) -> None:
    there = TopicSettingsState(NOTHING, before).after(written)
    step = restore(TopicSettingsState(NOTHING, there.current, StoredTopicSettings(before, written)))
    assert step == WriteSettings(original)
    restored = there.after(original).current
    assert restored is not None
    noted = restore(TopicSettingsState(NOTHING, restored, StoredTopicSettings(before, written)))
    assert noted == StoreSettings(StoredTopicSettings(restored))
    assert restore(TopicSettingsState(NOTHING, restored, StoredTopicSettings(restored))) is None


def test_what_a_field_names_is_not_restored() -> None:
    record = StoredTopicSettings(NOTHING, BOTH)
    assert restore(TopicSettingsState(BOTH, BOTH, record)) is None
    assert restore(TopicSettingsState(FULL, BOTH, record)) == WriteSettings(TopicSettings(enforces_validation=False))
    assert restore(TopicSettingsState(NOTHING, FULL)) is None
    assert restore(TopicSettingsState(NOTHING, FULL, StoredTopicSettings(FULL))) is None


@pytest.mark.parametrize("there", [TopicSettings(Strategy.FORWARD), NOTHING, BACKWARD])
def test_what_another_client_set_meanwhile_stays(there: TopicSettings) -> None:
    record = StoredTopicSettings(BACKWARD, FULL)
    assert restore(TopicSettingsState(NOTHING, there, record)) == StoreSettings(StoredTopicSettings(there))


def test_a_topic_that_went_took_its_settings_along() -> None:
    record = StoredTopicSettings(BACKWARD, UNSET)
    assert restore(TopicSettingsState(NOTHING, None, record)) == StoreSettings(StoredTopicSettings(NOTHING))


def test_only_what_is_to_be_written_waits_for_its_topic() -> None:
    assert TopicSettingsState(FULL, None).waits_for_topic
    assert TopicSettingsState(ENFORCED, None).waits_for_topic
    # A new topic enforces nothing of its own.
    assert not TopicSettingsState(TopicSettings(enforces_validation=False), None).waits_for_topic
    assert not TopicSettingsState(NOTHING, None).waits_for_topic


def test_undefined_takes_the_topic_s_strategy_away_and_waits_for_no_topic() -> None:
    noted = StoredTopicSettings(FULL, UNSET)
    assert apply(TopicSettingsState(UNSET, FULL, noted), is_before_schema=False) == WriteSettings(UNSET)
    assert apply(TopicSettingsState(UNSET, NOTHING), is_before_schema=False) is None
    assert not TopicSettingsState(UNSET, None).waits_for_topic


def test_a_strategy_that_is_not_managed_stays() -> None:
    assert TopicSettingsState(NOTHING, FULL).unmanaged_strategy is Strategy.FULL
    assert TopicSettingsState(ENFORCED, FULL).unmanaged_strategy is Strategy.FULL
    assert TopicSettingsState(BACKWARD, FULL).unmanaged_strategy is None
    assert TopicSettingsState(NOTHING, None).unmanaged_strategy is None
