"""Gather the state of a TopicSchema at its broker, its own settings included; the errors that end a reconcile here.

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
from topicschema.judging.policies import FoundPolicy
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.topicschema.broker_fetch import BrokerQuery, fetch
from topicschema.reconcile.topicschema.losses import VersionGoneError, with_note

T = TypeVar("T")
REFUSED_BY_BROKER = "RefusedByBroker"
MISSING = "TopicNotFound"
TOPIC_SECONDS = 10.0


async def retry_with_fresh_credentials(
    ctx: ReconcileContext, found: FoundPolicy, broker: Broker, ask: Callable[[Broker], Awaitable[T]]
) -> T:
    """Return the result of `ask`; if the broker rejects the credentials, retry with those that the Secret now has."""
    try:
        return await ask(broker)
    except (BrokerUnauthorizedError, VersionGoneError) as error:
        # Somebody may have put a fresh token or certificate into the Secret.
        with with_note(error.gone if isinstance(error, VersionGoneError) else None):
            fresh = await ctx.brokers.of(found.resource, anew=True)
            if fresh is not None and fresh is not broker:
                return await ask(fresh)
        raise


async def gather_state(
    ctx: ReconcileContext, broker: Broker, found: FoundPolicy, resource: TopicSchema, query: BrokerQuery
) -> BrokerState:
    """Return the state of the resource's topic; raise StalledAtBrokerError, and the errors of `fetch`.

    Where the topic's own settings are not told, what was seen before is not forgotten: VersionGoneError.
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


def may_write(found: FoundPolicy, resource: TopicSchema) -> bool:
    """Whether the broker is to be changed, or only observed."""
    wishes = (found.resource.spec.management_policy, resource.spec.management_policy)
    return ManagementPolicy.OBSERVE not in wishes


def lost(key: TopicKey, found: HistoryLost) -> StalledAtBrokerError:
    """What is told of a history that the broker lost: whatever came now would get numbers that mean others."""
    return StalledAtBrokerError(
        "HistoryLost",
        f"the broker {found.why}, which topic {key.topic} had: schemas go with a forced delete or their topic (an "
        "idle one goes by itself); nothing is uploaded. Put them back in order from the record "
        f"{key.history_name} (`topicschema export`, docs/broker.md), or delete that SchemaHistory to begin anew with "
        "what the broker has; where it has nothing, delete this resource, too, and create it anew",
    )


def _check_not_older_than_status(resource: TopicSchema, history: History, found: Alignment) -> None:
    """A status is written after the record: what it tells of was there, at the broker and on record."""
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
    """Whether schemas come on record that somebody else registered before this topic was governed.

    What is equal to the candidate is none of them, nor what was uploaded from here before a crash.
    """
    if not isinstance(seen.alignment, HistoryBehind) or query.history.counted:
        return False
    if query.history.entries and not seen.alignment.is_recount:
        return False
    wanted = None if query.schema is None else query.schema.fingerprint
    return any(each.origin is Origin.BROKER and each.fingerprint != wanted for each in seen.alignment.arrived)


async def _overrides(broker: Broker, spec: TopicSchemaSpec, query: BrokerQuery) -> Overrides | None:
    """The topic's own settings, asked for where the resource or the record tells of any, and before any version counts.

    What others set there later is not looked for: it would double what a look costs. Nor does it matter what is on
    record where the broker has switched such settings off and none is wanted: then it judges by none.
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
    """The strategy that the topic has before the first of its versions is taken over; None where it is not told."""
    try:
        strategy = await broker.topic_strategy(topic, domain)
    except (TopicNotFoundError, BrokerForbiddenError, RefusedByBrokerError):
        return None
    return None if strategy is None else Overrides(TopicSettings(), TopicSettings(strategy))


async def topic_settings(broker: Broker, topic: Topic, domain: str) -> TopicSettings | None:
    """The topic's own settings; None where the topic does not exist."""
    try:
        return await broker.topic_settings(topic, domain)
    except TopicNotFoundError:
        return None


def refusal_of_record(overrides: Overrides | None, what: str, why: str) -> TopicSchemaError:
    """Return the error for a version on record that the broker refused: it waits for a topic to have its strategy."""
    if overrides is None or not overrides.lacks_strategy:
        afterwards = f"until it has the record, then what it was, or {Strategy.UNDEFINED} for none"
        advice = f"set {Setting.STRATEGY}: {Strategy.ALWAYS_COMPATIBLE} {afterwards}"
        return StalledError(REFUSED_BY_BROKER, f"{what}; {advice}: {why}")
    told = (
        "the topic does not exist at the broker, and until its first producer or consumer creates it, its own strategy "
        f"cannot be written, without which {what}: {why}"
    )
    return WaitingError(MISSING, told, TOPIC_SECONDS)
