"""The conditions and notes of a policy, situation by situation."""

from dataclasses import replace

import pytest

from support.kubernetes.conditions import summary
from topicschema.api.brokers import ManagementPolicy
from topicschema.api.metadata import Condition, ConditionStatus, ConditionType, Metadata
from topicschema.api.policies import (
    DriftPolicy,
    NamespaceSchemaPolicy,
    NamespaceSchemaPolicySpec,
    NamespaceSchemaPolicyStatus,
    RegistryStatus,
    UnmanagedTopic,
)
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerInconsistentError,
    BrokerNotAllowedError,
    BrokerUnauthorizedError,
    BrokerUnavailableError,
    NamespaceNotFoundError,
)
from topicschema.core.errors import StalledError
from topicschema.core.reasons import Reason
from topicschema.judging.policies import is_active
from topicschema.reconcile.policy.observe import NamespaceState
from topicschema.reconcile.policy.status import conditions, notes, pending_error
from topicschema.reconcile.policy.unmanaged_topics import UnmanagedTopics

REGISTRY = RegistryStatus(address="pulsar:8080", version="4.0.7")
POLICY = NamespaceSchemaPolicy(
    metadata=Metadata(name="orders", namespace="shop", generation=2),
    spec=NamespaceSchemaPolicySpec(registry="pulsar", pulsar_namespace="shop/orders"),
    status=NamespaceSchemaPolicyStatus(registry=REGISTRY),
)
WITHOUT_BROKER = replace(POLICY, status=NamespaceSchemaPolicyStatus(registry=RegistryStatus()))
REPORTING = replace(POLICY, spec=replace(POLICY.spec, drift_policy=DriftPolicy.REPORT))
OBSERVING = replace(POLICY, spec=replace(POLICY.spec, management_policy=ManagementPolicy.OBSERVE))
_READY = Condition(type=ConditionType.READY, status=ConditionStatus.TRUE, reason="Active", observed_generation=2)
WAS_READY = replace(POLICY, status=NamespaceSchemaPolicyStatus(conditions=(_READY,), registry=REGISTRY))
EDITED = replace(WAS_READY, metadata=replace(POLICY.metadata, generation=3))
UNAVAILABLE, FORBIDDEN = BrokerUnavailableError("silent"), BrokerForbiddenError("denied")
UNAUTHORIZED = BrokerUnauthorizedError("unknown client")
NOTES = NamespaceState(notes=("it stays false",))
CANNOT_JUDGE = StalledError(Reason.STRATEGY_UNKNOWN, "set one")
WAITS_FOR = UnmanagedTopics(31, tuple(UnmanagedTopic(topic=name, reason="HasSchema") for name in "abcdefg"))
WAITING = NamespaceState(unmanaged=WAITS_FOR)
CONTESTED = NamespaceState(contested="x is y")
NOT_IN_SYNC = "-Ready +Reconciling -InSync"
NOT_READABLE = "BrokerUnavailable: -Ready +Reconciling ?InSync"


