"""The deletion of a TopicSchema: the reads of its history and its broker, and the reason to release it.

With deletionPolicy Delete the schemas go with it, first those at the broker, then the history. If that is not possible,
the resource is released as with Retain: a broker that cannot be reached any more must not block a namespace. So it is
if the CRD is being deleted: that is no request to delete each topic's schemas.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from topicschema.api import FINALIZER, SKIP_BROKER_DELETE_ANNOTATION
from topicschema.api.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, SCHEMA_HISTORY, TOPIC_SCHEMA, Kind
from topicschema.api.metadata import Metadata
from topicschema.api.topicschemas import DeletionPolicy, TopicSchema, TopicSchemaSpec
from topicschema.api.wire import decode
from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    BrokerForbiddenError,
    NamespaceNotFoundError,
    RefusedByBrokerError,
    TenantNotFoundError,
)
from topicschema.cluster.errors import NotFoundError
from topicschema.core import plan
from topicschema.core.alignment import Ahead, Aligned, Alignment, Behind, Lost
from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.history import Counter, History, Origin, Setting, TopicSettingsRecord
from topicschema.core.overrides import Overrides
from topicschema.core.remote import TopicSettings
from topicschema.core.schemas import PulsarLine
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.judging.policies import FoundPolicy
from topicschema.reconcile import status_writer
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.topicschema.broker_state import BrokerQuery, BrokerState, fetch
from topicschema.reconcile.topicschema.broker_view import (
    BrokerView,
    may_write,
    retry_with_fresh_credentials,
    topic_settings,
)
from topicschema.reconcile.topicschema.observe import Observation, owner_of
from topicschema.storage.claims import KnownKeys
from topicschema.storage.protocol import Stored

RELEASED = "DeletionSkipped"
"""The reason of the Event."""
RETAINED = "SettingRetained"
"""The reason of the Event about a topic's own settings."""
_UNKNOWN = "a PulsarNamespaceClaim on record cannot be read, and no record is known to be this resource's"
_GOVERNED_ELSEWHERE = "another policy governs its topic by now"
# A policy that was deleted together with its topics may come back within this time. Seconds.
_GRACE = 60.0


async def observe_deletion(ctx: ReconcileContext, wire: Mapping[str, Any]) -> Observation | None:
    """Return the observation of a resource that is being deleted; None if its spec cannot be read.

    WaitingError while its policy, or its broker, may still come back.
    """
    try:
        resource = decode(TopicSchema, wire)
        topic = Topic.parse(resource.spec.topic)
    except StalledError:
        return None
    known = await ctx.claims.list_keys(topic.pulsar_namespace)
    for key in _possible_keys(ctx, resource.metadata.namespace, topic, known):
        stored = await ctx.storage.get_history(key)
        if stored.history.claim == owner_of(resource.metadata):
            if await _is_governed_elsewhere(ctx, key, resource.metadata.namespace):
                return _without_history(resource, _GOVERNED_ELSEWHERE)
            return await _deleting(ctx, Observation(resource, stored))
    return _without_history(resource, "" if known.are_all else _UNKNOWN)


def _without_history(resource: TopicSchema, why: str) -> Observation:
    """Return the resource without a history of its own; `why` is reported if one was to be deleted."""
    return Observation(resource, released=why if resource.spec.deletion_policy is DeletionPolicy.DELETE else "")


async def emit_released_event(ctx: ReconcileContext, wire: Mapping[str, Any], seen: Observation) -> None:
    """Emit an Event about what stays: for the resource and, as a namespace that ends takes no Events, its history."""
    if not seen.released:
        return
    note = (
        f"{seen.released}; released as with Retain: the schemas of topic {seen.topic} stay at the broker and on record"
    )
    references = [status_writer.object_reference(TOPIC_SCHEMA, wire)]
    if seen.stored is not None:
        with suppress(NotFoundError):
            record = await ctx.client.get(SCHEMA_HISTORY, ctx.namespace, seen.stored.history.key.history_name)
            references.append(status_writer.object_reference(SCHEMA_HISTORY, record))
    for about in references:
        await ctx.events.record(about, "Warning", RELEASED, note, "Delete")


