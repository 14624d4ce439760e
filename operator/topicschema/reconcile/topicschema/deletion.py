"""The deletion of a TopicSchema: the reads of its history and its broker, and the reasons to retain its schemas.

With deletionPolicy Delete, the operator deletes the schemas at the broker, and then the history. If the broker is
unavailable, the deletion retries with backoff until the annotation skip-broker-delete is set. If the CRD or the
Kubernetes namespace is being deleted, the schemas stay, because this does not request the deletion of each topic's.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from topicschema.api import FINALIZER, SKIP_BROKER_DELETE_ANNOTATION
from topicschema.api.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, TOPIC_SCHEMA, Kind
from topicschema.api.metadata import Metadata
from topicschema.api.topicschemas import DeletionPolicy, TopicSchema, TopicSchemaSpec
from topicschema.api.wire import decode
from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerInconsistentError,
    NamespaceNotFoundError,
    RefusedByBrokerError,
    TenantNotFoundError,
)
from topicschema.cluster.errors import NotFoundError
from topicschema.cluster.events import object_reference
from topicschema.core import plan
from topicschema.core.alignment import Alignment, HistoryAhead, HistoryBehind, HistoryLost, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.history import History, NumberedBy, Origin, StoredTopicSettings
from topicschema.core.reasons import Category, Reason
from topicschema.core.remote import Setting, TopicSettings
from topicschema.core.schemas import PulsarVersion
from topicschema.core.topic_settings import TopicSettingsState, WriteSettings
from topicschema.core.topics import Topic, TopicKey
from topicschema.judging.policies import ActivePolicy
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.topicschema.act import remove_finalizer
from topicschema.reconcile.topicschema.observe import owner_of
from topicschema.reconcile.topicschema.observe_broker import (
    BrokerQuery,
    fetch,
    may_write,
    retry_with_fresh_credentials,
    topic_settings,
)
from topicschema.storage.protocol import KnownClaims, Stored

"""The reason of the Event about schemas that stay."""
"""The reason of the Event about a topic's own settings."""
_SKIP_ADVICE = f'to retain its schemas and its history, set the annotation {SKIP_BROKER_DELETE_ANNOTATION}: "true"'


@dataclass(frozen=True, slots=True)
class Deletion:
    """A TopicSchema that is being deleted, and the history to delete with it.

    `released` is the reason to delete only the resource, as text for an Event, or "". `broker` and `state` are set if
    the schemas at the broker are to be deleted.
    """

    resource: TopicSchema
    stored: Stored | None = None
    released: str = ""
    broker: Broker | None = None
    state: BrokerState | None = None

    @property
    def topic(self) -> Topic:
        """The topic."""
        return Topic.parse(self.resource.spec.topic)

    @property
    def planned(self) -> plan.DeletionAction:
        """The next action."""
        is_retained = self.stored is None or not self.stored.revision or bool(self.released)
        return plan.plan_deletion(None if is_retained or self.stored is None else self.stored.history, self.state)


async def observe_deletion(ctx: ReconcileContext, wire: Mapping[str, Any]) -> Deletion | None:
    """Return the state for the deletion of a resource, or None if its spec is invalid.

    Raise WaitingError if its schemas cannot be deleted now and the annotation skip-broker-delete is not set.
    """
    try:
        resource = decode(TopicSchema, wire)
        topic = Topic.parse(resource.spec.topic)
    except StalledError:
        return None
    metadata, spec = resource.metadata, resource.spec
    if spec.suspend or spec.deletion_policy is not DeletionPolicy.DELETE or FINALIZER not in metadata.finalizers:
        return Deletion(resource)
    is_skipped = metadata.annotations.get(SKIP_BROKER_DELETE_ANNOTATION) == "true"
    known = await ctx.storage.list_claims(topic.pulsar_namespace)
    for key in _possible_keys(ctx, metadata.namespace, topic, known):
        stored = await ctx.storage.get_history(key)
        if stored.history.claim != owner_of(metadata):
            continue
        if await _is_governed_elsewhere(ctx, key, metadata.namespace):
            return Deletion(resource, released="another policy governs its topic now")
        if await _is_terminating(ctx, CUSTOM_RESOURCE_DEFINITION, TOPIC_SCHEMA.crd_name):
            return Deletion(resource, stored, "the CRD of TopicSchemas is being deleted")
        return await _at_broker(ctx, Deletion(resource, stored), stored, is_skipped=is_skipped)
    if not known.are_all and not is_skipped:
        message = "a claim on a Pulsar namespace cannot be read, and no known history is this resource's"
        raise WaitingError(Reason.HISTORY_DAMAGED, f"{message}; {_SKIP_ADVICE}")
    return Deletion(resource)


