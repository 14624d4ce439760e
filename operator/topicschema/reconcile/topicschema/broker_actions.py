"""All that a pass over a TopicSchema writes at the broker: schemas and a topic's own settings. Never a topic.

What the broker answers is not believed before it was read back, and nothing of it comes on record here.
"""

import logging
from dataclasses import replace

from topicschema import telemetry
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.broker.errors import BrokerForbiddenError, BrokerInconsistentError, RefusedByBrokerError
from topicschema.cluster.errors import NotLeadingError
from topicschema.core import plan
from topicschema.core.alignment import Ahead, Aligned, Behind
from topicschema.core.errors import StalledAtBrokerError, TopicSchemaError, WaitingError
from topicschema.core.history import Origin, VersionEntry
from topicschema.core.overrides import WriteSettings
from topicschema.core.policy import StrategySource, effective_strategy
from topicschema.core.remote import TopicSettings
from topicschema.core.strategies import BY_AUTO_UPDATE_NAME, Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic
from topicschema.judging.policies import says_ready
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy.namespace_settings import other_line
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.topicschema.broker_state import BrokerState, fetch, fetch_after_upload
from topicschema.reconcile.topicschema.broker_view import (
    REFUSED,
    BrokerView,
    refusal,
    refusal_of_record,
    topic_settings,
)
from topicschema.reconcile.topicschema.observe import Observation, judged

_LOG = logging.getLogger(__name__)

BrokerAction = plan.Upload | plan.UploadRecorded | plan.SoftDelete | WriteSettings


async def act_at_broker(ctx: ReconcileContext, seen: Observation, action: BrokerAction) -> Observation | None:
    """Carry out `action`; what is seen now, or None where everything must be read again; `broker.errors`."""
    match action:
        case plan.Upload():
            return await _upload(ctx, seen)
        case plan.UploadRecorded(missing):
            return await _upload_recorded(ctx, seen, missing)
        case plan.SoftDelete():
            return await _soft_delete(seen)
        case WriteSettings(settings):
            after = await _write_settings(seen, settings)
            is_judged_otherwise = after.verdict is not None and after.policy != seen.policy
            return await judged(ctx, after) if is_judged_otherwise else after


async def _upload(ctx: ReconcileContext, seen: Observation) -> Observation | None:
    seen = await _announce(ctx, seen)
    broker, query = _view(seen).broker, seen.query
    try:
        number = await broker.upload(query.topic, seen.candidate.schema.info)
    except RefusedByBrokerError as error:
        return await _refused(ctx, seen, error.message)
    found = await fetch_after_upload(ctx, broker, query, number)
    if isinstance(found.alignment, Behind):
        return _with_state(seen, found)
    if not isinstance(found.alignment, Aligned):
        return None  # others were at it, too: the next pass tells of it
    if number >= query.history.next_version:
        message = f"the broker says that it took the schema as version {number}, and does not show it"
        raise BrokerInconsistentError(message)
    message = f"the broker takes the schema for its version {number}, which it was judged not to equal"
    return _otherwise_judged(seen, message, f"{message}; use the text of version {number}, or change the schema")


async def _announce(ctx: ReconcileContext, seen: Observation) -> Observation:
    """Write the payload first: whoever finds the version at the broker, and not on record, then knows it as our own."""
    schema, before = seen.candidate.schema, seen.query.history
    if await ctx.storage.is_announced(before, schema.info):
        return seen  # the broker did not take it; an old payload may be swept, so that it is put once more
    history = before.with_version(schema, Origin.SPEC, ctx.now())
    await ctx.storage.announce(history, schema.info, seen.source_hash)
    return replace(seen, announced=(history.incarnation, *history.entries[-1].sign))


async def _refused(ctx: ReconcileContext, seen: Observation, why: str) -> Observation | None:
    """The broker will not take what was judged fine: because of what it has by now, or we are wrong."""
    seen_at = _view(seen)
    found = await fetch(ctx, seen_at.broker, seen.query)
    if not isinstance(found.alignment, Aligned):
        return None
    if seen_at.overrides is None:
        own = await _own_strategy(seen_at, seen.query.topic)
        if own is not None:
            set_outside = f"at the broker the topic has a strategy of its own, {own}, which was set there"
            message = (
                f"{set_outside}; put it into schemaCompatibilityStrategy, or unset it there. The broker says: {why}"
            )
            return _with_error(seen, StalledAtBrokerError(REFUSED, message))
    await _wait_for_policy(ctx, seen, why)
    line = await _other_line(ctx, seen)
    if line:
        return _with_refusal(seen, f"{line}. It refuses a schema that passes by them: {why}")
    message = "the broker refuses a schema that was judged to pass"
    return _otherwise_judged(seen, message, f"{message}: {why}")


def _otherwise_judged(seen: Observation, what: str, message: str) -> Observation:
    """Count and log that broker and operator judge differently, without the broker's words; report `message`."""
    telemetry.INTERNAL_ERRORS.labels("broker").inc()
    metadata = seen.resource.metadata
    fields = {
        "namespace": metadata.namespace,
        "name": metadata.name,
        "topic": str(seen.topic),
        "generation": metadata.generation,
        "fingerprint": seen.candidate.schema.fingerprint,
        "strategy": effective_strategy(seen.policy, seen.candidate.strategy).value,
        "line": seen.line,
    }
    _LOG.error("unexpected verdict of the broker: %s", what, extra={"fields": fields})
    return _with_refusal(seen, message)