async def emit_settings_retained_event(ctx: ReconcileContext, wire: Mapping[str, Any], seen: Observation) -> None:
    """Emit an Event about the topic's own settings that stay at the broker, before the record of them is deleted."""
    if seen.stored is None or not isinstance(seen.planned[0], plan.DeleteRecord):
        return
    record = seen.stored.history.topic_settings
    retained = [] if record is None else [*_retained_settings(record)]
    if retained:
        note = (
            f"topic {seen.topic} keeps at the broker what was last written for it: {', '.join(retained)}; whoever "
            "wants the one of before sets it there"
        )
        await ctx.events.record(status_writer.object_reference(TOPIC_SCHEMA, wire), "Normal", RETAINED, note, "Delete")


def _retained_settings(record: TopicSettingsRecord) -> Iterator[str]:
    found, stays = record.found, record.stays_written
    if stays.strategy is not None:
        yield f"{Setting.STRATEGY}: {stays.strategy} ({found.strategy or 'none'} before)"
    if stays.enforces_validation is not None:
        enforces, did = (str(bool(each)).lower() for each in (stays.enforces_validation, found.enforces_validation))
        yield f"{Setting.ENFORCEMENT}: {enforces} ({did} before)"


async def _deleting(ctx: ReconcileContext, seen: Observation) -> Observation:
    """The same, with all that deletionPolicy Delete needs to know where it applies."""
    spec, metadata = seen.resource.spec, seen.resource.metadata
    wants_delete = spec.deletion_policy is DeletionPolicy.DELETE and FINALIZER in metadata.finalizers
    if spec.suspend or not wants_delete or seen.stored is None:
        return seen
    if await _is_terminating(ctx, CUSTOM_RESOURCE_DEFINITION, TOPIC_SCHEMA.crd_name):
        return Observation(seen.resource, seen.stored, released="the CRD of TopicSchemas is being deleted")
    return await _at_broker(ctx, seen, seen.stored)


async def _at_broker(ctx: ReconcileContext, seen: Observation, stored: Stored) -> Observation:
    """The same, with what the broker serves where it is to be asked to serve it no more."""
    found = await _policy(ctx, seen)
    is_broker_named = found is not None and found.resource.spec.pulsar is not None
    if not is_broker_named and stored.history.counted_by is Counter.OPERATOR:
        return seen
    released = await _release(ctx, seen.resource.metadata, found)
    if released or found is None:
        return Observation(seen.resource, stored, found, released=released)
    if not may_write(found, seen.resource):
        return Observation(seen.resource, stored, found, released="the broker is only observed")
    broker = await ctx.brokers.of(found.resource)
    if broker is None:
        return seen
    return await retry_with_fresh_credentials(ctx, found, broker, lambda known: _serving(ctx, known, found, seen))


async def _serving(ctx: ReconcileContext, broker: Broker, found: FoundPolicy, seen: Observation) -> Observation:
    """Each soft delete adds a tombstone, and hides all: so it is asked for only where something of ours is served."""
    if seen.stored is None:
        raise TypeError("no record was read")
    is_serving = await broker.latest(seen.topic) is not None
    spec, history = seen.resource.spec, seen.stored.history
    if is_serving:
        is_serving = await _serves_ours(ctx, broker, found.policy.profile.line, spec, history)
    domain = spec.topic.partition("://")[0]
    under_way = await _under_way(broker, history, domain)
    view = BrokerView(broker, BrokerState(Aligned()), domain, overrides=under_way, is_serving=is_serving)
    return Observation(seen.resource, seen.stored, found, view=view)


async def _serves_ours(
    ctx: ReconcileContext, broker: Broker, line: PulsarLine, spec: TopicSchemaSpec, history: History
) -> bool:
    """Whether anything that the broker serves is this resource's.

    WaitingError where only a schema could tell that cannot be had for now: its sources are not compiled.
    """
    schema, unknown = None, None
    # One of others' may be what the spec stands for; or that was uploaded, and a crash kept it from the record.
    try:
        history = await ctx.judge.under(history, line)
        schema = await ctx.judge.schema_of(spec, line, history)
    except StalledError:
        pass
    except WaitingError as error:
        unknown = error
    wanted = "" if schema is None else schema.fingerprint
    is_recorded = history.equal_to(wanted) is not None
    there = await fetch(ctx, broker, BrokerQuery(history, line, None if is_recorded else schema))
    is_ours = _has_ours(there.alignment, history, wanted)
    if unknown is not None and not is_ours:
        raise unknown
    return is_ours


