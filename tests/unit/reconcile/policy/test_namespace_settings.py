"""What a policy writes over what its Pulsar namespace has, and what goes on record before."""

import pytest

from topicschema.core.remote import BrokerSettings, NamespaceSettings, Setting
from topicschema.core.strategies import Strategy
from topicschema.reconcile.policy.namespace_settings import (
    StoredSettings,
    differing,
    is_lock,
    known_of_broker,
    observed,
    override_notes,
    stored_before,
    undeclared,
    unmanaged_notes,
    written_over,
)

NOTHING = NamespaceSettings()
FULL = NamespaceSettings(strategy=Strategy.FULL)
UNSET = NamespaceSettings(strategy=Strategy.UNDEFINED)
LOCKED = NamespaceSettings(allows_auto_update=False)
EVERYTHING = NamespaceSettings(strategy=Strategy.FULL, allows_auto_update=False, enforces_validation=True)


@pytest.mark.parametrize(
    ("desired", "current", "change"),
    [
        (NOTHING, EVERYTHING, NOTHING),
        (FULL, FULL, NOTHING),
        (FULL, NOTHING, FULL),
        (UNSET, NOTHING, NOTHING),
        (UNSET, FULL, UNSET),
        (EVERYTHING, LOCKED, NamespaceSettings(strategy=Strategy.FULL, enforces_validation=True)),
        (NamespaceSettings(enforces_validation=False), NOTHING, NamespaceSettings(enforces_validation=False)),
    ],
)
def test_only_a_desired_setting_that_differs_is_written(
    desired: NamespaceSettings, current: NamespaceSettings, change: NamespaceSettings
) -> None:
    assert differing(desired, current) == change
    assert differing(desired, written_over(current, change)) == NOTHING


def test_written_settings_replace_the_current_ones_and_undefined_is_nothing() -> None:
    current = NamespaceSettings(Strategy.BACKWARD, "Full", enforces_validation=True)
    assert written_over(current, UNSET) == NamespaceSettings(None, "Full", enforces_validation=True)
    assert written_over(current, LOCKED).allows_auto_update is False


def test_the_original_value_of_a_setting_is_recorded_before_its_first_write_and_stays() -> None:
    nothing = StoredSettings(NOTHING, ())
    first = stored_before(nothing, FULL, NamespaceSettings(strategy=Strategy.BACKWARD))
    assert first == StoredSettings(FULL, (Setting.STRATEGY,))
    current = NamespaceSettings(strategy=Strategy.FORWARD, allows_auto_update=True)
    second = stored_before(first, current, EVERYTHING)
    assert second == StoredSettings(NamespaceSettings(Strategy.FULL, allows_auto_update=True), tuple(Setting))
    assert stored_before(second, EVERYTHING, FULL) == second


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
    ("change", "seen", "own", "locks"),
    [
        (LOCKED, NOTHING, None, True),
        (LOCKED, NOTHING, BrokerSettings(allows_auto_update=True), True),
        (LOCKED, NOTHING, BrokerSettings(allows_auto_update=False), False),
        (LOCKED, NamespaceSettings(allows_auto_update=True), BrokerSettings(allows_auto_update=False), True),
        (NamespaceSettings(allows_auto_update=True), NOTHING, None, False),
        (FULL, NOTHING, None, False),
    ],
)
def test_a_lock_is_what_shuts_out_clients_that_may_add_schemas_now(
    change: NamespaceSettings, seen: NamespaceSettings, own: BrokerSettings | None, *, locks: bool
) -> None:
    assert is_lock(change, seen, own) is locks


def test_dead_letter_and_retry_topics_need_a_topicschema_like_any_other() -> None:
    topics = ("created", "created-billing-DLQ", "created-billing-RETRY", "billed")
    assert undeclared(topics, {"created", "billed", "planned"}) == ("created-billing-DLQ", "created-billing-RETRY")


def test_the_status_has_the_settings_of_the_namespace_and_of_the_broker() -> None:
    own = BrokerSettings(Strategy.BACKWARD, allows_auto_update=False, enforces_validation=True)
    status = observed(NamespaceSettings(None, "Full", allows_auto_update=True), own)
    assert (status.schema_auto_update_compatibility_strategy, status.is_allow_auto_update_schema) == ("Full", True)
    assert known_of_broker(status) == own
    assert known_of_broker(observed(NOTHING, None)) is known_of_broker(None) is None
