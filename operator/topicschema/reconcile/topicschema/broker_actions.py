"""All writes of a TopicSchema's reconcile at the broker: schemas and a topic's own settings. It never creates a topic.

Each write is verified by a read. The history is not written here.
"""

import logging
from dataclasses import replace

from topicschema import telemetry
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerInconsistentError,
    RefusedByBrokerError,
)
from topicschema.cluster.errors import NotLeadingError
from topicschema.core import plan, releases
from topicschema.core.alignment import HistoryAhead, HistoryBehind, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.errors import StalledAtBrokerError, StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import Origin, VersionEntry
from topicschema.core.policy import StrategySource, effective_strategy
from topicschema.core.reasons import Reason
from topicschema.core.strategies import BY_AUTO_UPDATE_NAME, Strategy
from topicschema.core.topic_settings import WriteSettings
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.judging.policies import is_ready
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.topicschema.broker_fetch import fetch, fetch_after_upload
from topicschema.reconcile.topicschema.broker_gather import refused_record, topic_settings
from topicschema.reconcile.topicschema.gather import Loaded

_LOG = logging.getLogger(__name__)

BrokerAction = plan.Upload | plan.UploadRecorded | WriteSettings


def at_broker(loaded: Loaded) -> tuple[Broker, BrokerState]:
    """Return broker and state of a topic whose policy names a broker. `plan` has actions for no other topic."""
    if loaded.broker is None or loaded.state is None:
        raise TypeError("an action at a broker that was not gathered")
    return loaded.broker, loaded.state


async def apply_at_broker(ctx: ReconcileContext, loaded: Loaded, action: BrokerAction) -> Loaded | None:
    """Apply `action`. Return the new state, or None if it must be read again. Raise `broker.errors`."""
    match action:
        case plan.Upload():
            return await _upload(ctx, loaded)
        case plan.UploadRecorded(missing):
            return await _upload_recorded(ctx, loaded, missing)
        case WriteSettings(settings):
            broker, state = at_broker(loaded)
            await broker.set_topic(loaded.topic, loaded.resource.spec.domain, settings)
            return replace(loaded, state=state.with_settings(settings))


async def _upload(ctx: ReconcileContext, loaded: Loaded) -> Loaded | None:
    loaded = await _announce(ctx, loaded)
    (broker, state), query = at_broker(loaded), loaded.query
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
    broker, state = at_broker(loaded)
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

    The policy's reconcile observes the release, and then enqueues its topics.
    """
    resource = loaded.governing.resource
    release = await ctx.brokers.release(resource, at_broker(loaded)[0], refresh=True)
    if release is None or releases.judging_version(release) is loaded.pulsar_version:
        return
    ctx.enqueue(Key(NAMESPACE_SCHEMA_POLICY.plural, resource.metadata.namespace, resource.metadata.name), 0.0)
    message = (
        f"the broker is {release} now, and the schema was judged by the rules of {loaded.pulsar_version}; it is judged "
        f"again after the reconcile of policy {resource.metadata.name}. The broker's message: {why}"
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
        settings = await at_broker(loaded)[0].namespace_settings(
            PulsarNamespaceKey.parse(spec.pulsar_cluster, spec.pulsar_namespace)
        )
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


async def _upload_recorded(ctx: ReconcileContext, loaded: Loaded, missing: tuple[VersionEntry, ...]) -> Loaded | None:
    (broker, state), query = at_broker(loaded), loaded.query
    history = query.history
    for entry in missing:
        info = await ctx.storage.get(history.key, history.incarnation, entry)
        try:
            number = await broker.upload(query.topic, info)
        except RefusedByBrokerError as error:
            await _wait_for_policy(ctx, loaded, error.message)
            what = f"the broker refuses version {entry.schema_version} of the history, which it lacks"
            refused = refused_record(state.topic_settings, what, error.message)
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
    return replace(loaded, state=replace(at_broker(loaded)[1], refused=error))
