"""The reconcile of a TopicSchema: observe, judge, plan, act, report.

It is level-based: it gets a key and reads all state. `work_queue` schedules it, and retries by the type of the error
that it raises.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from topicschema.api import FINALIZER
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.api.metadata import ConditionStatus, ConditionType, Metadata
from topicschema.api.topicschemas import ReportState, TopicSchema, TopicSchemaSpec, TopicSchemaStatus
from topicschema.api.wire import decode, decode_status, encode
from topicschema.cluster.errors import ApiRefusedError, ForbiddenError, NotFoundError
from topicschema.cluster.events import object_reference
from topicschema.core import broker_versions
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import StalledAtBrokerError, StalledError, TopicSchemaError
from topicschema.core.policy import StrategySource, exception_note, used_exception
from topicschema.core.reasons import Reason
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic
from topicschema.core.verdict import Verdict
from topicschema.judging.clock import seconds_between
from topicschema.judging.policies import ActivePolicy
from topicschema.judging.schema_source import with_spec_field
from topicschema.reconcile import status_writer
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.conditions import ObservedAt
from topicschema.reconcile.runtime.object_index import TopicSummary
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult
from topicschema.reconcile.status_writer import ERRORS_WITHOUT_STATUS
from topicschema.reconcile.topicschema import observe
from topicschema.reconcile.topicschema import status as topicschema_status
from topicschema.reconcile.topicschema.act import apply, remove_finalizer
from topicschema.reconcile.topicschema.deletion import (
    apply_deletion,
    emit_released_event,
    emit_settings_retained_event,
    observe_deletion,
)
from topicschema.reconcile.topicschema.exceptions import note_of_use
from topicschema.reconcile.topicschema.observe import Judged, Loaded
from topicschema.reconcile.topicschema.status import StatusInput
from topicschema.reconcile.validation import act as act_on_validation
from topicschema.reconcile.validation import observe as observe_validation
from topicschema.reconcile.validation import status as validation_status
from topicschema.reconcile.validation.jobs import may_have_job
from topicschema.reconcile.validation.report_configmap import report_with_values, with_report, without_values
from topicschema.validation.job.outcome import Failed, Passed, Waiting

# Seconds until a policy counts its topics again, so that the changes of many topics are one write of its status.
_COUNT_DELAY = 3.0


class _Conclusion(NamedTuple):
    """The end of a reconcile: the status to write, and then the error to raise, or None."""

    status: TopicSchemaStatus
    error: Exception | None = None


class TopicSchemaReconciler:
    """The reconciler of TopicSchemas."""

    def __init__(self, ctx: ReconcileContext) -> None:
        self._ctx = ctx

    async def broker_of(self, key: Key) -> str:
        """Return the address of the broker that a reconcile of `key` calls, or "" if it is unknown or there is none.

        Errors are ignored, because the reconcile gets them, too, and reports them.
        """
        ctx = self._ctx
        known = ctx.index.broker_of_topic(key)
        if known is not None:
            return known
        with suppress(TopicSchemaError):
            wire = await ctx.client.get(TOPIC_SCHEMA, key.namespace, key.name)
            topic = Topic.parse(decode(TopicSchemaSpec, wire.get("spec")).topic)
            return (await ctx.policies.resolve(key.namespace, topic.pulsar_namespace)).resource.address
        return ""

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Reconcile the resource and write its status. Raise the error that prevents Ready."""
        try:
            wire = await self._ctx.client.get(TOPIC_SCHEMA, key.namespace, key.name)
        except NotFoundError:
            self._remove(key)
            await act_on_validation.delete_jobs_of(self._ctx, key)
            return ReconcileResult.DELETED
        metadata, shown = decode(Metadata, wire.get("metadata"), "metadata"), None
        try:
            if metadata.deletion_timestamp is not None:
                return await self._delete(key, wire, metadata)
            resource = decode(TopicSchema, wire)
            if resource.spec.suspend:
                conclusion: _Conclusion | None = await self._suspend(resource)
            else:
                governing = await observe.governing_policy(self._ctx, resource)
                resource = await without_values(self._ctx, resource, governing)
                shown = resource.status
                conclusion = await self._conclude(key, resource, governing)
        except ERRORS_WITHOUT_STATUS:
            raise
        except Exception as error:  # noqa: BLE001  # it is raised below
            before = shown or decode_status(TopicSchemaStatus, wire.get("status"))
            before = await self._without_rights(metadata, before, error)
            moment = ObservedAt(before.conditions, metadata.generation, self._ctx.now())
            conclusion = _Conclusion(topicschema_status.with_error(before, error, moment), error)
        if conclusion is None:
            return ReconcileResult.REQUEUE
        await self._report(key, wire, conclusion.status)
        if conclusion.error is not None:
            raise conclusion.error
        return ReconcileResult.DONE

    async def _without_rights(
        self, metadata: Metadata, status: TopicSchemaStatus, error: Exception
    ) -> TopicSchemaStatus:
        """Return the status without a validation run, and delete its Jobs, if `error` revokes the permission to run."""
        validation = status.validation
        is_revoked = isinstance(error, TopicSchemaError) and error.reason.revokes_access
        if not is_revoked or not may_have_job(self._ctx, metadata, validation):
            return status
        try:
            await act_on_validation.delete_unended_jobs(self._ctx, metadata, validation)
        except TopicSchemaError:
            return status  # the next reconcile tries again, because the status or the index still has the run
        if validation is None or validation.is_final:
            return status
        conditions = tuple(each for each in status.conditions if each.type is not ConditionType.VALIDATED)
        return replace(status, validation=None, conditions=conditions)

    async def _suspend(self, resource: TopicSchema) -> _Conclusion:
        """Delete the Jobs of a suspended resource. Nothing else is read or written."""
        await act_on_validation.delete_unended_jobs(self._ctx, resource.metadata, resource.status.validation)
        moment = ObservedAt(resource.status.conditions, resource.metadata.generation, self._ctx.now())
        return _Conclusion(topicschema_status.suspended(resource.status, moment))

    async def _conclude(self, key: Key, resource: TopicSchema, governing: ActivePolicy) -> _Conclusion | None:
        """Observe and act until no action is left. Return the conclusion, or None if the object must be read again."""
        loaded = await observe.load(self._ctx, resource, governing)
        try:
            judged = await observe.judge(self._ctx, await observe.with_broker_state(self._ctx, loaded))
        except TopicSchemaError as error:
            return await self._unreachable(loaded, error)
        converged = await self._converge(judged)
        if converged is not None:
            started = await self._with_started_job(key, converged)
            converged = await self._converge(started)  # its messages may be valid by now
        if converged is None:
            return None
        stop = observe.blocking_error(converged)
        if converged.verdict is None:
            if stop is not None:
                raise stop
            return None
        self._enqueue_at_end_of_exception(key, converged.loaded)
        observed = await self._status_input(key, converged, converged.verdict)
        moment = ObservedAt(resource.status.conditions, resource.metadata.generation, self._ctx.now())
        status = topicschema_status.with_verdict(observed, moment, stop)
        if any(each.rule == broker_versions.RULE for each in observed.verdict.incompatibilities):
            stop = StalledAtBrokerError(Reason.INVALID_HISTORY, "the broker has a version that it cannot read")
        elif not converged.verdict.is_compatible:
            stop = None  # a refusal is no error: only an edit changes it
        return _Conclusion(status, stop)

    def _enqueue_at_end_of_exception(self, key: Key, loaded: Loaded) -> None:
        """Enqueue the topic for the time at which the exception that it uses ends, because no event comes then."""
        exception = used_exception(loaded.policy, loaded.resource.spec.schema_compatibility_strategy)
        if exception is not None:
            self._ctx.enqueue(key, max(0.0, seconds_between(self._ctx.now(), exception.end)))

    async def _converge(self, judged: Judged) -> Judged | None:
        """Apply one action after the other. Return the final state, or None if the object must be read again."""
        while actions := judged.planned:
            note = await note_of_use(self._ctx, judged, actions[0])
            loaded = await apply(self._ctx, judged, actions[0])
            if note and loaded is not None and (loaded.state is None or loaded.state.refused is None):
                about = object_reference(TOPIC_SCHEMA, {"metadata": encode(loaded.resource.metadata)})
                await self._ctx.events.record(about, "Warning", Reason.EXCEPTION_USED, note, "Register")
            if loaded is None:
                return None
            judged = await observe.judge(self._ctx, loaded, judged)
        return judged

    async def _unreachable(self, loaded: Loaded, error: TopicSchemaError) -> _Conclusion:
        """Return InSync=Unknown for an unreachable broker if only this follows from `error`, else raise it again."""
        metadata, before = loaded.resource.metadata, loaded.resource.status
        is_confirmed = loaded.query.confirmed is not None  # only then the error gives no reason to doubt the version
        if not is_confirmed or not topicschema_status.is_only_unreachable(before, error, metadata.generation):
            raise error
        before = await self._without_rights(metadata, before, error)
        moment = ObservedAt(before.conditions, metadata.generation, self._ctx.now())
        return _Conclusion(topicschema_status.with_unreachable_broker(before, error, moment), error)

    async def _with_started_job(self, key: Key, judged: Judged) -> Judged:
        """Return `judged`. If its Job waits for a slot, call the limiter and observe the validation again."""
        if judged.validation is None or not isinstance(judged.validation.outcome, Waiting):
            return judged
        try:
            ctx = self._ctx
            await ctx.validation.limiter.start(ctx.client, key, ctx.enqueue)
        except (ForbiddenError, ApiRefusedError) as error:
            return replace(judged, validation=judged.validation.with_api_error("its Job cannot be started", error))
        return await observe.with_validation(self._ctx, judged)

    async def _status_input(self, key: Key, judged: Judged, verdict: Verdict) -> StatusInput:
        """Return the input of the status."""
        loaded, spec = judged.loaded, judged.loaded.resource.spec
        placed_findings = tuple(with_spec_field(each, spec) for each in verdict.incompatibilities)
        observed = StatusInput(
            loaded.schema.fingerprint,
            replace(verdict, incompatibilities=placed_findings),
            loaded.stored.history,
            await self._risks(loaded, verdict),
            loaded.state,
            exception=exception_note(
                loaded.policy, spec.schema_compatibility_strategy, is_refused=not verdict.is_compatible
            ),
        )
        return await self._with_validation(key, judged, observed)

    async def _with_validation(self, key: Key, judged: Judged, observed: StatusInput) -> StatusInput:
        """Return `observed` with the validation. A running one is enqueued again, because logs have no events."""
        validation, ctx, resource = judged.validation, self._ctx, judged.loaded.resource
        answered = resource.status.report_state.revalidated
        if validation is None:
            shown = await report_with_values(ctx, resource, judged.loaded.governing, None)
            return replace(observed, internal=ReportState.of(answered, shown))
        status = await with_report(ctx, resource.metadata, validation, validation_status.new_status(validation))
        if isinstance(validation.outcome, Passed | Failed):
            ctx.validation.limiter.slot_freed(ctx.enqueue)
        after = observe_validation.requeue_after(ctx, validation)
        if after is not None:
            ctx.enqueue(key, after)
        if status is not None and status.is_final:
            answered = status.revalidate or answered
        shown = await report_with_values(ctx, resource, judged.loaded.governing, status)
        return replace(
            observed,
            validation=status,
            validated=validation_status.condition(validation, status),
            internal=ReportState.of(answered, shown),
        )

    async def _risks(self, loaded: Loaded, verdict: Verdict) -> tuple[Incompatibility, ...]:
        """Return the risks of a stored version, or those of the verdict if an earlier version is unreadable."""
        try:
            return await self._ctx.judge.risks(verdict, loaded.stored.history, loaded.candidate.strategy, loaded.policy)
        except StalledError:
            return verdict.risks

    async def _delete(self, key: Key, wire: Mapping[str, Any], metadata: Metadata) -> ReconcileResult:
        # Another finalizer may retain it for long, and its policy waits for the first reconcile of every topic.
        self._update_index(key, wire, decode_status(TopicSchemaStatus, wire.get("status")))
        if FINALIZER not in metadata.finalizers:
            self._enqueue_claim_losers(key)
            return ReconcileResult.DONE
        deletion = await observe_deletion(self._ctx, wire)
        if deletion is None:
            await remove_finalizer(self._ctx, metadata)
        else:
            await emit_released_event(self._ctx, wire, deletion)
        while deletion is not None:
            await emit_settings_retained_event(self._ctx, wire, deletion)
            deletion = await apply_deletion(self._ctx, deletion, deletion.planned)
        return ReconcileResult.REQUEUE

    async def _report(self, key: Key, wire: Mapping[str, Any], status: TopicSchemaStatus) -> None:
        self._update_index(key, wire, status)
        await status_writer.write(self._ctx, TOPIC_SCHEMA, wire, status)

    def _update_index(self, key: Key, wire: Mapping[str, Any], status: TopicSchemaStatus) -> None:
        index = self._ctx.index
        summary = self._summary(key, wire, status)
        if index.update_topic(key, summary):
            for policy in index.policies_of_pulsar_namespace(summary.pulsar_namespace, key.namespace):
                self._ctx.enqueue(policy, _COUNT_DELAY)

    def _summary(self, key: Key, wire: Mapping[str, Any], status: TopicSchemaStatus) -> TopicSummary:
        try:
            spec = decode(TopicSchemaSpec, wire.get("spec"))
            topic = Topic.parse(spec.topic)
        except StalledError:
            return TopicSummary()
        before, expected = self._ctx.index.summary(key), self._ctx.policies.expected_key(key.namespace, topic)
        known = before.history if before else None
        ready = next((c for c in status.conditions if c.type is ConditionType.READY), None)
        return TopicSummary(
            topic=str(topic),
            pulsar_namespace=topic.pulsar_namespace,
            history=expected or known,
            strategy=spec.schema_compatibility_strategy or _unmanaged_strategy(status, before),
            latest=status.latest_schema_version,
            is_ready=ready is not None and ready.status is ConditionStatus.TRUE,
            is_incompatible=ready is not None and ready.reason == Reason.INCOMPATIBLE,
            lost_claim=ready is not None and ready.reason == Reason.TOPIC_ALREADY_CLAIMED,
        )

    def _enqueue_claim_losers(self, key: Key) -> None:
        """Enqueue the resources that wait for the topic of `key`, which does not hold it any more."""
        index = self._ctx.index
        summary = index.summary(key)
        for rival in () if summary is None else index.topics_sharing(summary):
            known = index.summary(rival)
            if known is not None and known.lost_claim:
                self._ctx.enqueue(rival, 0.0)

    def _remove(self, key: Key) -> None:
        index = self._ctx.index
        self._ctx.own_writes.forget(key)
        summary = index.remove_topic(key)
        if summary is None:
            return
        for rival in index.topics_sharing(summary):
            self._ctx.enqueue(rival, 0.0)
        for policy in index.policies_of_pulsar_namespace(summary.pulsar_namespace, key.namespace):
            self._ctx.enqueue(policy, _COUNT_DELAY)


def _unmanaged_strategy(status: TopicSchemaStatus, before: TopicSummary | None) -> Strategy | None:
    """Return the topic's own strategy at the broker, or the last observed one if the status has no strategy."""
    there = status.effective_strategy
    if there is None and before is not None:
        return before.strategy
    return there.value if there is not None and there.source is StrategySource.TOPIC else None
