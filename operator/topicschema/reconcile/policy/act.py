"""All writes of a policy's reconcile at its broker: the settings of the Pulsar namespace that differ.

A value is recorded in the claim before it is overwritten. Settings that the policy omits are not written, and with
managementPolicy Observe none is.
"""

from dataclasses import replace

from topicschema import telemetry
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.core.errors import TopicSchemaError
from topicschema.core.remote import NamespaceSettings
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy import namespace_settings as rules
from topicschema.reconcile.policy.observe import DueSettings, NamespaceState, key_of
from topicschema.reconcile.policy.unmanaged_topics import NONE
from topicschema.reconcile.status_writer import ERRORS_WITHOUT_STATUS
from topicschema.storage.protocol import StoredClaim


async def write_settings(
    ctx: ReconcileContext, resource: NamespaceSchemaPolicy, claim: StoredClaim, state: NamespaceState
) -> NamespaceState:
    """Write the settings that are due. Return the state after that, or the state with the error."""
    if state.due is None:
        return state
    try:
        known = await _write(ctx, claim, state.due)
    except ERRORS_WITHOUT_STATUS:
        raise
    except TopicSchemaError as error:  # the difference is known, even if the operator may not correct it
        return replace(state, unmanaged=NONE, error=error)
    ctx.drift.mark_in_sync(key_of(resource), rules.named(state.due.settings))
    due, desired = state.due, rules.desired_settings(resource)
    after = rules.written_over(due.current, due.settings)
    return replace(
        state,
        observed=rules.observed(after, due.defaults, resource.address),
        difference="",
        notes=(*rules.override_notes(desired, due.defaults), *rules.unmanaged_notes(desired, after, known)),
        wrote=bool(rules.named(due.settings)),
    )


async def _write(ctx: ReconcileContext, claim: StoredClaim, due: DueSettings) -> rules.StoredSettings:
    """Record the original values, and then write the settings. Return the record."""
    known = rules.StoredSettings(claim.original or NamespaceSettings(), claim.managed)
    if not rules.named(due.settings):
        return known
    record = rules.stored_before(known, due.current, due.settings)
    if record != known:
        await ctx.storage.put_settings(claim, record.original, record.managed)
    await due.broker.set_namespace(claim.key, due.settings)
    for setting in rules.named(due.settings):
        telemetry.BROKER_SETTINGS_WRITES.labels(setting).inc()
    return record
