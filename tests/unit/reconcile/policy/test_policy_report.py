"""What a policy's conditions say, situation by situation."""

from dataclasses import replace

import pytest

from topicschema.api.brokers import ManagementPolicy, PulsarSpec
from topicschema.api.metadata import Condition, ConditionStatus, ConditionType, Metadata
from topicschema.api.policies import NamespaceSchemaPolicy, NamespaceSchemaPolicySpec, NamespaceSchemaPolicyStatus
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerInconsistentError,
    BrokerNotAllowedError,
    BrokerUnauthorizedError,
    BrokerUnavailableError,
    NamespaceNotFoundError,
)
from topicschema.core.errors import TopicSchemaError
from topicschema.judging.policies import is_active
from topicschema.reconcile.policy.namespace_state import NamespaceState
from topicschema.reconcile.policy.status import awaited, conditions, notes

POLICY = NamespaceSchemaPolicy(
    metadata=Metadata(name="orders", namespace="shop", generation=2),
    spec=NamespaceSchemaPolicySpec(
        pulsar_cluster="pulsar", pulsar_namespace="shop/orders", pulsar=PulsarSpec(admin_url="http://pulsar:8080")
    ),
)
WITHOUT_BROKER = replace(POLICY, spec=replace(POLICY.spec, pulsar=None))
OBSERVING = replace(POLICY, spec=replace(POLICY.spec, management_policy=ManagementPolicy.OBSERVE))


def told(resource: NamespaceSchemaPolicy, state: NamespaceState) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition."""
    return {each.type: (each.status, each.reason) for each in conditions(resource, state)}


def applied_before(generation: int = 2) -> NamespaceSchemaPolicy:
    ready = Condition(
        type=ConditionType.READY, status=ConditionStatus.TRUE, reason="Active", observed_generation=generation
    )
    return replace(POLICY, status=NamespaceSchemaPolicyStatus(conditions=(ready,)))


def test_without_a_broker_there_is_nothing_to_be_in_sync_with() -> None:
    assert told(WITHOUT_BROKER, NamespaceState()) == {"Ready": ("True", "Active")}


def test_settings_that_need_a_broker_are_told_of_where_there_is_none() -> None:
    resource = replace(WITHOUT_BROKER, spec=replace(WITHOUT_BROKER.spec, is_allow_auto_update_schema=False))
    (ready,) = conditions(resource, NamespaceState())
    assert "need pulsar" in ready.message


def test_a_policy_whose_settings_the_broker_has_is_in_sync_and_tells_what_it_left_behind() -> None:
    assert told(POLICY, NamespaceState()) == {"Ready": ("True", "Active"), "InSync": ("True", "Applied")}
    said = {each.type: each.message for each in conditions(POLICY, NamespaceState(notes=("it keeps false",)))}
    assert said[ConditionType.IN_SYNC].endswith("it keeps false")


@pytest.mark.parametrize("error", [BrokerUnavailableError("away"), BrokerUnauthorizedError("who?")])
def test_a_broker_that_cannot_be_asked_leaves_what_was_applied_ready(error: TopicSchemaError) -> None:
    state = NamespaceState(error=error)
    assert told(applied_before(), state) == {"Ready": ("True", "Active"), "InSync": ("Unknown", error.reason)}
    fresh = {"Ready": ("False", error.reason), "Reconciling": ("True", error.reason)}
    assert told(applied_before(1), state) == {**fresh, "InSync": ("Unknown", error.reason)}


@pytest.mark.parametrize("error", [BrokerUnavailableError("away"), BrokerForbiddenError("you may not")])
def test_what_is_seen_to_differ_and_cannot_be_written_is_neither_ready_nor_in_sync(error: TopicSchemaError) -> None:
    state = NamespaceState(difference="x is y and not z", error=error)
    assert told(applied_before(), state) == {
        "Ready": ("False", error.reason),
        "Reconciling": ("True", error.reason),
        "InSync": ("False", error.reason),
    }
    said = {each.type: each.message for each in conditions(applied_before(), state)}
    assert said[ConditionType.IN_SYNC] == f"x is y and not z: {error.message}"


@pytest.mark.parametrize("error", [BrokerInconsistentError("says yes"), NamespaceNotFoundError("gone")])
def test_what_the_broker_itself_denies_is_not_ready_whatever_was_before(error: TopicSchemaError) -> None:
    said = told(applied_before(), NamespaceState(error=error))
    assert said["Ready"] == said["InSync"] == ("False", error.reason)


def test_a_broker_that_may_not_be_called_needs_a_person() -> None:
    assert told(applied_before(), NamespaceState(error=BrokerNotAllowedError("no"))) == {
        "Ready": ("False", "BrokerNotAllowed"),
        "Stalled": ("True", "BrokerNotAllowed"),
        "InSync": ("Unknown", "BrokerNotAllowed"),
    }


def test_a_lock_that_waits_names_the_first_topics_without_a_topicschema() -> None:
    state = NamespaceState(undeclared=tuple("abcdefg"))
    said = told(applied_before(), state)
    assert said["Ready"] == said["InSync"] == ("False", "UnmanagedTopics")
    assert said["Reconciling"] == ("True", "UnmanagedTopics")
    error = awaited(state)
    assert error is not None
    assert "a, b, c, d, e and 2 more without a TopicSchema" in error.message
    assert [note.reason for note in notes(state)] == ["UnmanagedTopics"]
    more = replace(state, other_line="the broker is 4.1.2", notes=("it keeps a setting",))
    assert notes(more) == notes(state), "no condition says the rest yet: each reconcile would write it"


@pytest.mark.parametrize("resource", [POLICY, OBSERVING])
def test_a_broker_of_another_line_is_told_of_beside_what_is_in_force(resource: NamespaceSchemaPolicy) -> None:
    state = NamespaceState(other_line="the broker is 4.1.2")
    ready = conditions(resource, state)[0]
    assert (ready.status, ready.message.split("; ")[:2]) == ("True", ["governs shop/orders", "the broker is 4.1.2"])
    assert notes(state) == (("Warning", "PulsarVersionMismatch", "the broker is 4.1.2"),)


def test_a_lock_waits_until_it_is_known_which_topics_have_one() -> None:
    state = NamespaceState(undeclared=None)
    assert told(POLICY, state)["Ready"] == ("False", "UnmanagedTopics")
    assert notes(state) == ()


def test_who_only_observes_tells_whether_the_broker_has_what_is_wanted() -> None:
    assert told(OBSERVING, NamespaceState()) == {"Ready": ("True", "Observed"), "InSync": ("True", "Observed")}
    assert told(OBSERVING, NamespaceState(difference="x is y"))["InSync"] == ("False", "Observed")


@pytest.mark.parametrize(
    "state", [NamespaceState(), NamespaceState(error=BrokerUnavailableError("")), NamespaceState(undeclared=("a",))]
)
def test_a_policy_that_holds_its_claim_is_in_force_whatever_its_broker_does(state: NamespaceState) -> None:
    said = tuple(
        Condition(type=each.type, status=each.status, reason=each.reason, observed_generation=2)
        for each in conditions(POLICY, state)
    )
    assert is_active(replace(POLICY, status=NamespaceSchemaPolicyStatus(conditions=said)))
    assert not is_active(
        replace(
            POLICY,
            metadata=replace(POLICY.metadata, generation=3),
            status=NamespaceSchemaPolicyStatus(conditions=said),
        )
    )
