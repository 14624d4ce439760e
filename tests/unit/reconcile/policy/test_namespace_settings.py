"""The settings that a policy writes over those of its Pulsar namespace, and those that it stores before."""

import pytest

from topicschema.core.remote import BrokerSettings, NamespaceSettings, Setting
from topicschema.core.strategies import Strategy
from topicschema.reconcile.policy.namespace_settings import (
    StoredSettings,
    is_lock,
    known_of_broker,
    observed,
    override_notes,
    unmanaged_notes,
)

NOTHING = NamespaceSettings()
FULL = NamespaceSettings(strategy=Strategy.FULL)
LOCKED = NamespaceSettings(allows_auto_update=False)
EVERYTHING = NamespaceSettings(strategy=Strategy.FULL, allows_auto_update=False, enforces_validation=True)


def test_notes_name_settings_that_are_not_managed_any_more_or_that_no_namespace_can_override() -> None:
    known = StoredSettings(NamespaceSettings(allows_auto_update=None, strategy=Strategy.FULL), tuple(Setting))
    (note,) = unmanaged_notes(FULL, NamespaceSettings(Strategy.FULL, allows_auto_update=False), known)
    assert note == (
        "isAllowAutoUpdateSchema is not managed any more: it is false in the Pulsar namespace; before the operator "
        "wrote it, it was not set"
    )
    assert unmanaged_notes(NOTHING, FULL, known) == unmanaged_notes(EVERYTHING, EVERYTHING, known) == ()
    off, by_broker = NamespaceSettings(enforces_validation=False), BrokerSettings(enforces_validation=True)
    (note,) = override_notes(off, by_broker)
    assert "schemaValidationEnforced" in note
    for desired, own in ((NOTHING, by_broker), (off, None), (off, BrokerSettings())):
        assert override_notes(desired, own) == ()


@pytest.mark.parametrize(
    ("change", "current", "own", "locks"),
    [
        (LOCKED, NOTHING, None, True),
        (LOCKED, NOTHING, BrokerSettings(allows_auto_update=True), True),
        (LOCKED, NOTHING, BrokerSettings(allows_auto_update=False), False),
        (LOCKED, NamespaceSettings(allows_auto_update=True), BrokerSettings(allows_auto_update=False), True),
        (NamespaceSettings(allows_auto_update=True), NOTHING, None, False),
        (FULL, NOTHING, None, False),
    ],
)
def test_a_lock_excludes_clients_that_may_add_schemas_before(
    change: NamespaceSettings, current: NamespaceSettings, own: BrokerSettings | None, *, locks: bool
) -> None:
    assert is_lock(change, current, own) is locks


def test_the_status_has_the_settings_of_the_namespace_and_of_the_broker() -> None:
    own = BrokerSettings(Strategy.BACKWARD, allows_auto_update=False, enforces_validation=True)
    status = observed(NamespaceSettings(None, "Full", allows_auto_update=True), own)
    assert (status.schema_auto_update_compatibility_strategy, status.is_allow_auto_update_schema) == ("Full", True)
    assert known_of_broker(status) == own
    assert known_of_broker(observed(NOTHING, None)) is known_of_broker(None) is None