async def _under_way(broker: Broker, history: History, domain: str) -> Overrides | None:
    """The topic's settings where a change of them is to be put back; None where none is, or they are not told."""
    record = history.topic_settings
    if record is None or record.pending is None:
        return None
    with suppress(BrokerForbiddenError, RefusedByBrokerError, TenantNotFoundError, NamespaceNotFoundError):
        return Overrides(TopicSettings(), await topic_settings(broker, history.key.topic, domain), record)
    return None


def _has_ours(there: Alignment, history: History, wanted: str) -> bool:
    """Whether the broker serves anything of ours on record, or what was uploaded since: never is only others' hidden.

    Of what came from elsewhere, the version with the fingerprint `wanted` alone is ours. Others' alone may be there
    after a soft delete of ours, too, whose answer was never read.
    """
    match there:
        case Lost():
            return False
        case Behind(history=after, arrived=arrived):
            has_come = any(entry.fingerprint == wanted for entry in arrived) and history.equal_to(wanted) is None
            served = after.trimmed
        case Ahead(missing):
            has_come, served = False, replace(history, entries=history.entries[: -len(missing)]).trimmed
        case Aligned():
            has_come, served = False, history.trimmed
    ours = (entry for entry in history.entries if entry.origin is not Origin.BROKER or entry.fingerprint == wanted)
    signs = {entry.sign for entry in ours}
    return has_come or any(entry.sign in signs for entry in served)


async def _policy(ctx: ReconcileContext, seen: Observation) -> FoundPolicy | None:
    try:
        return await ctx.policies.find(seen.resource.metadata.namespace, seen.topic.pulsar_namespace)
    except (StalledError, WaitingError) as error:
        if error.reason in ("PolicyNotFound", "ClaimNotAllowed", "TopicAlreadyClaimed"):
            return None
        raise


async def _release(ctx: ReconcileContext, metadata: Metadata, found: FoundPolicy | None) -> str:
    """Why the broker is left as it is, or ""; WaitingError(PolicyNotFound) for a minute without a policy.

    The minute begins when a pass first finds none, however long the resource has been waiting for its end.
    """
    key = Key(TOPIC_SCHEMA.plural, metadata.namespace, metadata.name)
    if found is not None:
        ctx.index.clear_without_policy(key)
    if metadata.annotations.get(SKIP_BROKER_DELETE_ANNOTATION) == "true":
        return f"the annotation {SKIP_BROKER_DELETE_ANNOTATION} gives up"
    if await _is_terminating(ctx, NAMESPACE, metadata.namespace):
        return "its Kubernetes namespace is being deleted"
    if found is not None:
        return "" if found.resource.spec.pulsar is not None else "its policy names no broker any more"
    now = ctx.clock()
    left = _GRACE - (now - ctx.index.since_without_policy(key, now))
    if left <= 0:
        return "no policy governs its topic any more"
    ctx.enqueue(key, left)
    message = f"no policy governs its topic: without one within {_GRACE:g} seconds the broker is left as it is"
    raise WaitingError("PolicyNotFound", message, after=_GRACE)


async def _is_terminating(ctx: ReconcileContext, kind: Kind, name: str) -> bool:
    try:
        wire = await ctx.client.get(kind, "", name)
    except NotFoundError:
        return True
    return decode(Metadata, wire.get("metadata")).deletion_timestamp is not None


def _possible_keys(ctx: ReconcileContext, namespace: str, topic: Topic, known: KnownKeys) -> Iterator[TopicKey]:
    # Not by the policy alone: a namespace that is deleted may lose its policy before its topics.
    expected = ctx.policies.expected_key(namespace, topic)
    if expected is not None:
        yield expected
    for key in known.keys:
        yield TopicKey(key.pulsar_cluster, topic)


async def _is_governed_elsewhere(ctx: ReconcileContext, key: TopicKey, namespace: str) -> bool:
    # Whoever lost the Pulsar namespace to another tenant has no say in its records any more.
    topic = key.topic
    claim = await ctx.claims.get_claim(PulsarNamespaceKey(key.pulsar_cluster, topic.tenant, topic.namespace))
    return claim.owner is not None and claim.owner.namespace != namespace
