"""What a policy writes over what its Pulsar namespace has, and what goes on record before."""

import pytest

from topicschema.api.policies import NamespaceSchemaPolicySpec
from topicschema.core.remote import BrokerSettings, NamespaceSettings, Setting
from topicschema.core.schemas import PulsarLine
from topicschema.core.strategies import Strategy
from topicschema.reconcile.policy.namespace_settings import (
    Recorded,
    differing,
    is_lock,
    known_of_broker,
    left_behind,
    observed,
    other_line,
    overruled,
    recorded_before,
    told_of,
    undeclared,
    wanted_by,
    without_lock,
    written_over,
)

NOTHING = NamespaceSettings()
FULL = NamespaceSettings(strategy=Strategy.FULL)
UNSET = NamespaceSettings(strategy=Strategy.UNDEFINED)
LOCKED = NamespaceSettings(allows_auto_update=False)
EVERYTHING = NamespaceSettings(strategy=Strategy.FULL, allows_auto_update=False, enforces_validation=True)


def test_what_a_policy_leaves_out_is_not_wanted() -> None:
    spec = NamespaceSchemaPolicySpec(pulsar_cluster="pulsar", pulsar_namespace="shop/orders")
    assert wanted_by(spec) == NOTHING
    spec = NamespaceSchemaPolicySpec(
        pulsar_cluster="pulsar",
        pulsar_namespace="shop/orders",
        schema_compatibility_strategy=Strategy.FULL,
        is_allow_auto_update_schema=False,
        schema_validation_enforced=True,
    )
    assert wanted_by(spec) == EVERYTHING


@pytest.mark.parametrize(
    ("wanted", "seen", "change"),
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
def test_only_what_is_wanted_and_differs_is_written(
    wanted: NamespaceSettings, seen: NamespaceSettings, change: NamespaceSettings
) -> None:
    assert differing(wanted, seen) == change
    assert differing(wanted, written_over(seen, change)) == NOTHING


def test_what_was_written_stands_over_what_was_there_and_undefined_is_nothing() -> None:
    seen = NamespaceSettings(Strategy.BACKWARD, "Full", enforces_validation=True)
    assert written_over(seen, UNSET) == NamespaceSettings(None, "Full", enforces_validation=True)
    assert written_over(seen, LOCKED).allows_auto_update is False


def test_before_a_setting_is_first_written_its_value_goes_on_record_and_stays() -> None:
    nothing = Recorded(NOTHING, ())
    first = recorded_before(nothing, FULL, NamespaceSettings(strategy=Strategy.BACKWARD))
    assert first == Recorded(FULL, (Setting.STRATEGY,))
    seen = NamespaceSettings(strategy=Strategy.FORWARD, allows_auto_update=True)
    second = recorded_before(first, seen, EVERYTHING)
    assert second == Recorded(NamespaceSettings(Strategy.FULL, allows_auto_update=True), tuple(Setting))
    assert recorded_before(second, EVERYTHING, FULL) == second


def test_a_setting_that_is_managed_no_more_is_told_of_while_it_is_not_as_it_was_found() -> None:
    known = Recorded(NamespaceSettings(allows_auto_update=None, strategy=Strategy.FULL), tuple(Setting))
    (told,) = left_behind(FULL, NamespaceSettings(Strategy.FULL, allows_auto_update=False), known)
    assert told == (
        "isAllowAutoUpdateSchema is not managed any more: the broker keeps false, and had nothing before the operator "
        "wrote it"
    )
    assert left_behind(NOTHING, FULL, known) == ()
    assert left_behind(EVERYTHING, EVERYTHING, known) == ()


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


def test_all_but_the_lock_goes_on_while_it_waits() -> None:
    assert without_lock(EVERYTHING) == NamespaceSettings(Strategy.FULL, enforces_validation=True)


def test_dead_letter_and_retry_topics_need_a_topicschema_like_any_other() -> None:
    topics = ("created", "created-billing-DLQ", "created-billing-RETRY", "billed")
    assert undeclared(topics, {"created", "billed", "planned"}) == ("created-billing-DLQ", "created-billing-RETRY")


def test_enforcement_by_the_broker_itself_cannot_be_switched_off_and_that_is_told() -> None:
    off, by_broker = NamespaceSettings(enforces_validation=False), BrokerSettings(enforces_validation=True)
    (told,) = overruled(off, by_broker)
    assert "schemaValidationEnforced" in told
    assert overruled(NOTHING, by_broker) == overruled(off, None) == overruled(off, BrokerSettings()) == ()


def test_what_differs_is_told_by_the_names_of_the_fields() -> None:
    assert told_of(EVERYTHING, NOTHING) == (
        "schemaCompatibilityStrategy is nothing and not FULL; isAllowAutoUpdateSchema is nothing and not false; "
        "schemaValidationEnforced is nothing and not true"
    )


def test_what_was_seen_is_told_level_by_level() -> None:
    seen = observed(NamespaceSettings(None, "Full", allows_auto_update=True), BrokerSettings(Strategy.FULL))
    assert seen.schema_auto_update_compatibility_strategy == "Full"
    assert seen.is_allow_auto_update_schema is True
    assert seen.broker is not None
    assert seen.broker.schema_compatibility_strategy is Strategy.FULL
    assert observed(NOTHING, None).broker is None


def test_what_a_broker_told_of_itself_is_known_while_it_tells_no_more() -> None:
    told = BrokerSettings(Strategy.BACKWARD, allows_auto_update=False, enforces_validation=True)
    assert known_of_broker(observed(NOTHING, told)) == told
    assert known_of_broker(observed(NOTHING, None)) is known_of_broker(None) is None


@pytest.mark.parametrize(
    ("version", "line", "is_told"),
    [
        ("4.0.7", "4.0", False),
        ("4.1.0", "4.0", True),
        ("4.0.7", "4.1", True),
        ("3.0.9", "4.0", False),
        ("3.3.2.1", "4.1", True),
        ("4.2.0-SNAPSHOT", "4.2", False),
        ("5.1.0", "4.2", False),
        ("5.1.0", "4.1", True),
        ("<html>", "4.1", False),
        (None, "4.1", False),
    ],
)
def test_a_broker_of_another_line_is_told_of(version: str | None, line: str, *, is_told: bool) -> None:
    told = other_line(PulsarLine(line), BrokerSettings(version=version))
    expected = f"the broker is {version}, brokerProfile.line says {line}: topics are judged by the rules of {line}"
    assert told == (expected if is_told else "")
    assert other_line(PulsarLine(line), None) == ""
