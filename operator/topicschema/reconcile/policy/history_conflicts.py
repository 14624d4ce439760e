"""The stored topics whose newest version violates the current policy.

All newest versions are checked when the policy changes, and once in each resync period. In between only topics in
conflict are checked again, if they have another version or a strategy of their own.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from topicschema.api.policies import HistoryCheck, HistoryConflict, NamespaceSchemaPolicy
from topicschema.core.errors import StalledError
from topicschema.core.policy import Policy, counted_strategy, for_topic
from topicschema.core.strategies import Strategy
from topicschema.core.topics import TopicKey
from topicschema.judging.judge import CheckerTimeoutError
from topicschema.judging.policy_rules import policy_of
from topicschema.judging.recheck import Recheck
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.conditions import FINDING_BYTES, truncate
from topicschema.reconcile.runtime.object_index import TopicSummary
from topicschema.reconcile.runtime.work_queue import Key

_LOG = logging.getLogger(__name__)
# The limits of one check: about 25 seconds of work. The histories beyond them are not checked.
_MOST_VERSIONS = 100_000
_MOST_BYTES = 256 * 1024 * 1024
_LISTED = 20


class _Topic(NamedTuple):
    """A resource's name, and its topic's own strategy and newest version."""

    name: str
    strategy: Strategy | None
    latest: int | None


_Topics = Mapping[TopicKey, _Topic]


@dataclass(frozen=True, slots=True)
class ConflictReport:
    """The fields of the status for the histories. `check` is None while a check is due."""

    count: int
    conflicts: tuple[HistoryConflict, ...]
    check: HistoryCheck | None


class HistoryConflicts:
    """Check of the histories of policies. It stores only the time of each policy's last full check."""

    def __init__(self, ctx: ReconcileContext, resync: float) -> None:
        self._ctx = ctx
        self._resync = resync
        self._checked_at: dict[Key, float] = {}

    def forget(self, key: Key) -> None:
        """Remove a deleted policy."""
        self._checked_at.pop(key, None)

    async def check(
        self,
        key: Key,
        before: NamespaceSchemaPolicy,
        now: NamespaceSchemaPolicy,
        summaries: Mapping[Key, TopicSummary],
    ) -> ConflictReport:
        """Return the conflicts. `before` is the policy as read, `now` the same with its broker's current settings."""
        topics, policy, time = _topics(summaries), policy_of(now), self._ctx.clock()
        claims = now.spec.claim_key
        last = self._checked_at.get(key)
        is_late = self._ctx.judge.has_checkers if last is None else time - last >= self._resync
        report = None if is_late or _is_due(before, now) else await self._known(before, policy, topics)
        if report is None:
            keys = await self._ctx.storage.list_topics(claims)
            conflicts, count = await self._conflicts(policy, topics, keys)
            report = _report(len(conflicts), conflicts, HistoryCheck(total=len(keys), checked=count))
            last = None
        self._checked_at[key] = time if last is None else last
        return report

    async def _known(self, before: NamespaceSchemaPolicy, policy: Policy, topics: _Topics) -> ConflictReport | None:
        """Return the remaining conflicts of the status, or None if some are over and it does not list all."""
        status = before.status
        known = {each.name: each for each in status.history_conflicts}
        changed = [key for key, topic in topics.items() if _may_be_over(known.get(topic.name), topic)]
        still, _ = await self._conflicts(policy, topics, changed)
        over = {topics[key].name for key in changed} - still.keys()
        if over and status.history_conflict_count > len(known):
            return None
        conflicts = {name: each for name, each in (known | still).items() if name not in over}
        return _report(status.history_conflict_count - len(over), conflicts, status.history_check)

    async def _conflicts(
        self, policy: Policy, topics: _Topics, keys: Sequence[TopicKey]
    ) -> tuple[dict[str, HistoryConflict], int]:
        """Return the conflicts by name, and the number of checked histories. One at a time is in memory."""
        recheck, conflicts = Recheck(self._ctx.judge, _MOST_VERSIONS, _MOST_BYTES), dict[str, HistoryConflict]()
        for count, key in enumerate(keys):
            try:
                history = (await self._ctx.storage.get_history(key)).history
            except StalledError as error:
                _LOG.warning("a history is left out: %s", error.message)
                continue
            name, strategy, _ = topics.get(key) or _Topic(key.topic.local_name, None, None)
            own = for_topic(policy, key.topic.local_name, self._ctx.now())
            try:
                findings = await recheck.newest(history, counted_strategy(own, strategy), own)
            except (StalledError, CheckerTimeoutError) as error:
                conflicts[name] = _conflict(name, max(0, history.next_version - 1), error.reason, "$")
                continue
            if findings is None:
                return conflicts, count
            if findings:
                conflicts[name] = _conflict(
                    name, history.entries[-1].schema_version, findings[0].rule, findings[0].path
                )
        return conflicts, len(keys)


def unchecked(before: NamespaceSchemaPolicy, now: NamespaceSchemaPolicy) -> ConflictReport:
    """Return the conflicts of the status, for use before all topics are reconciled.

    If a check is due, the result has no check, so that it also runs after a restart.
    """
    status = before.status
    check = None if _is_due(before, now) else status.history_check
    return ConflictReport(status.history_conflict_count, status.history_conflicts, check)


def _is_due(before: NamespaceSchemaPolicy, now: NamespaceSchemaPolicy) -> bool:
    """Return True if the status has no check of the current policy."""
    is_current = before.status.observed_generation == before.metadata.generation
    return not is_current or before.status.history_check is None or policy_of(before) != policy_of(now)


def _may_be_over(conflict: HistoryConflict | None, topic: _Topic) -> bool:
    if conflict is None:
        return False
    return topic.strategy is not None or topic.latest not in (None, conflict.schema_version)


def _topics(summaries: Mapping[Key, TopicSummary]) -> _Topics:
    """Return the resource of each history. Of several, it is the one that holds the topic."""
    ordered = sorted(summaries.items(), key=lambda item: (not item[1].lost_claim, item[0]))
    return {s.history: _Topic(key.name, s.strategy, s.latest) for key, s in ordered if s.history is not None}


def _report(count: int, conflicts: Mapping[str, HistoryConflict], check: HistoryCheck | None) -> ConflictReport:
    return ConflictReport(count, tuple(conflicts[name] for name in sorted(conflicts))[:_LISTED], check)


def _conflict(name: str, schema_version: int, rule: str, path: str) -> HistoryConflict:
    # The schema's author decides the length of a path; the CRD would refuse the whole status for a long one.
    return HistoryConflict(name=name, schema_version=schema_version, rule=rule, path=truncate(path, FINDING_BYTES))
