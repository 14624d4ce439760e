"""The view of a TopicSchema's broker, and whether it may be written; the errors that end a reconcile here.

`broker_state` reads from the broker, `broker_actions` writes to it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TypeVar

from topicschema.api.brokers import AdoptionPolicy, ManagementPolicy
from topicschema.api.topicschemas import TopicSchema
from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerUnauthorizedError,
    RefusedByBrokerError,
    TopicNotFoundError,
)
from topicschema.core import plan
from topicschema.core.alignment import Ahead, Alignment, Behind, Lost
from topicschema.core.errors import StalledAtBrokerError, StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import History, Origin, Setting
from topicschema.core.overrides import Overrides, noting
from topicschema.core.remote import TopicSettings
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic, TopicKey
from topicschema.judging.policies import FoundPolicy
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.conditions import MESSAGE_BYTES, capped
from topicschema.reconcile.topicschema.broker_state import BrokerQuery, BrokerState, fetch
from topicschema.reconcile.topicschema.losses import VersionGoneError, with_note

T = TypeVar("T")
REFUSED = "RefusedByBroker"
_MISSING = "TopicNotFound"
_TOPIC_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class BrokerView:
    """The view of a topic at its broker. `refused` is the error with which the broker refused the candidate."""

    broker: Broker
    state: BrokerState
    domain: str = "persistent"
    may_write: bool = True
    overrides: Overrides | None = None
    refused: TopicSchemaError | None = None
    is_serving: bool = False

    def after(self, found: BrokerState) -> "BrokerView":
        """Return the view with another state; a history that grows has the topic's own strategy from then on, too."""
        if self.overrides is not None and isinstance(found.alignment, Behind):
            history = noting(found.alignment.history, self.overrides)
            found = replace(found, alignment=replace(found.alignment, history=history))
        return replace(self, state=found)

    @property
    def remote(self) -> plan.Remote:
        """The same in the plan's words."""
        return plan.Remote(
            alignment=self.state.alignment,
            may_write=self.may_write,
            overrides=self.overrides,
            is_refused=self.refused is not None,
            is_serving=self.is_serving,
        )

    @property
    def left_behind(self) -> Strategy | None:
        """The topic's own strategy at the broker, where the resource leaves it as it is."""
        return None if self.overrides is None else self.overrides.left_behind

    @property
    def left_enforced(self) -> bool:
        """Whether enforcement that was once written for the topic stays there, though no field manages it."""
        return self.overrides is not None and self.overrides.left_enforced

    @property
    def lacks(self) -> int | None:
        """The first version on record that the broker has not got."""
        found = self.state.alignment
        return found.missing[0].schema_version if isinstance(found, Ahead) else None

    def stopped(self, topic: Topic) -> TopicSchemaError | None:
        """Why a schema that was judged to pass is not settled; None where nothing stands in the way."""
        if self.refused is not None or self.overrides is None or not self.overrides.waits_for_topic:
            return self.refused
        message = (
            f"topic {topic} does not exist at the broker, and its own settings can only be written once it does; the "
            "operator creates no topics: the first producer or consumer does"
        )
        return WaitingError(_MISSING, message, _TOPIC_SECONDS) if self.may_write else None


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


async def gather_broker(
    ctx: ReconcileContext, broker: Broker, found: FoundPolicy, resource: TopicSchema, query: BrokerQuery
) -> BrokerView:
    """Return what is seen of the resource's topic; raise StalledAtBrokerError, and the errors of `fetch`.

    Where the topic's own settings are not told, what was seen before is not forgotten: VersionGoneError.
    """
    seen = await fetch(ctx, broker, query)
    if isinstance(seen.alignment, Lost):
        raise lost(query.history.key, seen.alignment)
    _check_not_older_than_status(resource, query.history, seen.alignment)
    if resource.spec.adoption_policy is AdoptionPolicy.REFUSE and _adopts(query, seen):
        raise StalledAtBrokerError(
            "AdoptionRefused",
            f"the broker has schemas of topic {query.topic} that are not on record, and adoptionPolicy is Refuse; set "
            "it to Adopt to take them over, or delete them at the broker",
        )
    domain = resource.spec.topic.partition("://")[0]
    with with_note(query.gone_from(seen.alignment)):
        settings = await _overrides(broker, resource, query, domain)
    refused = _refused_before(resource, found, settings)
    return BrokerView(broker, seen, domain, may_write(found, resource), settings, refused).after(seen)


