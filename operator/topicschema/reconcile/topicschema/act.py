"""All writes of a TopicSchema's reconcile except its status: to the history, to the resource and to the broker.

Every write has a precondition: compare-and-swap for the history, the resourceVersion or UID for the resource. At the
broker, each write is verified by a read, and no topic is created.
"""

import logging
import time
from dataclasses import replace
from typing import Final

from topicschema import telemetry
from topicschema.api import FINALIZER
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY, TOPIC_SCHEMA
from topicschema.api.metadata import Metadata
from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerInconsistentError,
    BrokerUnavailableError,
    RefusedByBrokerError,
)
from topicschema.cluster.errors import NotLeadingError
from topicschema.core import plan, releases
from topicschema.core.alignment import HistoryAhead, HistoryBehind, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.errors import StalledAtBrokerError, StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import History, Origin, VersionEntry
from topicschema.core.policy import StrategySource, effective_strategy
from topicschema.core.reasons import Reason
from topicschema.core.schemas import SchemaInfo
from topicschema.core.strategies import BY_AUTO_UPDATE_NAME, Strategy
from topicschema.core.topic_settings import StoreSettings, WriteSettings
from topicschema.judging.policies import is_ready
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.status_writer import ERRORS_WITHOUT_STATUS
from topicschema.reconcile.topicschema.observe import Judged, Loaded
from topicschema.reconcile.topicschema.observe_broker import (
    BrokerQuery,
    fetch,
    fetch_after_upload,
    refused_version,
    schema_of,
    topic_settings,
)
from topicschema.reconcile.validation import act as act_on_validation
from topicschema.reconcile.validation.jobs import delete_jobs
from topicschema.storage.payloads import weight
from topicschema.storage.protocol import SchemaStorage

_LOG = logging.getLogger(__name__)
FINALIZER_MANAGER = "topicschema-finalizer"
_BATCH_BYTES: Final = 1 << 20
_IMPORT_TIMEOUT: Final = 1800.0  # seconds: half of the time after which payloads that no history names are collected

BrokerAction = plan.Upload | plan.UploadMissing | WriteSettings


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
        case plan.ClaimTopic() | plan.Register() | StoreSettings():
            return await _record(ctx, judged, action)
        case plan.Import():
            return await _import(ctx, loaded, action)
        case plan.Upload() | plan.UploadMissing() | WriteSettings():
            return await _apply_at_broker(ctx, loaded, action)
        case plan.CreateValidationJob() | plan.DeleteObsoleteJobs():
            return await _validate(ctx, judged, action)


async def _validate(
    ctx: ReconcileContext, judged: Judged, action: plan.CreateValidationJob | plan.DeleteObsoleteJobs
) -> Loaded:
    """Create or delete validation Jobs. An error fails the validation, but not the topic."""
    loaded, validation = judged.loaded, judged.validation
    if validation is None:
        raise TypeError("an action of a validation that was not observed")
    try:
        if isinstance(action, plan.CreateValidationJob):
            await act_on_validation.create_job(ctx, loaded.resource, validation)
        else:
            await delete_jobs(ctx, validation.obsolete_jobs)
    except ERRORS_WITHOUT_STATUS:
        raise
    except TopicSchemaError as error:
        if validation.run is None:
            raise  # the status must still name the run, or nothing would end it
        is_creation = isinstance(action, plan.CreateValidationJob)
        what = "its Job cannot be created" if is_creation else "a Job of another request cannot be deleted"
        return replace(loaded, job_error=(what, error))
    return loaded


async def _record(
    ctx: ReconcileContext, judged: Judged, action: plan.ClaimTopic | plan.Register | StoreSettings
) -> Loaded:
    """Write the history with the claim, the new version or the settings. Return the new state."""
    loaded, history, schema = judged.loaded, judged.loaded.stored.history, judged.loaded.schema
    match action:
        case plan.ClaimTopic(owner):
            return await _put(ctx, loaded, _with_source(judged).claimed_by(owner))
        case plan.Register(owner):
            history = history.with_version(schema, Origin.SPEC, ctx.now(), loaded.source_hash)
            after = await _put(ctx, loaded, history.parsed_by(loaded.pulsar_version).claimed_by(owner), (schema.info,))
            telemetry.REGISTERED.inc()
            return after
        case StoreSettings(noted):
            state = None if loaded.state is None else loaded.state.with_stored_settings(noted)
            return replace(await _put(ctx, loaded, replace(history, topic_settings=noted)), state=state)


