"""The broker's part of a policy's reconcile: read the settings of the Pulsar namespace, and write those that differ.

A value is recorded in the claim before it is overwritten. Settings that the policy omits are not written, and with
managementPolicy Observe none is. `namespace_settings` computes the changes.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from topicschema import telemetry
from topicschema.api.brokers import ManagementPolicy, ObservedSettings
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.broker.broker import Broker
from topicschema.core.errors import TopicSchemaError
from topicschema.core.remote import BrokerSettings, NamespaceSettings
from topicschema.judging.policies import address_of
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy import namespace_settings as rules
from topicschema.reconcile.status_writer import ERRORS_WITHOUT_STATUS
from topicschema.storage.claims import StoredClaim


@dataclass(frozen=True, slots=True)
class NamespaceState:
    """The settings of a Pulsar namespace at its broker, their difference from the policy's, and notes to report.

    `undeclared` are the topics that a lock waits for, or None if they are not known yet. `wrote` is True if a setting
    was changed. `other_pulsar_version` is the note about a broker of another version than the policy's, or "".
    """

    observed: ObservedSettings | None = None
    difference: str = ""
    notes: tuple[str, ...] = ()
    undeclared: tuple[str, ...] | None = ()
    error: TopicSchemaError | None = None
    wrote: bool = False
    other_pulsar_version: str = ""


@dataclass(frozen=True, slots=True)
class _Namespace:
    """One Pulsar namespace while its settings are read and written."""

    resource: NamespaceSchemaPolicy
    claim: StoredClaim
    broker: Broker
    current: NamespaceSettings
    own: BrokerSettings | None


async def apply_settings(
    ctx: ReconcileContext, resource: NamespaceSchemaPolicy, claim: StoredClaim, declared: Collection[str] | None
) -> NamespaceState:
    """Return the state after the policy was applied, or the state with the error.

    `declared` are the topics with a TopicSchema, or None while they are not known.
    """
    try:
        return await _read(ctx, resource, claim, declared)
    except ERRORS_WITHOUT_STATUS:
        raise
    except TopicSchemaError as error:
        return NamespaceState(observed=resource.status.observed, error=error)


async def _read(
    ctx: ReconcileContext, resource: NamespaceSchemaPolicy, claim: StoredClaim, declared: Collection[str] | None
) -> NamespaceState:
    broker = await ctx.brokers.of(resource, refresh=True)
    if broker is None:
        return NamespaceState()
    current = await broker.namespace_settings(claim.key)
    own = await ctx.brokers.own_settings(resource, broker)
    if own is None:
        own = rules.known_of_broker(resource.observed)
    namespace = _Namespace(resource, claim, broker, current, own)
    change = rules.differing(rules.desired_settings(resource.spec), current)
    other_pulsar_version = rules.other_pulsar_version(resource.spec.broker_profile.pulsar_version, own)
    observed, difference = (
        rules.observed(current, own, address_of(resource)),
        rules.describe_difference(change, current),
    )
    if resource.spec.management_policy is ManagementPolicy.OBSERVE:
        return NamespaceState(observed, difference, other_pulsar_version=other_pulsar_version)
    try:
        return replace(await _apply(ctx, namespace, change, declared), other_pulsar_version=other_pulsar_version)
    except ERRORS_WITHOUT_STATUS:
        raise
    except TopicSchemaError as error:
        # The difference is known, even if the operator may not fix it.
        return NamespaceState(observed, difference, error=error)


async def _apply(
    ctx: ReconcileContext, namespace: _Namespace, change: NamespaceSettings, declared: Collection[str] | None
) -> NamespaceState:
    """Write `change`, without a lock that must wait. Return the new state."""
    resource, current, own = namespace.resource, namespace.current, namespace.own
    undeclared = await _undeclared(namespace, change, declared)
    if undeclared or undeclared is None:
        change = replace(change, allows_auto_update=None)
    known = await _write(ctx, namespace, change)
    after, desired = rules.written_over(current, change), rules.desired_settings(resource.spec)
    notes = (*rules.override_notes(desired, own), *rules.unmanaged_notes(desired, after, known))
    observed, wrote = rules.observed(after, own, address_of(resource)), bool(rules.named(change))
    return NamespaceState(observed, notes=notes, undeclared=undeclared, wrote=wrote)


async def _undeclared(
    namespace: _Namespace, change: NamespaceSettings, declared: Collection[str] | None
) -> tuple[str, ...] | None:
    if namespace.resource.spec.lock_undeclared or not rules.is_lock(change, namespace.current, namespace.own):
        return ()
    if declared is None:
        return None
    return rules.undeclared(await namespace.broker.topics(namespace.claim.key), declared)


async def _write(ctx: ReconcileContext, namespace: _Namespace, change: NamespaceSettings) -> rules.SettingsRecord:
    """Write `change` after recording the original values. Return the record."""
    claim = namespace.claim
    known = rules.SettingsRecord(claim.original or NamespaceSettings(), claim.managed)
    if not rules.named(change):
        return known
    due = rules.record_before(known, namespace.current, change)
    if due != known:
        await ctx.claims.put_settings(claim, due.original, due.managed)
    await namespace.broker.set_namespace(claim.key, change)
    for setting in rules.named(change):
        telemetry.BROKER_SETTINGS_WRITES.labels(setting).inc()
    return due
