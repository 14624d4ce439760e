"""An accepted edit that is not recorded yet (docs/decisions/0004-pending-edits.md).

The controller may still register it, or skip it because a newer edit came. So the newer edit must be compatible in both
cases.
"""

from collections.abc import Mapping
from typing import Any

from topicschema.api.brokers import ManagementPolicy
from topicschema.api.metadata import ConditionType
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.core.errors import StalledError
from topicschema.core.history import History
from topicschema.core.reasons import Reason
from topicschema.core.schemas import Schema
from topicschema.core.verdict import Candidate
from topicschema.judging.judge import Judge
from topicschema.judging.policies import ActivePolicy
from topicschema.judging.policy_rules import counted_choices


def decode_or_none(old: Mapping[str, Any] | None) -> TopicSchema | None:
    """Return the stored object, or None if there is none that can be decoded."""
    try:
        return None if old is None else decode(TopicSchema, old)
    except StalledError:
        return None


async def pending(judge: Judge, old: TopicSchema | None, history: History, active: ActivePolicy) -> Schema | None:
    """Return the schema of the stored spec if it is not recorded and may still be registered, else None.

    It may not be if it is suspended, if its broker is only observed, or if the controller refused that generation. The
    same holds if judging refuses it now.
    """
    if old is None or old.spec.suspend or _is_only_observed(active) or _was_refused(old):
        return None
    if _is_reported(old, history):
        return None
    try:
        schema = await judge.schema_of(old.spec, active.policy.profile.pulsar_version, history)
    except StalledError:
        return None
    if history.equal_to(schema.fingerprint):
        return None
    candidate = Candidate(schema, counted_choices(old.spec, active.policy))
    judged = await judge.judge(candidate, history, active.policy)
    return schema if judged.is_compatible else None


def _is_only_observed(active: ActivePolicy) -> bool:
    """Return True if nothing is registered at the policy's broker. Without a broker that field has no effect."""
    return active.resource.has_broker and active.resource.spec.management_policy is ManagementPolicy.OBSERVE


def _was_refused(old: TopicSchema) -> bool:
    """Return True if that generation is Stalled by a refusal. A generation that only waits may still be registered."""
    return any(
        condition.type is ConditionType.STALLED
        and Reason.of(condition.reason).refuses_spec
        and condition.observed_generation == old.metadata.generation
        for condition in old.status.conditions
    )


def _is_reported(old: TopicSchema, history: History) -> bool:
    """Return True if the status names this generation's version and the history has it. Then nothing needs parsing."""
    fingerprint = old.status.fingerprint
    is_current = old.status.observed_generation == old.metadata.generation
    return is_current and fingerprint is not None and history.equal_to(fingerprint) is not None
