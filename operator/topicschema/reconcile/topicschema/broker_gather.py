"""The state of a TopicSchema at its broker with the topic's own settings, and the errors that end a reconcile.

`broker_fetch` reads the versions from the broker, `broker_actions` writes to it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from http import HTTPStatus
from typing import TypeVar

from topicschema.api.brokers import AdoptionPolicy, ManagementPolicy
from topicschema.api.topicschemas import TopicSchema, TopicSchemaSpec
from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerUnauthorizedError,
    RefusedByBrokerError,
    TopicNotFoundError,
)
from topicschema.core.alignment import Alignment, HistoryAhead, HistoryBehind, HistoryLost
from topicschema.core.broker_state import BrokerState
from topicschema.core.errors import StalledAtBrokerError, StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import History, Origin
from topicschema.core.reasons import Reason
from topicschema.core.remote import Setting, TopicSettings
from topicschema.core.strategies import Strategy
from topicschema.core.topic_settings import TopicSettingsState
from topicschema.core.topics import Topic
from topicschema.judging.policies import ActivePolicy
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.topicschema.broker_fetch import BrokerQuery, fetch
from topicschema.reconcile.topicschema.losses import VersionGoneError, with_note

T = TypeVar("T")
TOPIC_SECONDS = 10.0


async def retry_with_fresh_credentials(
    ctx: ReconcileContext, governing: ActivePolicy, broker: Broker, call: Callable[[Broker], Awaitable[T]]
) -> T:
    """Return the result of `call`. After a 401 or a VersionGoneError, retry with the Secret's current credentials."""
    try:
        return await call(broker)
    except (BrokerUnauthorizedError, VersionGoneError) as error:
        # The Secret may have a new token or certificate.
        with with_note(error.gone if isinstance(error, VersionGoneError) else None):
            fresh = await ctx.brokers.of(governing.resource, refresh=True)
            if fresh is not None and fresh is not broker:
                return await call(fresh)
        raise


async def gather_state(
    ctx: ReconcileContext, broker: Broker, governing: ActivePolicy, resource: TopicSchema, query: BrokerQuery
) -> BrokerState:
    """Return the state of the resource's topic. Raise StalledAtBrokerError, and the errors of `fetch`.

    Raise VersionGoneError if the topic's settings cannot be read after its version was observed to be missing.
    """
    state = await fetch(ctx, broker, query)
    if isinstance(state.alignment, HistoryLost):
        raise lost_error(query.topic, ctx.storage.name_of(query.history.key), state.alignment)
    _check_not_older_than_status(ctx, resource, query.history, state.alignment)
    if resource.spec.adoption_policy is AdoptionPolicy.REFUSE and _adopts(query, state):
        raise StalledAtBrokerError(
            Reason.ADOPTION_REFUSED,
            f"topic {query.topic} has schemas at the broker that its history lacks, and adoptionPolicy is Refuse; set "
            "it to Adopt to import them, or delete them at the broker",
        )
    with with_note(query.missing_from(state.alignment)):
        settings = await _settings_state(broker, resource.spec, query)
    return replace(state, may_write=may_write(governing, resource), topic_settings=settings).after(state)


def may_write(governing: ActivePolicy, resource: TopicSchema) -> bool:
    """Return True if the operator may write to the broker: neither managementPolicy is Observe."""
    policies = (governing.resource.spec.management_policy, resource.spec.management_policy)
    return ManagementPolicy.OBSERVE not in policies


def lost_error(topic: Topic, name: str, alignment: HistoryLost) -> StalledAtBrokerError:
    """Return the error for a history, of that name in the store, whose versions the broker lost.

    A new version would get a number that was used before.
    """
    return StalledAtBrokerError(
        Reason.HISTORY_LOST,
        f"topic {topic}: the broker {alignment.why}; nothing is uploaded. A forced delete, or the deletion of an "
        "idle topic, deletes its schemas. Upload them again in order from the history "
        f"{name} (`topicschema export`, docs/broker.md). Or delete that history to start again with "
        "the versions of the broker; if it has none, delete this resource, too, and create it again",
    )


