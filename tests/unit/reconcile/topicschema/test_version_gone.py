"""A missing version is reported with the error that ends the fetch, unless that error reports as much itself."""

import pytest

from support.schemas.examples import history, record
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import VersionEntry
from topicschema.core.reasons import Reason
from topicschema.reconcile.topicschema.observe_broker import VersionGoneError, with_note

UNAVAILABLE = WaitingError(Reason.BROKER_UNAVAILABLE, "the broker is silent", 7.0)
UNKNOWN_TYPE = StalledError(Reason.UNSUPPORTED_SCHEMA_TYPE, "no type of that number is known")
GONE = history(record("id")).entries[0]
ALREADY = VersionGoneError(GONE, UNAVAILABLE)
LOST = StalledError(Reason.HISTORY_LOST, "the broker has none of them")


@pytest.mark.parametrize("error", [UNAVAILABLE, UNKNOWN_TYPE, LOST, ALREADY])
@pytest.mark.parametrize("gone", [GONE, None])
def test_an_error_of_a_fetch_has_the_missing_version(error: TopicSchemaError, gone: VersionEntry | None) -> None:
    with pytest.raises(type(error) if gone is None else TopicSchemaError) as raised, with_note(gone):
        raise error
    if gone is None or error in (LOST, ALREADY):
        assert raised.value is error
    else:
        assert isinstance(raised.value, VersionGoneError)
        assert (raised.value.reason, raised.value.gone) == (error.reason, gone)
        assert "no longer serves version 0" in raised.value.message
        assert error.message in raised.value.message