@pytest.mark.parametrize(
    ("resource", "state", "expected"),
    [
        (WITHOUT_BROKER, NamespaceState(), "Active: +Ready"),
        (POLICY, NamespaceState(), "Active: +Ready +InSync/Applied"),
        (OBSERVING, NamespaceState(), "Observed: +Ready +InSync"),
        (OBSERVING, NamespaceState(difference="x is y"), "Observed: +Ready -InSync"),
        (REPORTING, NamespaceState(), "Active: +Ready +InSync/Applied"),
        (REPORTING, NamespaceState(difference="x is y"), "Active: +Ready -InSync/SettingDrifted"),
        (WAS_READY, CONTESTED, f"SettingContested: {NOT_IN_SYNC}"),
        # A Pulsar version or a strategy that is missing
        (POLICY, NamespaceState(judging_error=CANNOT_JUDGE), "StrategyUnknown: -Ready +Stalled +InSync/Applied"),
        (EDITED, NamespaceState(error=UNAVAILABLE, judging_error=CANNOT_JUDGE), NOT_READABLE),
        # A broker that cannot be read
        (WAS_READY, NamespaceState(error=UNAVAILABLE), "Active: +Ready ?InSync/BrokerUnavailable"),
        (WAS_READY, NamespaceState(error=UNAUTHORIZED), "Active: +Ready ?InSync/BrokerUnauthorized"),
        (EDITED, NamespaceState(error=UNAVAILABLE), NOT_READABLE),
        # A difference that cannot be written
        (WAS_READY, NamespaceState(difference="x is y", error=FORBIDDEN), f"BrokerForbidden: {NOT_IN_SYNC}"),
        # Settings that the broker certainly lacks
        (WAS_READY, NamespaceState(error=BrokerInconsistentError("yes")), f"BrokerInconsistent: {NOT_IN_SYNC}"),
        (WAS_READY, NamespaceState(error=NamespaceNotFoundError("no")), f"NamespaceNotFound: {NOT_IN_SYNC}"),
        (WAS_READY, NamespaceState(error=BrokerNotAllowedError("no")), "BrokerNotAllowed: -Ready +Stalled ?InSync"),
        # A lock that waits for topics, or until they are known
        (WAS_READY, WAITING, f"UnmanagedTopics: {NOT_IN_SYNC}"),
        (WAS_READY, NamespaceState(unmanaged=None), f"UnmanagedTopics: {NOT_IN_SYNC}"),
    ],
)
def test_conditions(resource: NamespaceSchemaPolicy, state: NamespaceState, expected: str) -> None:
    result = conditions(resource, state)
    assert summary(result) == expected
    reported = tuple(
        Condition(type=each.type, status=each.status, reason=each.reason, observed_generation=2) for each in result
    )
    after = replace(POLICY, status=NamespaceSchemaPolicyStatus(conditions=reported))
    assert is_active(after)  # a policy with a claim governs, also without its broker
    assert not is_active(replace(after, metadata=EDITED.metadata))


LOCKING = replace(WITHOUT_BROKER, spec=replace(WITHOUT_BROKER.spec, is_allow_auto_update_schema=False))


@pytest.mark.parametrize(
    ("resource", "state", "kind", "part"),
    [
        (LOCKING, NamespaceState(), ConditionType.READY, "have no effect: the registry has no Pulsar"),
        (POLICY, NOTES, ConditionType.IN_SYNC, "; it stays false"),
        (OBSERVING, NOTES, ConditionType.READY, "governs shop/orders; nothing is written to the broker"),
        (WAS_READY, NamespaceState(difference="x is y", error=FORBIDDEN), ConditionType.IN_SYNC, "x is y: denied"),
        (WAS_READY, CONTESTED, ConditionType.READY, "x is y: another client changed this three times in ten minutes"),
        (WAS_READY, CONTESTED, ConditionType.IN_SYNC, "StreamNative's pulsar-resources-operator and Terraform"),
        (WAS_READY, WAITING, ConditionType.READY, "without a TopicSchema: a, b, c, d, e and 26 more; "),
    ],
)
def test_messages(resource: NamespaceSchemaPolicy, state: NamespaceState, kind: ConditionType, part: str) -> None:
    assert part in {each.type: each.message for each in conditions(resource, state)}[kind]


def test_notes_are_those_that_a_condition_reports() -> None:
    assert notes(NOTES) == (("Normal", "SettingRetained", "it stays false"),)
    error = pending_error(WAITING)
    assert error is not None
    waiting = replace(NOTES, unmanaged=WAITING.unmanaged)
    assert notes(WAITING) == notes(waiting) == (("Warning", "UnmanagedTopics", error.message),)
    assert notes(NamespaceState(unmanaged=None)) == ()
    (note,) = notes(CONTESTED)
    assert (note.type, note.reason) == ("Warning", "SettingContested")