def _check_not_older_than_status(
    ctx: ReconcileContext, resource: TopicSchema, history: History, alignment: Alignment
) -> None:
    """Raise HistoryLost if history and broker lack versions of the status, which is written after them."""
    status, key, there = resource.status, history.key, history.version_count
    name = ctx.storage.name_of(key)
    if isinstance(alignment, HistoryBehind) or not history.lacks(status.incarnation, status.version_count):
        return
    if not history.entries:
        advice = (
            f"Pulsar cluster {key.pulsar_cluster} has neither the history {name} nor any schema of it at "
            "its broker: a new version would get a number that was used before. Restore that history and its "
            "versions. Or, if the cluster had another name before, upload them in order from the history of that "
            "name (docs/broker.md). Or delete this resource and create it again, to "
            "start with version 0"
        )
    elif isinstance(alignment, HistoryAhead):
        advice = (
            f"the history {name} has {there}, and the broker has fewer: a new version would get a number "
            "that was used before. Restore the newest history and its versions. Or, to continue from this one, "
            "delete this resource (with deletionPolicy: Retain, which keeps the history) and create it again"
        )
    else:
        return
    message = f"the status has {status.version_count} versions of {key.topic}, but {advice}"
    raise StalledAtBrokerError(Reason.HISTORY_LOST, message)


def _adopts(query: BrokerQuery, state: BrokerState) -> bool:
    """Return True if the import has schemas that other clients registered before the operator governed the topic.

    Schemas that are equal to the candidate do not count, nor those that the operator uploaded before a crash.
    """
    if not isinstance(state.alignment, HistoryBehind) or query.history.confirmed:
        return False
    if query.history.entries and not state.alignment.is_renumbered:
        return False
    candidate = None if query.schema is None else query.schema.fingerprint
    return any(each.origin is Origin.BROKER and each.fingerprint != candidate for each in state.alignment.new_versions)


async def _settings_state(broker: Broker, spec: TopicSchemaSpec, query: BrokerQuery) -> TopicSettingsState | None:
    """Return the topic's own settings, read if the resource or the record has any, or before the first version.

    Later settings of other clients are not read, because this would double the requests of a reconcile. If the broker
    has disabled such settings and the resource has none, return None, because the broker does not apply any.
    """
    record = query.history.topic_settings
    desired = TopicSettings(spec.schema_compatibility_strategy, spec.schema_validation_enforced)
    if desired == TopicSettings() and record is None:
        return None if query.history.confirmed else await _set_by_others(broker, query.topic, spec.domain)
    try:
        return TopicSettingsState(desired, await topic_settings(broker, query.topic, spec.domain), record)
    except RefusedByBrokerError as error:
        if error.status == HTTPStatus.METHOD_NOT_ALLOWED and desired == TopicSettings():
            return None
        raise


async def _set_by_others(broker: Broker, topic: Topic, domain: str) -> TopicSettingsState | None:
    """Return the topic's own strategy before its first version is imported, or None without one that can be read."""
    try:
        strategy = await broker.topic_strategy(topic, domain)
    except (TopicNotFoundError, BrokerForbiddenError, RefusedByBrokerError):
        return None
    return None if strategy is None else TopicSettingsState(TopicSettings(), TopicSettings(strategy))


async def topic_settings(broker: Broker, topic: Topic, domain: str) -> TopicSettings | None:
    """Return the topic's own settings, or None if the topic does not exist."""
    try:
        return await broker.topic_settings(topic, domain)
    except TopicNotFoundError:
        return None


def refused_record(settings: TopicSettingsState | None, what: str, why: str) -> TopicSchemaError:
    """Return the error for a stored version that the broker refused. It may wait for a topic to set its strategy."""
    if settings is None or not settings.lacks_strategy:
        afterwards = f"until the broker has them, then the former value, or {Strategy.UNDEFINED} for none"
        advice = f"set {Setting.STRATEGY}: {Strategy.ALWAYS_COMPATIBLE} {afterwards}"
        return StalledError(Reason.REFUSED_BY_BROKER, f"{what}; {advice}: {why}")
    message = (
        f"the topic does not exist at the broker: {what}, and the topic's own strategy can only be written after its "
        f"first producer or consumer creates it: {why}"
    )
    return WaitingError(Reason.TOPIC_NOT_FOUND, message, TOPIC_SECONDS)
