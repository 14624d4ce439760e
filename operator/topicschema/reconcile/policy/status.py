"""The conditions of a NamespaceSchemaPolicy, from the result of its reconcile. Pure.

InSync reports that the broker has the policy's settings. Only a policy with a broker and a claim has it. If the broker
is unavailable, the policy still applies to its topics.
"""

from typing import Final, NamedTuple

from topicschema.api.brokers import ManagementPolicy
from topicschema.api.metadata import ConditionStatus, ConditionType
from topicschema.api.policies import DriftPolicy, NamespaceSchemaPolicy
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.reasons import Reason
from topicschema.judging.policies import is_ready
from topicschema.reconcile.policy.observe import NamespaceState
from topicschema.reconcile.runtime.conditions import ConditionInput, describe_error, not_ready, ready

_LISTED: Final = 5


class Note(NamedTuple):
    """A note to report once: the type, the reason and the text of an Event."""

    type: str
    reason: str
    text: str


def conditions(resource: NamespaceSchemaPolicy, state: NamespaceState) -> tuple[ConditionInput, ...]:
    """Return the conditions of a policy that holds its claim. It is not Ready if it cannot judge."""
    usual = _conditions(resource, state)
    if state.judging_error is None or pending_error(state) is not None:
        return usual
    in_sync = (each for each in usual if each.type is ConditionType.IN_SYNC)
    return (*not_ready(state.judging_error), *in_sync)


def _conditions(resource: NamespaceSchemaPolicy, state: NamespaceState) -> tuple[ConditionInput, ...]:
    governs = f"governs {resource.spec.pulsar_namespace}"
    error = pending_error(state)
    if not resource.has_broker:
        return ready(Reason.ACTIVE, "; ".join((governs, *_without_broker(resource))))
    if error is None:
        return _applied(resource, state, governs)
    if state.difference:
        message = f"{state.difference}: {error.message}"
        return (*not_ready(error), ConditionInput(ConditionType.IN_SYNC, ConditionStatus.FALSE, error.reason, message))
    if error.reason.leaves_settings:
        return (*not_ready(error), _in_sync(ConditionStatus.FALSE, error))
    if is_ready(resource) and not isinstance(error, StalledError):
        return (*ready(Reason.ACTIVE, governs), _in_sync(ConditionStatus.UNKNOWN, error))
    return (*not_ready(error), _in_sync(ConditionStatus.UNKNOWN, error))


def pending_error(state: NamespaceState) -> TopicSchemaError | None:
    """Return the error that prevents the policy's settings, or None."""
    if state.error is not None:
        return state.error
    if state.contested:
        return WaitingError(
            Reason.SETTING_CONTESTED,
            f"{state.contested}: another client changed this three times in ten minutes after the operator wrote it, "
            "so the operator stopped. StreamNative's pulsar-resources-operator and Terraform are likely causes. Remove "
            "the setting there or in this policy, or set driftPolicy: Report",
            after=60.0,
        )
    if state.unmanaged is None:
        return WaitingError(
            Reason.UNMANAGED_TOPICS,
            "isAllowAutoUpdateSchema: false waits for the first reconcile of every TopicSchema of this namespace",
            after=2.0,
        )
    count = state.unmanaged.count
    if not count:
        return None
    first = ", ".join(each.topic for each in state.unmanaged.first[:_LISTED])
    names = first if count <= _LISTED else f"{first} and {count - _LISTED} more"
    return WaitingError(
        Reason.UNMANAGED_TOPICS,
        f"isAllowAutoUpdateSchema: false waits, because clients could add no schema to topics without a TopicSchema: "
        f"{names}; create their TopicSchemas, or exempt them with spec.unmanagedTopics.exempt",
        after=60.0,
    )


def notes(state: NamespaceState) -> tuple[Note, ...]:
    """Return the notes that get an Event when they first appear."""
    error = pending_error(state)
    if error is not None:  # other notes are in no condition yet, and would be emitted at each reconcile
        waits = state.unmanaged is not None and error.reason is Reason.UNMANAGED_TOPICS
        is_new = waits or error.reason is Reason.SETTING_CONTESTED
        return (Note("Warning", error.reason, error.message),) if is_new else ()
    retained = tuple(Note("Normal", Reason.SETTING_RETAINED, text) for text in state.notes)
    at_risk = (Note("Warning", Reason.REPLICATION_AT_RISK, state.warning),) if state.warning and state.due else ()
    return (*retained, *at_risk)


def _applied(resource: NamespaceSchemaPolicy, state: NamespaceState, governs: str) -> tuple[ConditionInput, ...]:
    if resource.spec.management_policy is ManagementPolicy.OBSERVE:
        status = ConditionStatus.FALSE if state.difference else ConditionStatus.TRUE
        message = state.difference or "the broker has what the policy sets"
        observes = ready(Reason.OBSERVED, f"{governs}; nothing is written to the broker")
        return (*observes, ConditionInput(ConditionType.IN_SYNC, status, Reason.OBSERVED, message))
    if resource.spec.drift_policy is DriftPolicy.REPORT:
        reports = ready(Reason.ACTIVE, f"{governs}; driftPolicy is Report, and no setting is written to the broker")
        status = ConditionStatus.FALSE if state.difference else ConditionStatus.TRUE
        reason = Reason.SETTING_DRIFTED if state.difference else Reason.APPLIED
        message = state.difference or "the broker has what the policy sets"
        return (*reports, ConditionInput(ConditionType.IN_SYNC, status, reason, message))
    message = "; ".join(("the broker has what the policy sets", *state.notes, *filter(None, (state.warning,))))
    return (
        *ready(Reason.ACTIVE, governs),
        ConditionInput(ConditionType.IN_SYNC, ConditionStatus.TRUE, Reason.APPLIED, message),
    )


def _in_sync(status: ConditionStatus, error: TopicSchemaError) -> ConditionInput:
    return ConditionInput(ConditionType.IN_SYNC, status, *describe_error(error))


def _without_broker(resource: NamespaceSchemaPolicy) -> tuple[str, ...]:
    spec = resource.spec
    if spec.is_allow_auto_update_schema is None and spec.schema_validation_enforced is None:
        return ()
    return ("isAllowAutoUpdateSchema and schemaValidationEnforced have no effect: the registry has no Pulsar",)