def may_write(found: FoundPolicy, resource: TopicSchema) -> bool:
    """Whether the broker is to be changed, or only observed."""
    wishes = (found.resource.spec.management_policy, resource.spec.management_policy)
    return ManagementPolicy.OBSERVE not in wishes


def lost(key: TopicKey, found: Lost) -> StalledAtBrokerError:
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
    if isinstance(found, Behind) or not history.lacks(status.incarnation, status.version_count):
        return
    if not history.entries:
        told = (
            f"Pulsar cluster {key.pulsar_cluster} has neither a record {key.history_name} nor any schema of it at its "
            "broker: the next would get a number that was given before. Restore that record and its versions; or, "
            "where the cluster had another name before, put them back in order from the record under that one "
            "(`kubectl get schemahistories`, docs/broker.md); or, to begin anew, delete this resource and create it "
            "again"
        )
    elif isinstance(found, Ahead):
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
    if not isinstance(seen.alignment, Behind) or query.history.counted:
        return False
    if query.history.entries and not seen.alignment.is_recount:
        return False
    wanted = None if query.schema is None else query.schema.fingerprint
    return any(each.origin is Origin.BROKER and each.fingerprint != wanted for each in seen.alignment.arrived)


async def _overrides(broker: Broker, resource: TopicSchema, query: BrokerQuery, domain: str) -> Overrides | None:
    """The topic's own settings, asked for where the resource or the record tells of any, and before any version counts.

    What others set there later is not looked for: it would double what a look costs. Nor does it matter what is on
    record where the broker has switched such settings off and none is wanted: then it judges by none.
    """
    spec, record = resource.spec, query.history.topic_settings
    wanted = TopicSettings(spec.schema_compatibility_strategy, spec.schema_validation_enforced)
    if wanted == TopicSettings() and record is None:
        return None if query.history.counted else await _set_by_others(broker, query.topic, domain)
    try:
        return Overrides(wanted, await topic_settings(broker, query.topic, domain), record)
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


def refusal(resource: TopicSchema, found: FoundPolicy | None, message: str) -> StalledError:
    """What is told of a schema that the broker refused; with settings of the topic's own also under which policy.

    For that schema is tried again when it or the policy changes, and not before.
    """
    if found is None or resource.spec.schema_compatibility_strategy is None:
        return StalledError(REFUSED, message)
    return StalledError(REFUSED, capped(message, MESSAGE_BYTES // 2) + _under(found))


def refusal_of_record(
    resource: TopicSchema, found: FoundPolicy, seen: BrokerView, what: str, why: str
) -> TopicSchemaError:
    """What is told of a version on record that the broker refused: it waits for a topic that can have its strategy."""
    if seen.overrides is None or not seen.overrides.lacks_strategy:
        afterwards = f"until it has the record, then what it was, or {Strategy.UNDEFINED} for none"
        advice = f"set {Setting.STRATEGY}: {Strategy.ALWAYS_COMPATIBLE} {afterwards}"
        return refusal(resource, found, f"{what}; {advice}: {why}")
    told = (
        "the topic does not exist at the broker, and until its first producer or consumer creates it, its own strategy "
        f"cannot be written, without which {what}: {why}"
    )
    return WaitingError(_MISSING, capped(told, MESSAGE_BYTES // 2) + _under(found), _TOPIC_SECONDS)


def _under(found: FoundPolicy) -> str:
    policy = found.resource.metadata
    return f" (policy {policy.name}, {policy.uid[:8]}, generation {policy.generation})"


def _refused_before(resource: TopicSchema, found: FoundPolicy, settings: Overrides | None) -> TopicSchemaError | None:
    """What the broker said of this very generation: its topic's settings are not turned to and fro at each look.

    Nor is a version on record, which waits for a topic, sent at each.
    """
    if settings is None or resource.spec.schema_compatibility_strategy is None:
        return None
    for condition in resource.status.conditions:
        is_of_this = condition.observed_generation == resource.metadata.generation
        if not is_of_this or not condition.message.endswith(_under(found)):
            continue
        if condition.reason == REFUSED:
            return StalledError(REFUSED, condition.message)
        if condition.reason == _MISSING and settings.lacks_strategy:
            return WaitingError(_MISSING, condition.message, _TOPIC_SECONDS)
    return None