async def apply_deletion(ctx: ReconcileContext, deletion: Deletion, action: plan.DeletionAction) -> Deletion | None:
    """Apply `action`. Return the new state, or None after the finalizer is removed."""
    if isinstance(action, plan.RemoveFinalizer):
        await remove_finalizer(ctx, deletion.resource.metadata)
        return None
    if isinstance(action, plan.SoftDelete | WriteSettings):
        return await _apply_at_broker(deletion, action)
    if deletion.stored is None:
        raise TypeError("the deletion of a history that was not read")
    after = deletion.stored.history.after_deletion()
    if after.deleted:
        await ctx.storage.put(deletion.stored, after)
    else:
        await ctx.storage.delete(deletion.stored)
    return replace(deletion, stored=None)


async def _apply_at_broker(deletion: Deletion, action: plan.SoftDelete | WriteSettings) -> Deletion:
    broker, state, topic = deletion.broker, deletion.state, deletion.topic
    if broker is None or state is None:
        raise TypeError("an action at a broker that was not observed")
    if isinstance(action, WriteSettings):
        await broker.set_topic(topic, deletion.resource.spec.domain, action.settings)
        return replace(deletion, state=state.with_settings(action.settings))
    await broker.soft_delete(topic)
    if await broker.latest(topic) is not None:
        raise BrokerInconsistentError("the broker accepted the deletion of the schema, but still serves it")
    return replace(deletion, state=replace(state, is_serving=False))


async def emit_released_event(ctx: ReconcileContext, wire: Mapping[str, Any], deletion: Deletion) -> None:
    """Emit an Event about schemas that stay, for the resource and for its history.

    A terminating namespace accepts no Events for the resource.
    """
    if not deletion.released:
        return
    note = f"{deletion.released}: the schemas of topic {deletion.topic} and its history stay, as with Retain"
    await ctx.events.record(object_reference(TOPIC_SCHEMA, wire), "Warning", Reason.DELETION_SKIPPED, note, "Delete")
    if deletion.stored is not None:
        await ctx.storage.warn(deletion.stored.history.key, Reason.DELETION_SKIPPED, note)


async def emit_settings_retained_event(ctx: ReconcileContext, wire: Mapping[str, Any], deletion: Deletion) -> None:
    """Emit an Event about the topic's own settings that were not restored, before the history is deleted."""
    if deletion.stored is None or not isinstance(deletion.planned, plan.DeleteHistory):
        return
    if deletion.state is not None and deletion.state.topic_settings is not None:
        return
    stored = deletion.stored.history.topic_settings
    retained = [] if stored is None else [*_retained_settings(stored)]
    if retained:
        note = (
            f"topic {deletion.topic} keeps the settings at the broker that the operator wrote: {', '.join(retained)}; "
            "to restore a former value, set it at the broker"
        )
        await ctx.events.record(object_reference(TOPIC_SCHEMA, wire), "Normal", Reason.SETTING_RETAINED, note, "Delete")


def _retained_settings(stored: StoredTopicSettings) -> Iterator[str]:
    original, stays = stored.original, stored.stays_written
    if stays.strategy is not None:
        yield f"{Setting.STRATEGY}: {stays.strategy} ({original.strategy or 'none'} before)"
    if stays.enforces_validation is not None:
        enforces, did = (str(bool(each)).lower() for each in (stays.enforces_validation, original.enforces_validation))
        yield f"{Setting.ENFORCEMENT}: {enforces} ({did} before)"


async def _at_broker(ctx: ReconcileContext, deletion: Deletion, stored: Stored, *, is_skipped: bool) -> Deletion:
    """Return the deletion with the state at the broker, or with the reason to leave the broker unchanged.

    Raise WaitingError(PolicyNotFound) if no policy names a broker.
    """
    governing = await _policy(ctx, deletion)
    if governing is not None and not governing.policy.constraints.allows_deletion:
        why = f"policy {governing.resource.metadata.name} allows no deletionPolicy Delete (allowedDeletionPolicies)"
        return replace(deletion, released=why)
    names_broker = governing is not None and governing.resource.has_broker
    if not names_broker and stored.history.numbered_by is NumberedBy.OPERATOR:
        return deletion
    if is_skipped:
        return replace(deletion, released=f"the annotation {SKIP_BROKER_DELETE_ANNOTATION} is set")
    if await _is_terminating(ctx, NAMESPACE, deletion.resource.metadata.namespace):
        return replace(deletion, released="its Kubernetes namespace is being deleted")
    broker = None if governing is None else await ctx.broker_of(governing.resource)
    if governing is None or broker is None:
        raise WaitingError(
            Reason.POLICY_NOT_FOUND, f"no policy names a broker of topic {deletion.topic}; {_SKIP_ADVICE}"
        )
    if not may_write(governing):
        return replace(deletion, released="managementPolicy is Observe")

    async def read(known: Broker) -> Deletion:
        state = await _serving(ctx, known, governing, deletion.resource.spec, stored.history)
        return replace(deletion, broker=known, state=state)

    return await retry_with_fresh_credentials(ctx, governing, broker, read)