async def _import(ctx: ReconcileContext, loaded: Loaded, action: plan.Import) -> Loaded:
    """Store the versions of the broker: first all payloads, then the history, which makes them valid."""
    broker, state = _at_broker(loaded)
    payloads: tuple[SchemaInfo, ...] = ()
    if [(action.history.incarnation, *each.identity) for each in action.new_versions] != [loaded.announced]:
        payloads = await _store_imported_versions(ctx.storage, broker, loaded.query, state, action)
    after = await _put(ctx, loaded, action.history, payloads)
    telemetry.REGISTERED.inc(sum(entry.origin is Origin.SPEC for entry in action.new_versions))
    state = replace(state, alignment=InSync(), payloads={}).with_stored_settings(action.history.topic_settings)
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


def _at_broker(loaded: Loaded) -> tuple[Broker, BrokerState]:
    """Return broker and state of a topic whose policy names a broker. `plan` has actions for no other topic."""
    if loaded.broker is None or loaded.state is None:
        raise TypeError("an action at a broker that was not observed")
    return loaded.broker, loaded.state


async def _apply_at_broker(ctx: ReconcileContext, loaded: Loaded, action: BrokerAction) -> Loaded | None:
    """Apply `action`. Return the new state, or None if it must be read again. Raise `broker.errors`."""
    match action:
        case plan.Upload():
            return await _upload(ctx, loaded)
        case plan.UploadMissing(missing):
            return await _upload_missing(ctx, loaded, missing)
        case WriteSettings(settings):
            broker, state = _at_broker(loaded)
            await broker.set_topic(loaded.topic, loaded.resource.spec.domain, settings)
            return replace(loaded, state=state.with_settings(settings))


async def _upload(ctx: ReconcileContext, loaded: Loaded) -> Loaded | None:
    loaded = await _announce(ctx, loaded)
    (broker, state), query = _at_broker(loaded), loaded.query
    try:
        number = await broker.upload(query.topic, loaded.schema.info)
    except RefusedByBrokerError as error:
        return await _refused(ctx, loaded, error.message)
    fetched = await fetch_after_upload(ctx, broker, query, number)
    if isinstance(fetched.alignment, HistoryBehind):
        return replace(loaded, state=state.after(fetched))
    if not isinstance(fetched.alignment, InSync):
        return None  # another client wrote, too: the next reconcile reports it
    if number >= query.history.next_version:
        message = f"the broker accepted the schema as version {number}, but does not serve it"
        raise BrokerInconsistentError(message)
    message = (
        f"the broker identifies the schema with its version {number}, but the operator's verdict is that they differ"
    )
    return _with_unexpected_refusal(
        loaded, message, f"{message}; use the text of version {number}, or change the schema"
    )


async def _announce(ctx: ReconcileContext, loaded: Loaded) -> Loaded:
    """Store the payload before its upload, so that a later reconcile identifies the broker's version as our own."""
    schema, before = loaded.schema, loaded.stored.history
    if await ctx.storage.is_announced(before, schema.info):
        return loaded  # an earlier upload failed; its payload may be collected, so the import writes it again
    history = before.with_version(schema, Origin.SPEC, ctx.now())
    await ctx.storage.announce(history, schema.info, loaded.source_hash)
    return replace(loaded, announced=(history.incarnation, *history.entries[-1].identity))


async def _refused(ctx: ReconcileContext, loaded: Loaded, why: str) -> Loaded | None:
    """Return the state with the refusal of a compatible schema, or None if the broker's versions have changed."""
    broker, state = _at_broker(loaded)
    fetched = await fetch(ctx, broker, loaded.query)
    if not isinstance(fetched.alignment, InSync):
        return None
    if state.topic_settings is None:
        own = await _own_strategy(broker, loaded)
        if own is not None:
            message = (
                f"the broker refuses the schema: {why}. The topic has its own strategy at the broker, {own}, which the "
                "operator did not set; set schemaCompatibilityStrategy to it, or unset it at the broker"
            )
            return _with_error(loaded, StalledAtBrokerError(Reason.REFUSED_BY_BROKER, message))
    await _wait_for_policy(ctx, loaded, why)
    await _check_version(ctx, loaded, why)
    message = "the broker refuses a schema that passes the operator's check"
    return _with_unexpected_refusal(loaded, message, f"{message}: {why}")


def _with_unexpected_refusal(loaded: Loaded, what: str, message: str) -> Loaded:
    """Count and log a verdict of the broker that differs from the operator's. Return the state with `message`.

    The log has no text of the broker.
    """
    telemetry.INTERNAL_ERRORS.labels("broker").inc()
    metadata = loaded.resource.metadata
    fields = {
        "namespace": metadata.namespace,
        "name": metadata.name,
        "topic": str(loaded.topic),
        "generation": metadata.generation,
        "fingerprint": loaded.candidate.schema.fingerprint,
        "strategy": effective_strategy(loaded.policy, loaded.candidate.strategy).value,
        "pulsarVersion": loaded.pulsar_version,
    }
    _LOG.error("unexpected verdict of the broker: %s", what, extra={"fields": fields})
    return _with_refusal(loaded, message)


