"""One pass over a TopicSchema: observe, judge, plan, act, report.

Level-based: a pass takes a key and reads everything anew.
When passes happen is `work_queue`'s matter; errors leave here as they are, for their kind says when to try again.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from topicschema.api import FINALIZER
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.api.metadata import ConditionStatus, ConditionType, Metadata
from topicschema.api.topicschemas import TopicSchema, TopicSchemaSpec, TopicSchemaStatus
from topicschema.api.validation import ValidationStatus
from topicschema.api.wire import decode, decode_status
from topicschema.cluster.errors import ApiRefusedError, ForbiddenError, NotFoundError
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import StalledAtBrokerError, StalledError, TopicSchemaError
from topicschema.core.policy import StrategySource
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic
from topicschema.judging import broker_versions
from topicschema.judging.schema_source import placed
from topicschema.reconcile import status_writer
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.conditions import Moment, Said
from topicschema.reconcile.runtime.object_index import TopicSummary
from topicschema.reconcile.runtime.status_apply import ERRORS_WITHOUT_STATUS
from topicschema.reconcile.runtime.work_queue import Key, Result
from topicschema.reconcile.topicschema import status as topicschema_status
from topicschema.reconcile.topicschema.actions import act, remove_finalizer
from topicschema.reconcile.topicschema.broker_status import AtBroker
from topicschema.reconcile.topicschema.broker_view import BrokerView
from topicschema.reconcile.topicschema.deletion import (
    emit_released_event,
    emit_settings_retained_event,
    observe_deletion,
)
from topicschema.reconcile.topicschema.observe import Observation, at_broker, governed, inquired, on_record
from topicschema.reconcile.topicschema.suspended_status import suspended
from topicschema.reconcile.validation import actions as validation_actions
from topicschema.reconcile.validation import gather as validation_gather
from topicschema.reconcile.validation import status as validation_status
from topicschema.reconcile.validation.jobs import may_run
from topicschema.reconcile.validation.report_configmap import report_with_values, with_report, without_values
from topicschema.validation.job.outcome import Failed, Passed, Waiting

# A policy's counts follow its topics within this time: many topics that settle are one write of its status. Seconds.
_COUNT_DELAY = 3.0
# Errors by which the right to read the topic's messages, or the wish to, is gone; any other leaves a run alone.
_RULED_OUT = frozenset(
    {
        "BrokerNotAllowed",
        "ClaimNotAllowed",
        "InvalidResource",
        "InvalidSchema",
        "InvalidTopic",
        "PolicyNotFound",
        "TopicAlreadyClaimed",
    }
)


class TopicSchemas:
    """Passes over TopicSchemas."""

    def __init__(self, ctx: ReconcileContext) -> None:
        self._ctx = ctx

    async def reconcile(self, key: Key) -> Result:
        """Bring what the key names one step nearer to its spec, and report; raises what stands in the way."""
        try:
            wire = await self._ctx.client.get(TOPIC_SCHEMA, key.namespace, key.name)
        except NotFoundError:
            self._lost(key)
            return Result.DELETED
        metadata, shown = decode(Metadata, wire.get("metadata"), "metadata"), None
        try:
            if metadata.deletion_timestamp is not None:
                return await self._delete(key, wire, metadata)
            resource = decode(TopicSchema, wire)
            if resource.spec.suspend:
                await validation_actions.delete_all_jobs(self._ctx, metadata, resource.status.validation)
                moment = Moment(resource.status.conditions, metadata.generation, self._ctx.now())
                await self._report(key, wire, suspended(resource.status, moment))
                return Result.DONE
            begun = await governed(self._ctx, resource)
            begun = replace(begun, resource=await without_values(self._ctx, resource, begun.found))
            shown = begun.resource.status
            stopped = await self._settle(key, wire, begun)
        except ERRORS_WITHOUT_STATUS:
            raise
        except Exception as error:
            before = shown or decode_status(TopicSchemaStatus, wire.get("status"))
            before = await self._without_rights(metadata, before, error)
            moment = Moment(before.conditions, metadata.generation, self._ctx.now())
            await self._report(key, wire, topicschema_status.failed(before, error, moment))
            raise
        if isinstance(stopped, TopicSchemaError):
            raise stopped  # it is told already, with all else that was seen
        return stopped

    async def _without_rights(
        self, metadata: Metadata, status: TopicSchemaStatus, error: Exception
    ) -> TopicSchemaStatus:
        """The status without a run, which is ended, where it may be the right to it that is gone, as `error` says."""
        is_ruled_out, told = getattr(error, "reason", "") in _RULED_OUT, status.validation
        if not is_ruled_out or not may_run(self._ctx, metadata, told):
            return status
        try:
            await validation_actions.delete_all_jobs(self._ctx, metadata, told)
        except TopicSchemaError:
            return status  # the next pass tries again, for this still tells of it, or it is remembered
        if told is None or told.is_final:
            return status
        conditions = tuple(each for each in status.conditions if each.type is not ConditionType.VALIDATED)
        return replace(status, validation=None, conditions=conditions)

    async def _settle(self, key: Key, wire: Mapping[str, Any], begun: Observation) -> Result | TopicSchemaError:
        """What the pass asks for, or what stands in the way though all was seen and is reported."""
        ctx, resource = self._ctx, begun.resource
        recorded = await on_record(ctx, begun)
        try:
            seen: Observation | None = await at_broker(ctx, recorded)
        except TopicSchemaError as error:
            await self._report_unseen(key, wire, recorded, error)
            return error
        while seen is not None and seen.planned:
            seen = await act(ctx, seen, seen.planned[0])
        if seen is not None:
            seen = await self._taken_turn(key, seen)
        if seen is None or seen.schema is None or seen.verdict is None or seen.stored is None:
            if seen is not None and seen.stopped is not None:
                raise seen.stopped
            return Result.REQUEUE
        moment = Moment(resource.status.conditions, resource.metadata.generation, ctx.now())
        found = tuple(placed(each, resource.spec) for each in seen.verdict.incompatibilities)
        verdict = replace(seen.verdict, incompatibilities=found)
        judged = topicschema_status.Seen(
            seen.schema.fingerprint,
            verdict,
            seen.stored.history,
            await self._risks(seen),
            None if seen.view is None else _at_broker(seen.view),
            *await self._validated(key, seen),
        )
        await self._report(key, wire, topicschema_status.settled(judged, moment, seen.stopped))
        if any(each.rule == broker_versions.RULE for each in found):
            return StalledAtBrokerError("InvalidHistory", "the broker has a version that it cannot read")
        return seen.stopped if seen.stopped is not None and verdict.is_compatible else Result.DONE

    async def _report_unseen(
        self, key: Key, wire: Mapping[str, Any], recorded: Observation, error: TopicSchemaError
    ) -> None:
        """Tell that the broker is not seen, where nothing else follows from it; else `error` is raised again."""
        metadata, before = recorded.resource.metadata, recorded.resource.status
        if not recorded.was_counted or not topicschema_status.is_out_of_sight(before, error, metadata.generation):
            raise error
        before = await self._without_rights(metadata, before, error)
        moment = Moment(before.conditions, metadata.generation, self._ctx.now())
        await self._report(key, wire, topicschema_status.out_of_sight(before, error, moment))

    async def _taken_turn(self, key: Key, seen: Observation) -> Observation:
        """The same, seen anew where a Job waited for its turn: it may have come."""
        if seen.validation is None or not isinstance(seen.validation.outcome, Waiting):
            return seen
        try:
            ctx = self._ctx
            await ctx.validation.limiter.start(ctx.client, key, ctx.enqueue)
        except (ForbiddenError, ApiRefusedError) as error:
            return replace(seen, validation=seen.validation.rejected("its Job cannot be let run", error))
        return await inquired(self._ctx, seen)

    async def _validated(
        self, key: Key, seen: Observation
    ) -> tuple[ValidationStatus | None, Said | None, str | None, str | None]:
        """Return the validation's status. A topic that waits for messages is due again soon: no event reports a log."""
        validation, ctx, before = seen.validation, self._ctx, seen.resource.status
        if validation is None:
            return None, None, before.revalidated, report_with_values(seen.resource, seen.found, None)
        told = validation_status.status(validation)
        told = await with_report(ctx, seen.resource.metadata, validation, told)
        if isinstance(validation.outcome, Passed | Failed):
            ctx.validation.limiter.slot_freed(ctx.enqueue)
        after = validation_gather.requeue_after(ctx, validation)
        if after is not None:
            ctx.enqueue(key, after)
        answered = told.revalidate if told is not None and told.is_final else None
        said = validation_status.said(validation, told)
        return told, said, answered or before.revalidated, report_with_values(seen.resource, seen.found, told)

    async def _risks(self, seen: Observation) -> tuple[Incompatibility, ...]:
        """What is to be told of a version that is on record; nothing where an earlier one cannot be read any more."""
        if seen.verdict is None or seen.stored is None:
            return ()
        try:
            return await self._ctx.judge.risks(seen.verdict, seen.stored.history, seen.candidate.strategy, seen.policy)
        except StalledError:
            return seen.verdict.risks

    async def _delete(self, key: Key, wire: Mapping[str, Any], metadata: Metadata) -> Result:
        # Somebody else's finalizer may hold it for long, and its policy waits for every topic to have been seen.
        self._saw(key, wire, decode_status(TopicSchemaStatus, wire.get("status")))
        if FINALIZER not in metadata.finalizers:
            self._enqueue_claim_losers(key)
            return Result.DONE
        seen = await observe_deletion(self._ctx, wire)
        if seen is None:
            await remove_finalizer(self._ctx, metadata)
        else:
            await emit_released_event(self._ctx, wire, seen)
        while seen is not None and seen.planned:
            await emit_settings_retained_event(self._ctx, wire, seen)
            seen = await act(self._ctx, seen, seen.planned[0])
        return Result.REQUEUE

    async def _report(self, key: Key, wire: Mapping[str, Any], status: TopicSchemaStatus) -> None:
        self._saw(key, wire, status)
        await status_writer.write(self._ctx, TOPIC_SCHEMA, wire, status)

    def _saw(self, key: Key, wire: Mapping[str, Any], status: TopicSchemaStatus) -> None:
        index = self._ctx.index
        summary, before = self._summary(key, wire, status), index.summary(key)
        if index.update_topic(key, summary):
            for policy in index.policies_of_pulsar_namespace(summary.pulsar_namespace, key.namespace):
                self._ctx.enqueue(policy, _COUNT_DELAY)
        if before is not None and before.access_denied and not summary.access_denied:
            status_writer.enqueue_denied(self._ctx, key.namespace, summary.pulsar_namespace)

    def _summary(self, key: Key, wire: Mapping[str, Any], status: TopicSchemaStatus) -> TopicSummary:
        try:
            spec = decode(TopicSchemaSpec, wire.get("spec"))
            topic = Topic.parse(spec.topic)
        except StalledError:
            return TopicSummary()
        before, record = self._ctx.index.summary(key), self._ctx.policies.expected_key(key.namespace, topic)
        known = before.history if before else None
        ready = next((c for c in status.conditions if c.type is ConditionType.READY), None)
        return TopicSummary(
            topic=str(topic),
            pulsar_namespace=topic.pulsar_namespace,
            history=record.history_name if record else known,
            strategy=spec.schema_compatibility_strategy or _left_behind(status, before),
            latest=status.latest_schema_version,
            is_ready=ready is not None and ready.status is ConditionStatus.TRUE,
            is_incompatible=ready is not None and ready.reason == "Incompatible",
            lost_claim=ready is not None and ready.reason == "TopicAlreadyClaimed",
            access_denied=any(condition.reason in status_writer.ACCESS_DENIED for condition in status.conditions),
        )

    def _enqueue_claim_losers(self, key: Key) -> None:
        """Ring those that want the topic of `key`, which holds it no more, however long it is still there."""
        index = self._ctx.index
        summary = index.summary(key)
        for rival in () if summary is None else index.topics_sharing(summary):
            known = index.summary(rival)
            if known is not None and known.lost_claim:
                self._ctx.enqueue(rival, 0.0)

    def _lost(self, key: Key) -> None:
        index = self._ctx.index
        self._ctx.own_writes.forget(key)
        summary = index.remove_topic(key)
        if summary is None:
            return
        for rival in index.topics_sharing(summary):
            self._ctx.enqueue(rival, 0.0)
        for policy in index.policies_of_pulsar_namespace(summary.pulsar_namespace, key.namespace):
            self._ctx.enqueue(policy, _COUNT_DELAY)


def _at_broker(view: BrokerView) -> AtBroker:
    return AtBroker(view.may_write, view.left_behind, view.left_enforced, view.lacks)


def _left_behind(status: TopicSchemaStatus, before: TopicSummary | None) -> Strategy | None:
    """The topic's own strategy at the broker, where the resource does not say one; what it was, where none was seen."""
    there = status.effective_strategy
    if there is None and before is not None:
        return before.strategy
    return there.value if there is not None and there.source is StrategySource.TOPIC else None
