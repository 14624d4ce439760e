"""All writes of a pass over a TopicSchema but its status. `broker_actions` makes those at the broker.

Every write stands on what was read: the history by compare-and-swap, the resource by its resourceVersion or uid.
"""

from dataclasses import replace

from topicschema import telemetry
from topicschema.api import FINALIZER
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.api.metadata import Metadata
from topicschema.core import plan
from topicschema.core.alignment import Aligned
from topicschema.core.errors import TopicSchemaError
from topicschema.core.history import History, Origin
from topicschema.core.overrides import NoteSettings, WriteSettings
from topicschema.core.schemas import SchemaInfo
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.event_router import history_key
from topicschema.reconcile.runtime.status_apply import ERRORS_WITHOUT_STATUS
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.topicschema.broker_actions import act_at_broker
from topicschema.reconcile.topicschema.broker_state import BrokerState
from topicschema.reconcile.topicschema.imported_versions import ImportedVersions, store_imported_versions
from topicschema.reconcile.topicschema.observe import Observation, inquired, judged, parsed
from topicschema.reconcile.validation import actions as validation_actions
from topicschema.storage.protocol import Stored

FINALIZER_MANAGER = "topicschema-finalizer"


async def act(ctx: ReconcileContext, seen: Observation, action: plan.Action) -> Observation | None:
    """Carry out `action`; what is seen now where that is certain, None where the object must be read again.

    After a compare-and-swap the history is known to be what was written. ConflictError when somebody else was faster.
    """
    match action:
        case plan.AddFinalizer() | plan.RemoveFinalizer():
            await _mark(ctx, seen.resource.metadata, action)
            return None
        case plan.DeleteRecord():
            await ctx.storage.delete(_stored(seen))
            return replace(seen, stored=None)
        case plan.Upload() | plan.UploadRecorded() | plan.SoftDelete() | WriteSettings():
            return await act_at_broker(ctx, seen, action)
        case plan.StartValidation() | plan.StopValidation():
            return await _validate(ctx, seen, action)
        case plan.Import():
            return await _import(ctx, seen, action)
        case plan.Claim() | plan.Register() | NoteSettings():
            return await _record(ctx, seen, action)


async def _validate(
    ctx: ReconcileContext, seen: Observation, action: plan.StartValidation | plan.StopValidation
) -> Observation:
    """Create the Job that is due, or delete obsolete ones, and gather again. A failure is none of the topic."""
    if seen.validation is None:
        raise TypeError("nothing is validated")
    try:
        if isinstance(action, plan.StartValidation):
            await validation_actions.start_job(ctx, seen.resource, seen.validation)
        else:
            await validation_actions.delete_jobs(ctx, seen.validation.obsolete_jobs)
    except ERRORS_WITHOUT_STATUS:
        raise
    except TopicSchemaError as error:
        if seen.validation.run is None:
            raise  # the status must still name the run, or nothing would end it
        is_start = isinstance(action, plan.StartValidation)
        what = "its Job cannot be made" if is_start else "a Job of another question cannot be ended"
        return replace(seen, validation=seen.validation.rejected(what, error))
    return await inquired(ctx, seen)


async def _record(
    ctx: ReconcileContext, seen: Observation, action: plan.Claim | plan.Register | NoteSettings
) -> Observation:
    """Write the history, with the version that `Register` adds."""
    history = _stored(seen).history
    match action:
        case plan.Claim(owner):
            return await judged(ctx, await _put(ctx, seen, _with_source(seen).claimed_by(owner)))
        case plan.Register(owner):
            schema = seen.candidate.schema
            history = history.with_version(schema, Origin.SPEC, ctx.now(), seen.source_hash)
            history = history.parsed_by(seen.line).claimed_by(owner)
            after = await _put(ctx, seen, history, (schema.info,))
            telemetry.REGISTERED.inc()
            return await judged(ctx, after)
        case NoteSettings(noted):
            after = await _put(ctx, seen, replace(history, topic_settings=noted))
            if after.view is None or after.view.overrides is None:
                raise TypeError("settings of a topic that was not looked at")
            overrides = replace(after.view.overrides, record=noted)
            return replace(after, view=replace(after.view, overrides=overrides))


