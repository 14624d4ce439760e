"""An error that ends a look tells of a version that was seen to be gone, unless it tells of something worse itself."""

import pytest

from support.schemas.examples import history, record
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import VersionEntry
from topicschema.reconcile.topicschema.losses import VersionGoneError, with_note

AWAY = WaitingError("BrokerUnavailable", "the broker is away", 7.0)
UNKNOWN_TYPE = StalledError("UnsupportedSchemaType", "the broker tells of a type that nobody knows")
TOLD = VersionGoneError(history(record("id")).entries[0], AWAY)
LOST = StalledError("HistoryLost", "the broker has none of them")


@pytest.fixture
def gone() -> VersionEntry:
    return history(record("id")).entries[0]


@pytest.mark.parametrize("error", [AWAY, UNKNOWN_TYPE], ids=["away", "unknown type"])
def test_what_ends_a_look_tells_what_was_gone_before(gone: VersionEntry, error: TopicSchemaError) -> None:
    with pytest.raises(VersionGoneError, match="no longer serves version 0") as told, with_note(gone):
        raise error
    assert (told.value.reason, told.value.gone) == (error.reason, gone)
    assert error.message in told.value.message


@pytest.mark.parametrize("error", [AWAY, UNKNOWN_TYPE, LOST], ids=["away", "unknown type", "lost"])
def test_nothing_gone_leaves_the_error_as_it_is(error: TopicSchemaError) -> None:
    with pytest.raises(type(error)) as told, with_note(None):
        raise error
    assert told.value is error


@pytest.mark.parametrize("error", [LOST, TOLD], ids=["worse", "told already"])
def test_what_tells_as_much_by_itself_stays_as_it_is(gone: VersionEntry, error: TopicSchemaError) -> None:
    with pytest.raises(type(error)) as told, with_note(gone):
        raise error
    assert told.value is error
