"""All reads of a policy at its broker: the settings of the Pulsar namespace. `act` writes them."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from topicschema.api.brokers import ManagementPolicy, ObservedSettings
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.api.policies import DriftPolicy, NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.broker.broker import Broker
from topicschema.core.errors import TopicSchemaError
from topicschema.core.remote import BrokerSettings, NamespaceSettings
from topicschema.judging import policy_rules
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy import namespace_settings as rules
from topicschema.reconcile.policy import unmanaged_topics
from topicschema.reconcile.policy.unmanaged_topics import NONE, UnmanagedTopics
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.status_writer import ERRORS_WITHOUT_STATUS


@dataclass(frozen=True, slots=True)
class DueSettings:
    """The settings to write, the present ones, and the broker's defaults if they are known."""

    broker: Broker
    settings: NamespaceSettings
    current: NamespaceSettings
    defaults: BrokerSettings | None


@dataclass(frozen=True, slots=True)
class NamespaceState:
    """The settings of a Pulsar namespace at its broker, their difference from the policy's, and notes to report.

    `due` is None if the operator may not write. `unmanaged` are the topics that a lock waits for, or None if they are
    not known yet. `contested` describes the settings that the operator does not write, because other clients
    change them again. `warning` concerns geo-replication. `wrote` is True if a setting was changed. `judging_error` is
    the reason why the policy cannot judge, or None.
    """

    observed: ObservedSettings | None = None
    difference: str = ""
    notes: tuple[str, ...] = ()
    unmanaged: UnmanagedTopics | None = NONE
    error: TopicSchemaError | None = None
    contested: str = ""
    warning: str = ""
    wrote: bool = False
    judging_error: TopicSchemaError | None = None
    due: DueSettings | None = None


def key_of(resource: NamespaceSchemaPolicy) -> Key:
    """Return the policy's key in the work queue."""
    return Key(NAMESPACE_SCHEMA_POLICY.plural, resource.metadata.namespace, resource.metadata.name)


async def observe(
    ctx: ReconcileContext,
    resource: NamespaceSchemaPolicy,
    registry: SchemaRegistry,
    managed: Collection[str] | None,
) -> NamespaceState:
    """Return the state, with the error if the broker cannot be read.

    `managed` are the local names of the topics with a TopicSchema, or None while they are not known.
    """
    state = NamespaceState()
    try:
        broker = await ctx.brokers.of(registry)
        if broker is not None:
            defaults = await ctx.brokers.own_settings(registry, broker) or rules.known_of_broker(resource.observed)
            state = await _settings(ctx, resource, broker, defaults, managed)
    except ERRORS_WITHOUT_STATUS:
        raise
    except TopicSchemaError as error:
        state = NamespaceState(observed=resource.status.observed, error=error)
    now = replace(resource, status=replace(resource.status, observed=state.observed))
    warning = policy_rules.replication_warning(now)
    return replace(state, judging_error=policy_rules.missing(now), warning=warning)


async def _settings(
    ctx: ReconcileContext,
    resource: NamespaceSchemaPolicy,
    broker: Broker,
    defaults: BrokerSettings | None,
    managed: Collection[str] | None,
) -> NamespaceState:
    key = resource.spec.claim_key
    current = await broker.namespace_settings(key)
    change = rules.differing(rules.desired_settings(resource), current)
    state = NamespaceState(
        rules.observed(current, defaults, resource.address), rules.describe_difference(change, current)
    )
    observes = resource.spec.management_policy is ManagementPolicy.OBSERVE
    if observes or resource.spec.drift_policy is DriftPolicy.REPORT:
        return state
    contested, change = _split(ctx, resource, change)
    state = replace(state, contested=rules.describe_difference(contested, current))
    unmanaged: UnmanagedTopics | None = NONE
    spec = resource.spec.unmanaged_topics
    if rules.is_lock(change, current, defaults) and not spec.exempts_all:
        try:
            unmanaged = None if managed is None else await unmanaged_topics.find(broker, key, spec, managed)
        except ERRORS_WITHOUT_STATUS:
            raise
        except TopicSchemaError as error:  # the difference is known
            return replace(state, error=error)
    if unmanaged is None or unmanaged.count:
        change = replace(change, allows_auto_update=None, allows_replicators=None)
    return replace(state, unmanaged=unmanaged, due=DueSettings(broker, change, current, defaults))


def _split(
    ctx: ReconcileContext, resource: NamespaceSchemaPolicy, change: NamespaceSettings
) -> tuple[NamespaceSettings, NamespaceSettings]:
    """Return the settings of the change that are contested, and the others."""
    key, differing = key_of(resource), rules.named(change)
    contested = ctx.drift.contested(key, resource.metadata.generation, differing, ctx.clock())
    desired = rules.named(rules.desired_settings(resource))
    ctx.drift.mark_in_sync(key, [each for each in desired if each not in differing])
    others = [each for each in differing if each not in contested]
    return rules.only(change, contested), rules.only(change, others)