async def _import(ctx: ReconcileContext, seen: Observation, action: plan.Import) -> Observation:
    """Put on record what the broker has: all payloads, then the history, which alone makes them count."""
    if seen.view is None:
        raise TypeError("no broker was looked at")
    payloads: tuple[SchemaInfo, ...] = ()
    if [(action.history.incarnation, *each.sign) for each in action.arrived] != [seen.announced]:
        imported = ImportedVersions(seen.view.broker, seen.query, seen.view.state)
        payloads = await store_imported_versions(ctx.storage, imported, action)
    after = await _put(ctx, seen, action.history, payloads)
    telemetry.REGISTERED.inc(sum(entry.origin is Origin.SPEC for entry in action.arrived))
    overrides = seen.view.overrides
    if overrides is not None:
        overrides = replace(overrides, record=action.history.topic_settings)
    after = replace(after, view=replace(seen.view, state=BrokerState(Aligned()), overrides=overrides))
    # What the resource stands for may depend on what is on record: sources that were compiled before, a text of none.
    return await judged(ctx, await parsed(ctx, after))


async def _put(
    ctx: ReconcileContext, seen: Observation, history: History, payloads: tuple[SchemaInfo, ...] = ()
) -> Observation:
    metadata = seen.resource.metadata
    record = history_key(history.key.history_name)
    topic = Key(TOPIC_SCHEMA.plural, metadata.namespace, metadata.name)
    is_newest_ours = bool(history.entries) and history.entries[-1].origin is Origin.SPEC
    with ctx.own_writes.suppress(record, lambda: ctx.enqueue(topic, 0.0)):
        sources = seen.source_hash if is_newest_ours else None
        after = await ctx.storage.put(_stored(seen), history, payloads, sources)
        ctx.own_writes.record(record, after.revision)
    return replace(seen, stored=after)


def _with_source(seen: Observation) -> History:
    """The history that tells what the version found is compiled from, so that no compiler to come makes another."""
    history, source_hash = _stored(seen).history, seen.source_hash
    if source_hash is None or seen.verdict is None or seen.verdict.schema_version is None:
        return history
    return history.with_source(seen.verdict.schema_version, source_hash)


def _stored(seen: Observation) -> Stored:
    if seen.stored is None:
        raise TypeError("an action on a record that was not read")
    return seen.stored


async def _mark(ctx: ReconcileContext, metadata: Metadata, action: plan.AddFinalizer | plan.RemoveFinalizer) -> None:
    if isinstance(action, plan.AddFinalizer):
        await _add_finalizer(ctx, metadata)
    else:
        await remove_finalizer(ctx, metadata)


async def _add_finalizer(ctx: ReconcileContext, metadata: Metadata) -> None:
    # By apply, so that others' finalizers are left alone; the uid, or an object that is gone would be created.
    body = {
        "apiVersion": TOPIC_SCHEMA.api_version,
        "kind": TOPIC_SCHEMA.name,
        "metadata": {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "uid": metadata.uid,
            "finalizers": [FINALIZER],
        },
    }
    await ctx.client.apply(TOPIC_SCHEMA, metadata.namespace, metadata.name, body, field_manager=FINALIZER_MANAGER)


async def remove_finalizer(ctx: ReconcileContext, metadata: Metadata) -> None:
    """Take our finalizer off the resource, whoever else put it there too; ConflictError when the resource moved."""
    rest = [finalizer for finalizer in metadata.finalizers if finalizer != FINALIZER]
    body = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": rest}}
    await ctx.client.patch(TOPIC_SCHEMA, metadata.namespace, metadata.name, body)
