"""All reads of a policy at its broker: the release, and the settings of the Pulsar namespace. `act` writes them."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from topicschema.api.brokers import ManagementPolicy, ObservedRelease, ObservedSettings
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.broker.broker import Broker
from topicschema.core.errors import TopicSchemaError
from topicschema.core.remote import BrokerSettings, NamespaceSettings
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.judging import pulsar_versions
from topicschema.judging.policies import address_of
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy import namespace_settings as rules
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

    `due` is None if the operator may not write. `undeclared` are the topics that a lock waits for, or None if they are
    not known yet. `wrote` is True if a setting was changed. `release` is the broker's, and `version_error` the reason
    against the Pulsar version, or None.
    """

    observed: ObservedSettings | None = None
    difference: str = ""
    notes: tuple[str, ...] = ()
    undeclared: tuple[str, ...] | None = ()
    error: TopicSchemaError | None = None
    wrote: bool = False
    release: ObservedRelease | None = None
    version_error: TopicSchemaError | None = None
    due: DueSettings | None = None


async def observe(
    ctx: ReconcileContext, resource: NamespaceSchemaPolicy, key: PulsarNamespaceKey, declared: Collection[str] | None
) -> NamespaceState:
    """Return the state, with the error if the broker cannot be read.

    `declared` are the topics with a TopicSchema, or None while they are not known.
    """
    release, state = None, NamespaceState()
    try:
        broker = await ctx.brokers.of(resource, refresh=True)
        if broker is not None:
            release = await _release(ctx, resource, broker)
            state = await _settings(ctx, resource, key, broker, declared)
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


async def _settings(
    ctx: ReconcileContext,
    resource: NamespaceSchemaPolicy,
    key: PulsarNamespaceKey,
    broker: Broker,
    declared: Collection[str] | None,
) -> NamespaceState:
    current = await broker.namespace_settings(key)
    defaults = await ctx.brokers.own_settings(resource, broker) or rules.known_of_broker(resource.observed)
    change = rules.differing(rules.desired_settings(resource.spec), current)
    state = NamespaceState(
        rules.observed(current, defaults, address_of(resource)), rules.describe_difference(change, current)
    )
    if resource.spec.management_policy is ManagementPolicy.OBSERVE:
        return state
    undeclared: tuple[str, ...] | None = ()
    if rules.is_lock(change, current, defaults) and not resource.spec.lock_undeclared:
        try:
            undeclared = None if declared is None else rules.undeclared(await broker.topics(key), declared)
        except ERRORS_WITHOUT_STATUS:
            raise
        except TopicSchemaError as error:  # the difference is known
            return replace(state, error=error)
    if undeclared or undeclared is None:
        change = replace(change, allows_auto_update=None)
    return replace(state, undeclared=undeclared, due=DueSettings(broker, change, current, defaults))
