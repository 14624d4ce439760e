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
from topicschema.core.overrides import Overrides
from topicschema.core.remote import Setting, TopicSettings
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic, TopicKey
from topicschema.judging.policies import ActivePolicy
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.topicschema.broker_fetch import BrokerQuery, fetch
from topicschema.reconcile.topicschema.losses import VersionGoneError, with_note

T = TypeVar("T")
REFUSED_BY_BROKER = "RefusedByBroker"
MISSING = "TopicNotFound"
TOPIC_SECONDS = 10.0


async def retry_with_fresh_credentials(
    ctx: ReconcileContext, found: ActivePolicy, broker: Broker, ask: Callable[[Broker], Awaitable[T]]
) -> T:
    """Return the result of `ask`. After a 401 or a VersionGoneError, retry with the Secret's current credentials."""
    try:
        return await ask(broker)
    except (BrokerUnauthorizedError, VersionGoneError) as error:
        # The Secret may have a new token or certificate.
        with with_note(error.gone if isinstance(error, VersionGoneError) else None):
            fresh = await ctx.brokers.of(found.resource, refresh=True)
            if fresh is not None and fresh is not broker:
                return await ask(fresh)
        raise


async def gather_state(
    ctx: ReconcileContext, broker: Broker, found: ActivePolicy, resource: TopicSchema, query: BrokerQuery
) -> BrokerState:
    """Return the state of the resource's topic. Raise StalledAtBrokerError, and the errors of `fetch`.

    Raise VersionGoneError if the topic's settings cannot be read after its version was observed to be missing.
    """
    seen = await fetch(ctx, broker, query)
    if isinstance(seen.alignment, HistoryLost):
        raise lost(query.history.key, seen.alignment)
    _check_not_older_than_status(resource, query.history, seen.alignment)
    if resource.spec.adoption_policy is AdoptionPolicy.REFUSE and _adopts(query, seen):
        raise StalledAtBrokerError(
            "AdoptionRefused",
            f"the broker has schemas of topic {query.topic} that are not on record, and adoptionPolicy is Refuse; set "
            "it to Adopt to take them over, or delete them at the broker",
        )
    with with_note(query.gone_from(seen.alignment)):
        settings = await _overrides(broker, resource.spec, query)
    return replace(seen, may_write=may_write(found, resource), overrides=settings).after(seen)


def may_write(found: ActivePolicy, resource: TopicSchema) -> bool:
    """Return True if the operator may write to the broker: neither managementPolicy is Observe."""
    wishes = (found.resource.spec.management_policy, resource.spec.management_policy)
    return ManagementPolicy.OBSERVE not in wishes


def lost(key: TopicKey, found: HistoryLost) -> StalledAtBrokerError:
    """Return the error for a history that the broker lost. A new version would get a number that was used before."""
    return StalledAtBrokerError(
        "HistoryLost",
        f"the broker {found.why}, which topic {key.topic} had: schemas go with a forced delete or their topic (an "
        "idle one goes by itself); nothing is uploaded. Put them back in order from the record "
        f"{key.history_name} (`topicschema export`, docs/broker.md), or delete that SchemaHistory to begin anew with "
        "what the broker has; where it has nothing, delete this resource, too, and create it anew",
    )


def _check_not_older_than_status(resource: TopicSchema, history: History, found: Alignment) -> None:
    """Raise HistoryLost if record and broker lack versions of the status, which is written after them."""
    status, key, there = resource.status, history.key, history.version_count
    if isinstance(found, HistoryBehind) or not history.lacks(status.incarnation, status.version_count):
        return
    if not history.entries:
        told = (
            f"Pulsar cluster {key.pulsar_cluster} has neither a record {key.history_name} nor any schema of it at its "
            "broker: the next would get a number that was given before. Restore that record and its versions; or, "
            "where the cluster had another name before, put them back in order from the record under that one "
            "(`kubectl get schemahistories`, docs/broker.md); or, to begin anew, delete this resource and create it "
            "again"
        )
    elif isinstance(found, HistoryAhead):
        told = (
            f"the record {key.history_name} has {there}, and the broker not even those: the next would get a number "
            "that was given before. Restore the newest record and its versions, or, to go on from this one, delete "
            "this resource (with deletionPolicy: Retain, or the record goes with it) and create it anew"
        )
    else:
        return
    message = f"the status tells of {status.version_count} versions of {key.topic}, {told}"
    raise StalledAtBrokerError("HistoryLost", message)


def _adopts(query: BrokerQuery, seen: BrokerState) -> bool:
    """Return True if the import has schemas that other clients registered before the operator governed the topic.

    Schemas that are equal to the candidate do not count, nor those that the operator uploaded before a crash.
    """
    if not isinstance(seen.alignment, HistoryBehind) or query.history.counted:
        return False
    if query.history.entries and not seen.alignment.is_recount:
        return False
    wanted = None if query.schema is None else query.schema.fingerprint
    return any(each.origin is Origin.BROKER and each.fingerprint != wanted for each in seen.alignment.new_versions)


async def _overrides(broker: Broker, spec: TopicSchemaSpec, query: BrokerQuery) -> Overrides | None:
    """Return the topic's own settings, read if the resource or the record has any, or before the first version.

    Later settings of other clients are not read, because this would double the requests of a reconcile. If the broker
    has disabled such settings and the resource has none, return None, because the broker does not apply any.
    """
    record = query.history.topic_settings
    wanted = TopicSettings(spec.schema_compatibility_strategy, spec.schema_validation_enforced)
    if wanted == TopicSettings() and record is None:
        return None if query.history.counted else await _set_by_others(broker, query.topic, spec.domain)
    try:
        return Overrides(wanted, await topic_settings(broker, query.topic, spec.domain), record)
    except RefusedByBrokerError as error:
        if error.status == HTTPStatus.METHOD_NOT_ALLOWED and wanted == TopicSettings():
            return None
        raise


async def _set_by_others(broker: Broker, topic: Topic, domain: str) -> Overrides | None:
    """Return the topic's own strategy before its first version is imported, or None without one that can be read."""
    try:
        strategy = await broker.topic_strategy(topic, domain)
    except (TopicNotFoundError, BrokerForbiddenError, RefusedByBrokerError):
        return None
    return None if strategy is None else Overrides(TopicSettings(), TopicSettings(strategy))


async def topic_settings(broker: Broker, topic: Topic, domain: str) -> TopicSettings | None:
    """Return the topic's own settings, or None if the topic does not exist."""
    try:
        return await broker.topic_settings(topic, domain)
    except TopicNotFoundError:
        return None


def refusal_of_record(overrides: Overrides | None, what: str, why: str) -> TopicSchemaError:
    """Return the error for a stored version that the broker refused. It may wait for a topic to set its strategy."""
    if overrides is None or not overrides.lacks_strategy:
        afterwards = f"until it has the record, then what it was, or {Strategy.UNDEFINED} for none"
        advice = f"set {Setting.STRATEGY}: {Strategy.ALWAYS_COMPATIBLE} {afterwards}"
        return StalledError(REFUSED_BY_BROKER, f"{what}; {advice}: {why}")
    told = (
        "the topic does not exist at the broker, and until its first producer or consumer creates it, its own strategy "
        f"cannot be written, without which {what}: {why}"
    )
    return WaitingError(MISSING, told, TOPIC_SECONDS)