async def _serving(
    ctx: ReconcileContext, broker: Broker, governing: ActivePolicy, spec: TopicSchemaSpec, history: History
) -> BrokerState:
    """Return the state at the broker. `is_serving` is True only if it serves a version of this resource.

    Each soft delete adds a tombstone and hides all versions, so none is sent without need.
    """
    is_serving = await broker.latest(history.key.topic) is not None
    if is_serving:
        is_serving = await _serves_ours(ctx, broker, governing.policy.profile.pulsar_version, spec, history)
    settings = await _topic_settings(broker, history, spec.domain)
    return BrokerState(InSync(), topic_settings=settings, is_serving=is_serving)


async def _serves_ours(
    ctx: ReconcileContext, broker: Broker, pulsar_version: PulsarVersion, spec: TopicSchemaSpec, history: History
) -> bool:
    """Return True if the broker serves a version of this resource.

    Raise WaitingError if this depends on a schema whose sources cannot be compiled now.
    """
    schema, unknown = None, None
    # A version of another client may equal the spec's schema; or the operator crashed after the upload.
    try:
        history = await ctx.judge.for_version(history, pulsar_version)
        schema = await ctx.judge.schema_of(spec, pulsar_version, history)
    except StalledError:
        pass
    except WaitingError as error:
        unknown = error
    candidate = "" if schema is None else schema.fingerprint
    is_recorded = history.equal_to(candidate) is not None
    current = await fetch(ctx, broker, BrokerQuery(history, pulsar_version, None if is_recorded else schema))
    is_ours = _has_ours(current.alignment, history, candidate)
    if unknown is not None and not is_ours:
        raise unknown
    return is_ours


async def _topic_settings(broker: Broker, history: History, domain: str) -> TopicSettingsState | None:
    """Return the topic's settings, or None if the operator wrote none or the broker refuses to read them."""
    stored = history.topic_settings
    if stored is None or stored.written == TopicSettings():
        return None
    with suppress(BrokerForbiddenError, RefusedByBrokerError, TenantNotFoundError, NamespaceNotFoundError):
        return TopicSettingsState(TopicSettings(), await topic_settings(broker, history.key.topic, domain), stored)
    return None


def _has_ours(current: Alignment, history: History, candidate: str) -> bool:
    """Return True if the broker serves a version of the operator that is stored or was uploaded since.

    A version of another client counts only if it has the fingerprint `candidate`. So the versions of other clients are
    not hidden alone. After a soft delete whose answer was lost, the broker may serve only such versions.
    """
    match current:
        case HistoryLost():
            return False
        case HistoryBehind(history=after, new_versions=arrived):
            has_come = any(entry.fingerprint == candidate for entry in arrived) and history.equal_to(candidate) is None
            served = after.active_versions
        case HistoryAhead(missing):
            has_come, served = False, replace(history, entries=history.entries[: -len(missing)]).active_versions
        case InSync():
            has_come, served = False, history.active_versions
    ours = (entry for entry in history.entries if entry.origin is not Origin.BROKER or entry.fingerprint == candidate)
    identities = {entry.identity for entry in ours}
    return has_come or any(entry.identity in identities for entry in served)


async def _policy(ctx: ReconcileContext, deletion: Deletion) -> ActivePolicy | None:
    try:
        return await ctx.policies.resolve(deletion.resource.metadata.namespace, deletion.topic.pulsar_namespace)
    except (StalledError, WaitingError) as error:
        if error.reason.category is Category.UNGOVERNED:
            return None
        raise


async def _is_terminating(ctx: ReconcileContext, kind: Kind, name: str) -> bool:
    try:
        wire = await ctx.client.get(kind, "", name)
    except NotFoundError:
        return True
    return decode(Metadata, wire.get("metadata")).deletion_timestamp is not None


def _possible_keys(ctx: ReconcileContext, namespace: str, topic: Topic, known: KnownClaims) -> Iterator[TopicKey]:
    # Not by the policy alone: a namespace that is deleted may lose its policy before its topics.
    expected = ctx.policies.expected_key(namespace, topic)
    if expected is not None:
        yield expected
    for key in known.keys:
        yield TopicKey(key.registry, topic)


async def _is_governed_elsewhere(ctx: ReconcileContext, key: TopicKey, namespace: str) -> bool:
    # A namespace that lost the Pulsar namespace to another tenant may not delete its histories any more.
    claim = await ctx.storage.get_claim(key.namespace_key)
    return claim.owner is not None and claim.owner.namespace != namespace
