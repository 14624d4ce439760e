"""All writes of a TopicSchema's reconcile except its status. `broker_actions` has those at the broker.

Every write has a precondition: compare-and-swap for the history, the resourceVersion or UID for the resource.
"""

import time
from dataclasses import replace
from typing import Final

from topicschema import telemetry
from topicschema.api import FINALIZER
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.api.metadata import Metadata
from topicschema.broker.broker import Broker
from topicschema.broker.errors import BrokerUnavailableError
from topicschema.core import plan
from topicschema.core.alignment import InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.errors import TopicSchemaError
from topicschema.core.history import History, Origin
from topicschema.core.schemas import SchemaInfo
from topicschema.core.topic_settings import RecordSettings, WriteSettings
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.status_writer import ERRORS_WITHOUT_STATUS
from topicschema.reconcile.topicschema.broker_actions import apply_at_broker, at_broker
from topicschema.reconcile.topicschema.broker_fetch import BrokerQuery, schema_of
from topicschema.reconcile.topicschema.gather import Judged, Loaded
from topicschema.reconcile.validation import actions as validation_actions
from topicschema.storage.payloads import weight
from topicschema.storage.protocol import SchemaStorage

FINALIZER_MANAGER = "topicschema-finalizer"
_BATCH_BYTES: Final = 1 << 20
_IMPORT_TIMEOUT: Final = 1800.0  # seconds: half of the time after which payloads that no history names are collected


async def apply(ctx: ReconcileContext, judged: Judged, action: plan.Action) -> Loaded | None:
    """Apply `action`. Return the new state if it is certain, or None if it must be read again.

    After a compare-and-swap, the history is the written one. Raise ConflictError if another client wrote first.
    """
    loaded = judged.loaded
    match action:
        case plan.AddFinalizer():
            await _add_finalizer(ctx, loaded.resource.metadata)
            return None
        case plan.RemoveFinalizer():
            await remove_finalizer(ctx, loaded.resource.metadata)
            return None
        case plan.Claim() | plan.Register() | RecordSettings():
            return await _record(ctx, judged, action)
        case plan.Import():
            return await _import(ctx, loaded, action)
        case plan.Upload() | plan.UploadRecorded() | WriteSettings():
            return await apply_at_broker(ctx, loaded, action)
        case plan.CreateValidationJob() | plan.DeleteObsoleteJobs():
            return await _validate(ctx, judged, action)


async def _validate(
    ctx: ReconcileContext, judged: Judged, action: plan.CreateValidationJob | plan.DeleteObsoleteJobs
) -> Loaded:
    """Create or delete validation Jobs. An error fails the validation, but not the topic."""
    loaded, validation = judged.loaded, judged.validation
    if validation is None:
        raise TypeError("an action of a validation that was not gathered")
    try:
        if isinstance(action, plan.CreateValidationJob):
            await validation_actions.create_job(ctx, loaded.resource, validation)
        else:
            await validation_actions.delete_jobs(ctx, validation.obsolete_jobs)
    except ERRORS_WITHOUT_STATUS:
        raise
    except TopicSchemaError as error:
        if validation.run is None:
            raise  # the status must still name the run, or nothing would end it
        is_creation = isinstance(action, plan.CreateValidationJob)
        what = "its Job cannot be created" if is_creation else "a Job of another request cannot be deleted"
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
            after = await _put(ctx, loaded, history.parsed_by(loaded.pulsar_version).claimed_by(owner), (schema.info,))
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
        payloads = await _store_imported_versions(ctx.storage, broker, loaded.query, state, action)
    after = await _put(ctx, loaded, action.history, payloads)
    telemetry.REGISTERED.inc(sum(entry.origin is Origin.SPEC for entry in action.new_versions))
    state = replace(state, alignment=InSync(), payloads={}).with_settings_record(action.history.topic_settings)
    # The resource's schema may depend on the history: sources that were compiled before, or an empty STRING text.
    schema = await ctx.judge.schema_of(loaded.resource.spec, loaded.pulsar_version, after.stored.history)
    return replace(after, state=state, schema=schema)


async def _store_imported_versions(
    storage: SchemaStorage, broker: Broker, query: BrokerQuery, state: BrokerState, action: plan.Import
) -> tuple[SchemaInfo, ...]:
    """Write the payloads of the arrived versions in batches. Return the last ones, to be written with the history.

    Raise BrokerInconsistentError if the broker does not serve one any more. Raise BrokerUnavailableError if it is so
    slow that the first ones might be collected before the history names them.
    """
    if not action.new_versions:
        return ()
    deadline, batch, available = time.monotonic() + _IMPORT_TIMEOUT, [], _BATCH_BYTES
    for entry in action.new_versions[:-1]:
        info = await schema_of(storage, broker, query, state, entry)
        batch.append((entry, info))
        available -= weight(info)
        if available <= 0:
            await storage.keep(action.history, batch)
            batch, available = [], _BATCH_BYTES
        if time.monotonic() > deadline:
            raise BrokerUnavailableError(
                f"the broker did not return {len(action.new_versions)} versions within {_IMPORT_TIMEOUT:.0f} s"
            )
    newest = await schema_of(storage, broker, query, state, action.new_versions[-1])
    return (*(info for _, info in batch), newest)


async def _put(
    ctx: ReconcileContext, loaded: Loaded, history: History, payloads: tuple[SchemaInfo, ...] = ()
) -> Loaded:
    """Write the history by compare-and-swap."""
    is_newest_ours = bool(history.entries) and history.entries[-1].origin is Origin.SPEC
    sources = loaded.source_hash if is_newest_ours else None
    return replace(loaded, stored=await ctx.storage.put(loaded.stored, history, payloads, sources))


def _with_source(judged: Judged) -> History:
    """Return the history with the source hash of the verdict's version, so that its sources are not compiled again."""
    history, source_hash, verdict = judged.loaded.stored.history, judged.loaded.source_hash, judged.verdict
    if source_hash is None or verdict is None or verdict.schema_version is None:
        return history
    return history.with_source(verdict.schema_version, source_hash)


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
