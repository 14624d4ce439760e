"""One pass over a NamespaceSchemaPolicy: hold its claim, look at its broker, count its topics, check their histories.

What a policy means for a topic is `policies`' and `core.policy`'s matter.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.api.metadata import Metadata
from topicschema.api.policies import (
    NamespaceSchemaPolicy,
    NamespaceSchemaPolicySpec,
    NamespaceSchemaPolicyStatus,
    TopicCounts,
)
from topicschema.api.wire import decode, decode_status
from topicschema.cluster.errors import NotFoundError
from topicschema.core.errors import StalledError, TopicSchemaError
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.judging.policies import address_of
from topicschema.reconcile import status_writer
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy import status as policy_status
from topicschema.reconcile.policy.claim import acquire_claim
from topicschema.reconcile.policy.history_conflicts import HistoryConflicts, unchecked
from topicschema.reconcile.policy.namespace_state import NamespaceState, apply_settings
from topicschema.reconcile.runtime.conditions import ObservedAt, not_ready
from topicschema.reconcile.runtime.object_index import TopicSummary
from topicschema.reconcile.runtime.status_apply import ERRORS_WITHOUT_STATUS
from topicschema.reconcile.runtime.work_queue import Key, Result

_LISTED = 20
_UNTIL_TOPICS_ARE_SEEN = 1.0
_LONGEST_UNTIL = 30.0

_Summaries = Mapping[Key, TopicSummary]


class NamespaceSchemaPolicies:
    """Passes over NamespaceSchemaPolicies; `resync` is when a settled one is passed over by itself, in seconds."""

    def __init__(self, ctx: ReconcileContext, resync: float) -> None:
        self._ctx = ctx
        self._uids: dict[Key, str] = {}
        self._unseen: dict[Key, float] = {}
        self._histories = HistoryConflicts(ctx, resync)

    async def broker_of(self, key: Key) -> str:
        """Return the address of the broker that a reconcile of `key` asks; "" if none, or if it cannot be read."""
        with suppress(TopicSchemaError):
            wire = await self._ctx.client.get(NAMESPACE_SCHEMA_POLICY, key.namespace, key.name)
            return address_of(decode(NamespaceSchemaPolicy, wire))
        return ""

    async def reconcile(self, key: Key) -> Result:
        """Bring what the key names one step nearer to its spec, and report; raises what stands in the way."""
        try:
            wire = await self._ctx.client.get(NAMESPACE_SCHEMA_POLICY, key.namespace, key.name)
        except NotFoundError:
            self._lost(key)
            return Result.DELETED
        metadata = decode(Metadata, wire.get("metadata"), "metadata")
        if metadata.deletion_timestamp is not None:
            self._remember_claim(key, wire)
            self._lost(key)  # it governs nothing any more, however long it is held
            return Result.DONE
        before = decode_status(NamespaceSchemaPolicyStatus, wire.get("status"))
        moment = ObservedAt(before.conditions, metadata.generation, self._ctx.now())
        try:
            awaited = await self._settle(key, wire, moment)
        except ERRORS_WITHOUT_STATUS:
            raise
        except Exception as error:
            said = moment.conditions(not_ready(error))
            check = before.history_check if before.observed_generation == metadata.generation else None
            status = replace(before, observed_generation=metadata.generation, conditions=said, history_check=check)
            await status_writer.write(self._ctx, NAMESPACE_SCHEMA_POLICY, wire, status)
            raise
        if awaited is not None:
            raise awaited
        return Result.DONE

    async def _settle(self, key: Key, wire: Mapping[str, Any], moment: ObservedAt) -> TopicSchemaError | None:
        """What stands in the way of the policy's settings at its broker, once all else is done and reported."""
        resource = decode(NamespaceSchemaPolicy, wire)
        claims = PulsarNamespaceKey.parse(resource.spec.pulsar_cluster, resource.spec.pulsar_namespace)
        if self._ctx.index.update_policy(key, claims):
            self._enqueue_topics(key)
        self._know(key, resource.metadata.uid)
        claim = await acquire_claim(self._ctx, resource, claims)
        ours = self._topics(key, claims)
        declared = None if ours is None else _local_names(ours, claims)
        state = await apply_settings(self._ctx, resource, claim, declared)
        counts = await self._counts(key, resource, state, ours)
        undeclared = state.undeclared or ()
        status = replace(
            counts,
            conditions=moment.conditions(policy_status.conditions(resource, state)),
            observed=state.observed,
            undeclared_topic_count=len(undeclared),
            undeclared_topics=undeclared[:_LISTED],
        )
        await status_writer.write(self._ctx, NAMESPACE_SCHEMA_POLICY, wire, status)
        await self._tell(key, wire, resource, state)
        return policy_status.awaited(state)

    def _topics(self, key: Key, claims: PulsarNamespaceKey) -> _Summaries | None:
        """What was seen of the policy's topics; None while there is one that no pass has reached."""
        summaries = self._ctx.index.all_summaries(key.namespace)
        if summaries is None:
            # A broker may take minutes for the first look at all of them.
            after = self._unseen[key] = min(2 * self._unseen.get(key, _UNTIL_TOPICS_ARE_SEEN / 2), _LONGEST_UNTIL)
            self._ctx.enqueue(key, after)
            return None
        self._unseen.pop(key, None)
        return {topic: s for topic, s in summaries.items() if s.pulsar_namespace == claims.pulsar_namespace}

    async def _tell(
        self, key: Key, wire: Mapping[str, Any], resource: NamespaceSchemaPolicy, state: NamespaceState
    ) -> None:
        """Ring whom the broker's settings concern, and have an Event of what was not said before."""
        if state.wrote or state.observed != resource.status.observed:
            self._enqueue_topics(key)
        said = " ".join(condition.message for condition in resource.status.conditions)
        for note in policy_status.notes(state):
            if note.text not in said:
                about = status_writer.object_reference(NAMESPACE_SCHEMA_POLICY, wire)
                await self._ctx.events.record(about, note.type, note.reason, note.text, "Reconcile")

    async def _counts(
        self, key: Key, resource: NamespaceSchemaPolicy, state: NamespaceState, ours: _Summaries | None
    ) -> NamespaceSchemaPolicyStatus:
        """A status with the topics and their conflicts; as it was while the topics are not all seen.

        Counting half of them would be wrong, and at a restart a write for nothing. The generation is observed once the
        histories were checked.
        """
        now = replace(resource, status=replace(resource.status, observed=state.observed))
        if ours is None:
            found, topics = unchecked(resource, now), resource.status.topics
        else:
            found = await self._histories.check(key, resource, now, ours)
            topics = TopicCounts(
                total=len(ours),
                ready=sum(summary.is_ready for summary in ours.values()),
                incompatible=sum(summary.is_incompatible for summary in ours.values()),
            )
        is_done = found.check is not None
        return NamespaceSchemaPolicyStatus(
            observed_generation=resource.metadata.generation if is_done else resource.status.observed_generation,
            topics=topics,
            history_conflict_count=found.count,
            history_conflicts=found.conflicts,
            history_check=found.check,
        )

    def _remember_claim(self, key: Key, wire: Mapping[str, Any]) -> None:
        """Remember the policy's claim: those that wait for it are found by it."""
        with suppress(StalledError):
            spec = decode(NamespaceSchemaPolicySpec, wire.get("spec"))
            claims = PulsarNamespaceKey.parse(spec.pulsar_cluster, spec.pulsar_namespace)
            self._ctx.index.update_policy(key, claims)

    def _know(self, key: Key, uid: str) -> None:
        """Whose policy it is; of one that was deleted and made anew between two passes nothing is kept."""
        before = self._uids.get(key, uid)
        self._uids[key] = uid
        if before != uid:
            self._forget(key, before)

    def _forget(self, key: Key, uid: str) -> None:
        self._histories.forget(key)
        self._ctx.brokers.forget(uid)

    def _lost(self, key: Key) -> None:
        self._unseen.pop(key, None)
        self._forget(key, self._uids.pop(key, ""))
        self._ctx.own_writes.forget(key)
        self._enqueue_topics(key)
        claimed = self._ctx.index.remove_policy(key)
        for rival in self._ctx.index.policies_of_pulsar_namespace(claimed.pulsar_namespace) if claimed else ():
            self._ctx.enqueue(rival, 0.0)

    def _enqueue_topics(self, key: Key) -> None:
        for topic in self._ctx.index.topics_of_policy(key):
            self._ctx.enqueue(topic, 0.0)


def _local_names(summaries: _Summaries, claims: PulsarNamespaceKey) -> set[str]:
    return {summary.topic.removeprefix(f"{claims.pulsar_namespace}/") for summary in summaries.values()}
