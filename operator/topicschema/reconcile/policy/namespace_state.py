"""The broker's part of a policy's reconcile: read the settings of the Pulsar namespace, and write those that differ.

A value is recorded in the claim before it is overwritten. Settings that the policy omits are not written, and with
managementPolicy Observe none is. `namespace_settings` computes the changes.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from topicschema import telemetry
from topicschema.api.brokers import ManagementPolicy, ObservedRelease, ObservedSettings
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.broker.broker import Broker
from topicschema.core.errors import TopicSchemaError
from topicschema.core.remote import BrokerSettings, NamespaceSettings
from topicschema.judging import pulsar_versions
from topicschema.judging.policies import address_of
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy import namespace_settings as rules
from topicschema.reconcile.status_writer import ERRORS_WITHOUT_STATUS
from topicschema.storage.protocol import StoredClaim


@dataclass(frozen=True, slots=True)
class NamespaceState:
    """The settings of a Pulsar namespace at its broker, their difference from the policy's, and notes to report.

    `undeclared` are the topics that a lock waits for, or None if they are not known yet. `wrote` is True if a setting
    was changed. `release` is the broker's, and `version_error` the reason against the Pulsar version, or None.
    """

    observed: ObservedSettings | None = None
    difference: str = ""
    notes: tuple[str, ...] = ()
    undeclared: tuple[str, ...] | None = ()
    error: TopicSchemaError | None = None
    wrote: bool = False
    release: ObservedRelease | None = None
    version_error: TopicSchemaError | None = None


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
    release: ObservedRelease | None = None
    try:
        broker = await ctx.brokers.of(resource, refresh=True)
        release = None if broker is None else await _release(ctx, resource, broker)
        state = NamespaceState() if broker is None else await _read(ctx, resource, claim, broker, declared)
    except ERRORS_WITHOUT_STATUS:
        raise
    except TopicSchemaError as error:
        state = NamespaceState(observed=resource.status.observed, error=error)
        release = release or resource.status.broker_release
    now = replace(resource, status=replace(resource.status, broker_release=release))
    return replace(state, release=release, version_error=pulsar_versions.problem(now))


async def _release(ctx: ReconcileContext, resource: NamespaceSchemaPolicy, broker: Broker) -> ObservedRelease | None:
    """Return the broker's release. It is read first, because any role may read it, and it decides how to judge."""
    release = await ctx.brokers.release(resource, broker)
    return None if release is None else ObservedRelease(release=release, address=address_of(resource))


async def _read(
    ctx: ReconcileContext,
    resource: NamespaceSchemaPolicy,
    claim: StoredClaim,
    broker: Broker,
    declared: Collection[str] | None,
) -> NamespaceState:
    current = await broker.namespace_settings(claim.key)
    own = await ctx.brokers.own_settings(resource, broker)
    if own is None:
        own = rules.known_of_broker(resource.observed)
    namespace = _Namespace(resource, claim, broker, current, own)
    change = rules.differing(rules.desired_settings(resource.spec), current)
    observed, difference = (
        rules.observed(current, own, address_of(resource)),
        rules.describe_difference(change, current),
    )
    if resource.spec.management_policy is ManagementPolicy.OBSERVE:
        return NamespaceState(observed, difference)
    try:
        return await _apply(ctx, namespace, change, declared)
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
        await ctx.storage.put_settings(claim, due.original, due.managed)
    await namespace.broker.set_namespace(claim.key, change)
    for setting in rules.named(change):
        telemetry.BROKER_SETTINGS_WRITES.labels(setting).inc()
    return due