async def _check_version(ctx: ReconcileContext, loaded: Loaded, why: str) -> None:
    """Raise WaitingError if the broker is of another Pulsar version now than the schema was judged by.

    The registry's reconcile observes the release, and then enqueues its policies, and these their topics.
    """
    registry = await ctx.registries.get(loaded.governing.resource.spec.registry)
    release = await ctx.brokers.release(registry, _at_broker(loaded)[0])
    if release is None or releases.judging_version(release) is loaded.pulsar_version:
        return
    ctx.enqueue(Key(SCHEMA_REGISTRY.plural, "", registry.metadata.name), 0.0)
    message = (
        f"the broker is {release} now, and the schema was judged by the rules of {loaded.pulsar_version}; it is judged "
        f"again after the reconcile of registry {registry.metadata.name}. The broker's message: {why}"
    )
    raise WaitingError(Reason.REFUSED_BY_BROKER, message)


async def _own_strategy(broker: Broker, loaded: Loaded) -> Strategy | None:
    """Return the topic's own strategy, or None if it has none, or if reading it fails."""
    try:
        own = await topic_settings(broker, loaded.topic, loaded.resource.spec.domain)
    except NotLeadingError:
        raise
    except TopicSchemaError:
        return None
    return None if own is None else own.strategy


async def _wait_for_policy(ctx: ReconcileContext, loaded: Loaded, why: str) -> None:
    """Raise WaitingError if the broker has another strategy of the Pulsar namespace than the policy.

    The policy's reconcile writes its strategy, or observes the broker's, and then enqueues its topics.
    """
    governing, policy = loaded.governing, loaded.policy
    if effective_strategy(policy, loaded.candidate.strategy).source is StrategySource.TOPIC:
        return
    spec, metadata = governing.resource.spec, governing.resource.metadata
    try:
        settings = await _at_broker(loaded)[0].namespace_settings(spec.claim_key)
    except BrokerForbiddenError:
        if is_ready(governing.resource):
            return  # without permission to read the settings, the refusal is final
        message = f"the broker refuses the schema, and policy {metadata.name} could not write its settings yet: {why}"
        raise WaitingError(Reason.REFUSED_BY_BROKER, message) from None
    current = settings.strategy or BY_AUTO_UPDATE_NAME.get(settings.auto_update_strategy or "")
    desired = None if policy.strategy is Strategy.UNDEFINED else policy.strategy
    if current is desired:
        return
    if is_ready(governing.resource):  # else the policy is reconciled anyway
        key = Key(NAMESPACE_SCHEMA_POLICY.plural, metadata.namespace, metadata.name)
        ctx.enqueue(key, 0.0)
    message = (
        f"at the broker {spec.pulsar_namespace} has {_named(current)}, but the schema was judged with "
        f"{_named(desired)}; the reconcile of policy {metadata.name} corrects that. The broker's message: {why}"
    )
    raise WaitingError(Reason.REFUSED_BY_BROKER, message)


def _named(strategy: Strategy | None) -> str:
    return "no strategy of its own" if strategy is None else strategy.value


async def _upload_missing(ctx: ReconcileContext, loaded: Loaded, missing: tuple[VersionEntry, ...]) -> Loaded | None:
    (broker, state), query = _at_broker(loaded), loaded.query
    history = query.history
    for entry in missing:
        info = await ctx.storage.get(history.key, history.incarnation, entry)
        try:
            number = await broker.upload(query.topic, info)
        except RefusedByBrokerError as error:
            await _wait_for_policy(ctx, loaded, error.message)
            what = f"the broker refuses version {entry.schema_version} of the history, which it lacks"
            refused = refused_version(state.topic_settings, what, error.message)
            return _with_error(loaded, refused)
        if number != entry.schema_version:
            break  # another client wrote; `fetch` returns its versions
    fetched = await fetch(ctx, broker, query)
    if isinstance(fetched.alignment, HistoryAhead) and len(fetched.alignment.missing) >= len(missing):
        message = f"the broker accepted version {missing[0].schema_version} of the history, but does not serve it"
        raise BrokerInconsistentError(message)
    return replace(loaded, state=state.after(fetched))


def _with_refusal(loaded: Loaded, message: str) -> Loaded:
    return _with_error(loaded, StalledError(Reason.REFUSED_BY_BROKER, message))


def _with_error(loaded: Loaded, error: TopicSchemaError) -> Loaded:
    return replace(loaded, state=replace(_at_broker(loaded)[1], refused=error))