async def _other_line(ctx: ReconcileContext, seen: Observation) -> str:
    """What is to be told of a broker of another release line than the schema was judged by, or ""."""
    if seen.found is None:
        return ""
    own = await ctx.brokers.own_settings(seen.found.resource, _view(seen).broker)
    return other_line(seen.line, own)


async def _own_strategy(seen_at: BrokerView, topic: Topic) -> Strategy | None:
    """The topic's own strategy; None, too, where it is not told: a refusal stays one, whoever may not ask for more."""
    try:
        own = await topic_settings(seen_at.broker, topic, seen_at.domain)
    except NotLeadingError:
        raise
    except TopicSchemaError:
        return None
    return None if own is None else own.strategy


async def _wait_for_policy(ctx: ReconcileContext, seen: Observation, why: str) -> None:
    """WaitingError where the broker judges by another strategy of the Pulsar namespace than was judged by here.

    The policy writes its own, or takes note of what is there, and has its topics looked at then.
    """
    found, policy = seen.found, seen.policy
    if found is None or effective_strategy(policy, seen.candidate.strategy).source is StrategySource.TOPIC:
        return
    spec, metadata = found.resource.spec, found.resource.metadata
    try:
        settings = await _view(seen).broker.namespace_settings(
            PulsarNamespaceKey.parse(spec.pulsar_cluster, spec.pulsar_namespace)
        )
    except BrokerForbiddenError:
        if says_ready(found.resource):
            return  # it is as much a refusal to whoever may not see the settings
        message = (
            f"policy {metadata.name} could not write its settings, and the broker refuses the schema meanwhile: {why}"
        )
        raise WaitingError(REFUSED, message) from None
    there = settings.strategy or BY_AUTO_UPDATE_NAME.get(settings.auto_update_strategy or "")
    here = None if policy.strategy is Strategy.UNDEFINED else policy.strategy
    if there is here:
        return
    if says_ready(found.resource):  # else it looks by itself
        key = Key(NAMESPACE_SCHEMA_POLICY.plural, metadata.namespace, metadata.name)
        ctx.index.mark_stale(key)
        ctx.enqueue(key, 0.0)
    message = (
        f"at the broker {spec.pulsar_namespace} has {_named(there)}, and not {_named(here)}, by which the schema was "
        f"judged to pass; policy {metadata.name} sees to that. The broker says: {why}"
    )
    raise WaitingError(REFUSED, message)


def _named(strategy: Strategy | None) -> str:
    return "no strategy of its own" if strategy is None else strategy.value


async def _upload_recorded(
    ctx: ReconcileContext, seen: Observation, missing: tuple[VersionEntry, ...]
) -> Observation | None:
    broker, query = _view(seen).broker, seen.query
    history = query.history
    for entry in missing:
        info = await ctx.storage.get(history.key, history.incarnation, entry)
        try:
            number = await broker.upload(query.topic, info)
        except RefusedByBrokerError as error:
            await _wait_for_policy(ctx, seen, error.message)
            return _with_refusal_of_record(seen, entry, error.message)
        if number != entry.schema_version:
            break  # whatever came in between is seen now
    found = await fetch(ctx, broker, query)
    if isinstance(found.alignment, Ahead) and len(found.alignment.missing) >= len(missing):
        message = (
            f"the broker says that it took version {missing[0].schema_version} of the record, and does not show it"
        )
        raise BrokerInconsistentError(message)
    return _with_state(seen, found)


async def _write_settings(seen: Observation, settings: TopicSettings) -> Observation:
    seen_at = _view(seen)
    if seen_at.overrides is None or seen_at.overrides.there is None:
        raise TypeError("settings of a topic that was not looked at")
    await seen_at.broker.set_topic(seen.query.topic, seen_at.domain, settings)
    there = seen_at.overrides.there
    if settings.strategy is not None:
        there = replace(there, strategy=None if settings.strategy is Strategy.UNDEFINED else settings.strategy)
    if settings.enforces_validation is not None:
        there = replace(there, enforces_validation=settings.enforces_validation)
    return replace(seen, view=replace(seen_at, overrides=replace(seen_at.overrides, there=there)))


async def _soft_delete(seen: Observation) -> Observation:
    seen_at, topic = _view(seen), seen.topic
    await seen_at.broker.soft_delete(topic)
    if await seen_at.broker.latest(topic) is not None:
        raise BrokerInconsistentError("the broker says that it deleted the schema, and still serves it")
    return replace(seen, view=replace(seen_at, is_serving=False))


def _with_state(seen: Observation, found: BrokerState) -> Observation:
    return replace(seen, view=_view(seen).after(found), verdict=None)


def _with_refusal(seen: Observation, message: str) -> Observation:
    return _with_error(seen, refusal(seen.resource, seen.found, message))


def _with_refusal_of_record(seen: Observation, entry: VersionEntry, why: str) -> Observation:
    if seen.found is None:
        raise TypeError("nobody governs it")
    what = f"the broker refuses version {entry.schema_version} of the record, which it does not have yet"
    return _with_error(seen, refusal_of_record(seen.resource, seen.found, _view(seen), what, why))


def _with_error(seen: Observation, error: TopicSchemaError) -> Observation:
    return replace(seen, view=replace(_view(seen), refused=error))


def _view(seen: Observation) -> BrokerView:
    if seen.view is None:
        raise TypeError("no broker was looked at")
    return seen.view
