"""The reconcile of a NamespaceSchemaPolicy: its claim, its broker, the counts of its topics, and their histories.

`judging.policies` and `core.policy` apply a policy to a topic.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from topicschema import telemetry
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.api.metadata import ConditionType, Metadata
from topicschema.api.policies import (
    NamespaceSchemaPolicy,
    NamespaceSchemaPolicySpec,
    NamespaceSchemaPolicyStatus,
    TopicCounts,
)
from topicschema.api.wire import decode, decode_status
from topicschema.cluster.errors import NotFoundError
from topicschema.cluster.events import object_reference
from topicschema.core.errors import StalledError, TopicSchemaError
from topicschema.core.reasons import Reason
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.judging import history_limit
from topicschema.judging.policy_rules import missing
from topicschema.judging.registries import RegistryNotFoundError
from topicschema.reconcile import status_writer
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy import status as policy_status
from topicschema.reconcile.policy.act import write_settings
from topicschema.reconcile.policy.audit import Audits
from topicschema.reconcile.policy.claim import acquire_claim
from topicschema.reconcile.policy.history_conflicts import HistoryConflicts, unchecked
from topicschema.reconcile.policy.observe import NamespaceState, observe
from topicschema.reconcile.policy.unmanaged_topics import NONE
from topicschema.reconcile.runtime.conditions import ConditionInput, ObservedAt, not_ready
from topicschema.reconcile.runtime.object_index import TopicSummary
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult
from topicschema.reconcile.status_writer import ERRORS_WITHOUT_STATUS

_FIRST_RECOUNT_DELAY = 1.0
_LONGEST_RECOUNT_DELAY = 30.0

_Summaries = Mapping[Key, TopicSummary]


class NamespaceSchemaPolicies:
    """The reconciler of NamespaceSchemaPolicies. `resync` is the period of their full checks, in seconds."""

    def __init__(self, ctx: ReconcileContext, resync: float) -> None:
        self._ctx = ctx
        self._uids: dict[Key, str] = {}
        self._recount_delays: dict[Key, float] = {}
        # The registry of each policy with a limit, and the share of the limit that the policy's histories take.
        self._record_use: dict[Key, tuple[str, float]] = {}
        self._histories = HistoryConflicts(ctx, resync)
        self._audits = Audits(ctx)

    async def broker_of(self, key: Key) -> str:
        """Return the address of the broker that a reconcile of `key` calls, or "" if it is unknown or there is none."""
        with suppress(TopicSchemaError):
            wire = await self._ctx.client.get(NAMESPACE_SCHEMA_POLICY, key.namespace, key.name)
            return (await self._ctx.registries.get(decode(NamespaceSchemaPolicy, wire).spec.registry)).address
        return ""

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Reconcile the policy and write its status. Raise the error that prevents Ready."""
        try:
            wire = await self._ctx.client.get(NAMESPACE_SCHEMA_POLICY, key.namespace, key.name)
        except NotFoundError:
            self._remove(key)
            await self._audits.remove(key)
            return ReconcileResult.DELETED
        metadata = decode(Metadata, wire.get("metadata"), "metadata")
        if metadata.deletion_timestamp is not None:
            self._index_claim(key, wire)
            self._remove(key)  # it governs nothing any more, even while finalizers retain it
            await self._audits.remove(key)
            return ReconcileResult.DONE
        before = decode_status(NamespaceSchemaPolicyStatus, wire.get("status"))
        moment = ObservedAt(before.conditions, metadata.generation, self._ctx.now())
        try:
            pending = await self._apply(key, wire, moment)
        except ERRORS_WITHOUT_STATUS:
            raise
        except Exception as error:
            conditions = moment.conditions((*not_ready(error), *_of_audits(before)))
            check = before.history_check if before.observed_generation == metadata.generation else None
            status = replace(
                before, observed_generation=metadata.generation, conditions=conditions, history_check=check
            )
            await status_writer.write(self._ctx, NAMESPACE_SCHEMA_POLICY, wire, status)
            raise
        if pending is not None:
            raise pending
        return ReconcileResult.DONE

    async def _apply(self, key: Key, wire: Mapping[str, Any], moment: ObservedAt) -> TopicSchemaError | None:
        """Reconcile the policy and write its status. Return the error that prevents its settings, or None."""
        resource = decode(NamespaceSchemaPolicy, wire)
        claims = resource.spec.claim_key
        index = self._ctx.index
        if index.update_policy(key, claims):
            self._enqueue_topics(key)
        self._update_uid(key, resource.metadata.uid)
        try:
            registry = await self._ctx.registries.get(resource.spec.registry)
            claim = await acquire_claim(self._ctx, resource, registry, claims)
        except (StalledError, RegistryNotFoundError):
            index.brokers.pop(key, None)
            if resource.spec.audit is not None or any(_of_audits(resource.status)):
                await self._audits.remove(key)
            raise
        index.brokers[key] = registry.address
        stored, resource = resource, resource.at(registry)
        ours = self._topics(key, claims)
        managed = None if ours is None else _local_names(ours, claims)
        state = await observe(self._ctx, resource, registry, managed)
        state = await write_settings(self._ctx, resource, claim, state)
        counts = await self._counts(key, stored, resource, state, ours)
        record_bytes = await self._record_bytes(key, resource)
        unmanaged = state.unmanaged or NONE
        audit = await self._audits.reconcile(key, resource, registry)
        conditions = (*policy_status.conditions(resource, state), *filter(None, (audit.condition,)))
        status = replace(
            counts,
            record_bytes=record_bytes,
            audit=audit.status,
            conditions=moment.conditions(conditions),
            observed=state.observed,
            registry=resource.status.registry,
            unmanaged_topic_count=unmanaged.count,
            unmanaged_topics=unmanaged.first,
        )
        await status_writer.write(self._ctx, NAMESPACE_SCHEMA_POLICY, wire, status)
        was_full = history_limit.is_record_full(stored, stored.status.record_bytes)
        has_space_again = was_full and not history_limit.is_record_full(resource, record_bytes)
        if has_space_again or stored.status.registry != resource.status.registry:
            self._enqueue_topics(key)
        await self._notify(key, wire, resource, state)
        for topic in audit.newly_invalid:
            note = f"the current schema of {topic} cannot read some of its messages: see the tables of the audit"
            await self._record(wire, policy_status.Note("Warning", Reason.MESSAGES_UNREADABLE, note))
        return policy_status.pending_error(state) or state.judging_error

    async def _record_bytes(self, key: Key, resource: NamespaceSchemaPolicy) -> int | None:
        """Return the bytes of the policy's histories, rounded to save writes of the status, and set the metric."""
        used, limit = await self._ctx.used_bytes(resource), resource.limit_bytes
        if used is None or limit is None:
            self._record_use.pop(key, None)
            self._set_record_use()
            return None
        self._record_use[key] = resource.spec.registry, used / max(1, limit)
        self._set_record_use()
        step = max(1, limit // 100)
        return used if used >= limit else used // step * step

    def _set_record_use(self) -> None:
        telemetry.RECORD_USE.clear()
        for registry, share in sorted(self._record_use.values()):  # the largest of each registry is the last
            telemetry.RECORD_USE.labels(registry).set(share)

    def _topics(self, key: Key, claims: PulsarNamespaceKey) -> _Summaries | None:
        """Return the summaries of the policy's topics, or None until every topic of the namespace was reconciled."""
        summaries = self._ctx.index.all_summaries(key.namespace)
        if summaries is None:
            # After a start, a broker may take minutes for the first reconciles of all topics.
            after = self._recount_delays[key] = min(
                2 * self._recount_delays.get(key, _FIRST_RECOUNT_DELAY / 2), _LONGEST_RECOUNT_DELAY
            )
            self._ctx.enqueue(key, after)
            return None
        self._recount_delays.pop(key, None)
        return {topic: s for topic, s in summaries.items() if s.pulsar_namespace == claims.pulsar_namespace}

    async def _notify(
        self, key: Key, wire: Mapping[str, Any], resource: NamespaceSchemaPolicy, state: NamespaceState
    ) -> None:
        """Enqueue the topics if the broker's settings changed, and emit an Event for each new note."""
        if state.wrote or state.observed != resource.status.observed:
            self._enqueue_topics(key)
        messages = " ".join(condition.message for condition in resource.status.conditions)
        for note in policy_status.notes(state):
            if note.text not in messages:
                await self._record(wire, note)

    async def _record(self, wire: Mapping[str, Any], note: policy_status.Note) -> None:
        about = object_reference(NAMESPACE_SCHEMA_POLICY, wire)
        await self._ctx.events.record(about, note.type, note.reason, note.text, "Reconcile")

    async def _counts(
        self,
        key: Key,
        stored: NamespaceSchemaPolicy,
        resource: NamespaceSchemaPolicy,
        state: NamespaceState,
        ours: _Summaries | None,
    ) -> NamespaceSchemaPolicyStatus:
        """Return a status with the counts of the topics and their conflicts. `stored` is the policy as read.

        Until all topics were reconciled, it has the previous counts: a partial count would be wrong, and a needless
        write after a restart. The generation is observed after the check of the histories, which a policy without a
        Pulsar version does not get.
        """
        now = replace(resource, status=replace(resource.status, observed=state.observed))
        is_judged = missing(now) is None
        if ours is None:
            conflicts, topics = unchecked(stored, now), resource.status.topics
        else:
            conflicts = await self._histories.check(key, stored, now, ours) if is_judged else unchecked(stored, now)
            topics = TopicCounts(
                total=len(ours),
                ready=sum(summary.is_ready for summary in ours.values()),
                incompatible=sum(summary.is_incompatible for summary in ours.values()),
            )
        is_done = conflicts.check is not None or (ours is not None and not is_judged)
        return NamespaceSchemaPolicyStatus(
            observed_generation=resource.metadata.generation if is_done else resource.status.observed_generation,
            topics=topics,
            history_conflict_count=conflicts.count,
            history_conflicts=conflicts.conflicts,
            history_check=conflicts.check,
        )

    def _index_claim(self, key: Key, wire: Mapping[str, Any]) -> None:
        """Add the policy's Pulsar namespace to the index, by which `_remove` enqueues the policies that wait for it."""
        with suppress(StalledError):
            spec = decode(NamespaceSchemaPolicySpec, wire.get("spec"))
            self._ctx.index.update_policy(key, spec.claim_key)

    def _update_uid(self, key: Key, uid: str) -> None:
        """Store the UID of the policy. If it changed, the policy was created again: drop all data of the former one."""
        before = self._uids.get(key, uid)
        self._uids[key] = uid
        if before != uid:
            self._histories.forget(key)
            self._ctx.drift.forget(key)

    def _remove(self, key: Key) -> None:
        self._recount_delays.pop(key, None)
        self._record_use.pop(key, None)
        self._set_record_use()
        self._uids.pop(key, None)
        self._histories.forget(key)
        self._ctx.drift.forget(key)
        self._ctx.own_writes.forget(key)
        self._enqueue_topics(key)
        claimed = self._ctx.index.remove_policy(key)
        for rival in self._ctx.index.policies_of_pulsar_namespace(claimed.pulsar_namespace) if claimed else ():
            self._ctx.enqueue(rival, 0.0)

    def _enqueue_topics(self, key: Key) -> None:
        for topic in self._ctx.index.topics_of_policy(key):
            self._ctx.enqueue(topic, 0.0)


def _of_audits(status: NamespaceSchemaPolicyStatus) -> Iterator[ConditionInput]:
    """Yield the condition of audits, by which it is known that there may be a CronJob."""
    for each in status.conditions:
        if each.type is ConditionType.AUDITED:
            yield ConditionInput(each.type, each.status, each.reason, each.message)


def _local_names(summaries: _Summaries, claims: PulsarNamespaceKey) -> set[str]:
    return {summary.topic.removeprefix(f"{claims.pulsar_namespace}/") for summary in summaries.values()}
