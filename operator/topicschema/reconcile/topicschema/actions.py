"""All writes of a TopicSchema's reconcile except its status. `broker_actions` has those at the broker.

Every write has a precondition: compare-and-swap for the history, the resourceVersion or UID for the resource.
"""

from dataclasses import replace

from topicschema import telemetry
from topicschema.api import FINALIZER
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.api.metadata import Metadata
from topicschema.core import plan
from topicschema.core.alignment import InSync
from topicschema.core.errors import TopicSchemaError
from topicschema.core.history import History, Origin
from topicschema.core.overrides import RecordSettings, WriteSettings
from topicschema.core.schemas import SchemaInfo
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.event_router import history_key
from topicschema.reconcile.runtime.status_apply import ERRORS_WITHOUT_STATUS
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.topicschema.broker_actions import apply_at_broker, at_broker
from topicschema.reconcile.topicschema.gather import Judged, Loaded
from topicschema.reconcile.topicschema.imported_versions import store_imported_versions
from topicschema.reconcile.validation import actions as validation_actions

FINALIZER_MANAGER = "topicschema-finalizer"


async def apply(ctx: ReconcileContext, judged: Judged, action: plan.Action) -> Loaded | None:
    """Apply `action`. Return the new state if it is certain, or None if it must be read again.

    After a compare-and-swap, the history is the written one. Raise ConflictError if another client wrote first.
    """
    loaded = judged.loaded
    match action:
        case plan.AddFinalizer() | plan.RemoveFinalizer():
            await _mark(ctx, loaded.resource.metadata, action)
            return None
        case plan.Claim() | plan.Register() | RecordSettings():
            return await _record(ctx, judged, action)
        case plan.Import():
            return await _import(ctx, loaded, action)
        case plan.Upload() | plan.UploadRecorded() | WriteSettings():
            return await apply_at_broker(ctx, loaded, action)
        case plan.StartValidation() | plan.StopValidation():
            return await _validate(ctx, judged, action)


async def _validate(
    ctx: ReconcileContext, judged: Judged, action: plan.StartValidation | plan.StopValidation
) -> Loaded:
    """Start or delete validation Jobs. An error fails the validation, but not the topic."""
    loaded, validation = judged.loaded, judged.validation
    if validation is None:
        raise TypeError("an action of a validation that was not gathered")
    try:
        if isinstance(action, plan.StartValidation):
            await validation_actions.create_job(ctx, loaded.resource, validation)
        else:
            await validation_actions.delete_jobs(ctx, validation.obsolete_jobs)
    except ERRORS_WITHOUT_STATUS:
        raise
    except TopicSchemaError as error:
        if validation.run is None:
            raise  # the status must still name the run, or nothing would end it
        is_start = isinstance(action, plan.StartValidation)
        what = "its Job cannot be made" if is_start else "a Job of another question cannot be ended"
        return replace(loaded, job_error=(what, error))
    return loaded


async def _record(ctx: ReconcileContext, judged: Judged, action: plan.Claim | plan.Register | RecordSettings) -> Loaded:
    """Write the history with the claim, the new version or the settings. Return the new state."""
    loaded, history, schema = judged.loaded, judged.loaded.stored.history, judged.loaded.schema
    match action:
        case plan.Claim(owner):
            return await _put(ctx, loaded, _with_source(judged).claimed_by(owner))
        case plan.Register(owner):
            history = history.with_version(schema, Origin.SPEC, ctx.now(), loaded.source_hash)
            after = await _put(ctx, loaded, history.parsed_by(loaded.line).claimed_by(owner), (schema.info,))
            telemetry.REGISTERED.inc()
            return after
        case RecordSettings(noted):
            state = None if loaded.state is None else loaded.state.with_settings_record(noted)
            return replace(await _put(ctx, loaded, replace(history, topic_settings=noted)), state=state)


async def _import(ctx: ReconcileContext, loaded: Loaded, action: plan.Import) -> Loaded:
    """Store the versions of the broker: first all payloads, then the history, which makes them valid."""
    broker, state = at_broker(loaded)
    payloads: tuple[SchemaInfo, ...] = ()
    if [(action.history.incarnation, *each.identity) for each in action.new_versions] != [loaded.announced]:
        payloads = await store_imported_versions(ctx.storage, broker, loaded.query, state, action)
    after = await _put(ctx, loaded, action.history, payloads)
    telemetry.REGISTERED.inc(sum(entry.origin is Origin.SPEC for entry in action.new_versions))
    state = replace(state, alignment=InSync(), payloads={}).with_settings_record(action.history.topic_settings)
    # The resource's schema may depend on the history: sources that were compiled before, or an empty STRING text.
    schema = await ctx.judge.schema_of(loaded.resource.spec, loaded.line, after.stored.history)
    return replace(after, state=state, schema=schema)


async def _put(
    ctx: ReconcileContext, loaded: Loaded, history: History, payloads: tuple[SchemaInfo, ...] = ()
) -> Loaded:
    """Write the history by compare-and-swap, and record its event as the operator's own."""
    metadata = loaded.resource.metadata
    record = history_key(history.key.history_name)
    topic = Key(TOPIC_SCHEMA.plural, metadata.namespace, metadata.name)
    is_newest_ours = bool(history.entries) and history.entries[-1].origin is Origin.SPEC
    with ctx.own_writes.suppress(record, lambda: ctx.enqueue(topic, 0.0)):
        sources = loaded.source_hash if is_newest_ours else None
        after = await ctx.storage.put(loaded.stored, history, payloads, sources)
        ctx.own_writes.record(record, after.revision)
    return replace(loaded, stored=after)


def _with_source(judged: Judged) -> History:
    """Return the history with the source hash of the verdict's version, so that its sources are not compiled again."""
    history, source_hash, verdict = judged.loaded.stored.history, judged.loaded.source_hash, judged.verdict
    if source_hash is None or verdict is None or verdict.schema_version is None:
        return history
    return history.with_source(verdict.schema_version, source_hash)


async def _mark(ctx: ReconcileContext, metadata: Metadata, action: plan.AddFinalizer | plan.RemoveFinalizer) -> None:
    if isinstance(action, plan.AddFinalizer):
        await _add_finalizer(ctx, metadata)
    else:
        await remove_finalizer(ctx, metadata)


async def _add_finalizer(ctx: ReconcileContext, metadata: Metadata) -> None:
    # Server-side apply retains other finalizers. Without the uid, it would create an object that was deleted.
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
    """Remove the operator's finalizer, also if another field manager owns it.

    Raise ConflictError if the resource changed.
    """
    rest = [finalizer for finalizer in metadata.finalizers if finalizer != FINALIZER]
    body = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": rest}}
    await ctx.client.patch(TOPIC_SCHEMA, metadata.namespace, metadata.name, body)
