"""The topics on record that would not pass the policy that is now in force.

All newest versions are checked when the policy changes, and once in each resync period. In between only topics in
conflict are checked again, if they have another version or a strategy of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from topicschema.api.policies import HistoryCheck, HistoryConflict, NamespaceSchemaPolicy
from topicschema.core.errors import StalledError
from topicschema.core.policy import Policy
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.judging.judge import CheckerTimeoutError
from topicschema.judging.policies import policy_of
from topicschema.judging.recheck import Recheck
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.conditions import FINDING_BYTES, truncate
from topicschema.reconcile.runtime.object_index import TopicSummary
from topicschema.reconcile.runtime.work_queue import Key

# What one check reads: some 25 seconds of work. The histories after that are not checked.
_MOST_VERSIONS = 100_000
_MOST_BYTES = 256 * 1024 * 1024
_LISTED = 20


class _Topic(NamedTuple):
    """A resource's name, its topic's own strategy and newest version."""

    name: str
    strategy: Strategy | None
    latest: int | None


_Topics = Mapping[str, _Topic]


@dataclass(frozen=True, slots=True)
class Found:
    """The part of the status that is about the histories. `check` is None while a check is due."""

    count: int
    conflicts: tuple[HistoryConflict, ...]
    check: HistoryCheck | None


class HistoryConflicts:
    """Checks the histories of policies; of each policy it remembers only when all were checked last."""

    def __init__(self, ctx: ReconcileContext, resync: float) -> None:
        self._ctx = ctx
        self._resync = resync
        self._checked_at: dict[Key, float] = {}

    def forget(self, key: Key) -> None:
        """Forget a policy that is gone."""
        self._checked_at.pop(key, None)

    async def check(
        self,
        key: Key,
        before: NamespaceSchemaPolicy,
        now: NamespaceSchemaPolicy,
        summaries: Mapping[Key, TopicSummary],
    ) -> Found:
        """Return the conflicts. `before` is the policy as it was read, `now` the same with what its broker has now."""
        topics, policy, time = _topics(summaries), policy_of(now), self._ctx.clock()
        claims = PulsarNamespaceKey.parse(now.spec.pulsar_cluster, now.spec.pulsar_namespace)
        last = self._checked_at.get(key)
        is_late = self._ctx.judge.has_checkers if last is None else time - last >= self._resync
        found = None if is_late or _is_due(before, now) else await self._known(claims, before, policy, topics)
        if found is None:
            names = await self._ctx.storage.history_names(claims)
            conflicts, count = await self._conflicts(claims, policy, topics, names)
            found = _found(len(conflicts), conflicts, HistoryCheck(total=len(names), checked=count))
            last = None
        self._checked_at[key] = time if last is None else last
        return found

    async def _known(
        self, claims: PulsarNamespaceKey, before: NamespaceSchemaPolicy, policy: Policy, topics: _Topics
    ) -> Found | None:
        """Return the conflicts of the status that are still there; None if some are over and it does not list all."""
        status = before.status
        known = {each.name: each for each in status.history_conflicts}
        changed = [history for history, topic in topics.items() if _may_be_over(known.get(topic.name), topic)]
        still, _ = await self._conflicts(claims, policy, topics, changed)
        over = {topics[history].name for history in changed} - still.keys()
        if over and status.history_conflict_count > len(known):
            return None
        conflicts = {name: each for name, each in (known | still).items() if name not in over}
        return _found(status.history_conflict_count - len(over), conflicts, status.history_check)

    async def _conflicts(
        self, claims: PulsarNamespaceKey, policy: Policy, topics: _Topics, names: Sequence[str]
    ) -> tuple[dict[str, HistoryConflict], int]:
        """The conflicts by name, and how many of the histories were checked: one at a time is in memory."""
        recheck, conflicts = Recheck(self._ctx.judge, _MOST_VERSIONS, _MOST_BYTES), dict[str, HistoryConflict]()
        for count, history_name in enumerate(names):
            stored = await self._ctx.storage.read_history(claims, history_name)
            if stored is None:
                continue
            history = stored.history
            name, strategy, _ = topics.get(history_name) or _Topic(history.key.topic.local_name, None, None)
            try:
                found = await recheck.newest(history, strategy, policy)
            except (StalledError, CheckerTimeoutError) as error:
                conflicts[name] = _conflict(name, max(0, history.next_version - 1), error.reason, "$")
                continue
            if found is None:
                return conflicts, count
            if found:
                conflicts[name] = _conflict(name, history.entries[-1].schema_version, found[0].rule, found[0].path)
        return conflicts, len(names)


def unchecked(before: NamespaceSchemaPolicy, now: NamespaceSchemaPolicy) -> Found:
    """Return what is known while not all topics were seen; no check if one is due, so that a restart makes it."""
    status = before.status
    check = None if _is_due(before, now) else status.history_check
    return Found(status.history_conflict_count, status.history_conflicts, check)


def _is_due(before: NamespaceSchemaPolicy, now: NamespaceSchemaPolicy) -> bool:
    """Return whether the status has no check of the policy as it is now."""
    is_current = before.status.observed_generation == before.metadata.generation
    return not is_current or before.status.history_check is None or policy_of(before) != policy_of(now)


def _may_be_over(conflict: HistoryConflict | None, topic: _Topic) -> bool:
    if conflict is None:
        return False
    return topic.strategy is not None or topic.latest not in (None, conflict.schema_version)


def _topics(summaries: Mapping[Key, TopicSummary]) -> _Topics:
    """Return the resource of each history; if there are several, the one that holds the topic."""
    seen = sorted(summaries.items(), key=lambda item: (not item[1].lost_claim, item[0]))
    return {s.history: _Topic(key.name, s.strategy, s.latest) for key, s in seen if s.history is not None}


def _found(count: int, conflicts: Mapping[str, HistoryConflict], check: HistoryCheck | None) -> Found:
    return Found(count, tuple(conflicts[name] for name in sorted(conflicts))[:_LISTED], check)


def _conflict(name: str, schema_version: int, rule: str, path: str) -> HistoryConflict:
    # A path is as long as the schema's author likes; the CRD would refuse the whole status for it.
    return HistoryConflict(name=name, schema_version=schema_version, rule=rule, path=truncate(path, FINDING_BYTES))
