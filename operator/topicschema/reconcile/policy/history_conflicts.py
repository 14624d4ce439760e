"""The topics on record that would not pass the policy that is now in force.

The newest version of each topic is checked when the policy changes, and when the topic's own strategy does.
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
from topicschema.reconcile.runtime.conditions import FINDING_BYTES, capped
from topicschema.reconcile.runtime.object_index import TopicSummary
from topicschema.reconcile.runtime.work_queue import Key

# What one check reads: some 25 seconds of work. The histories after that are not checked.
_MOST_VERSIONS = 100_000
_MOST_BYTES = 256 * 1024 * 1024
_LISTED = 20

_Conflicts = Mapping[str, HistoryConflict]


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


@dataclass(frozen=True, slots=True)
class _Checked:
    """The last check: by which policy and strategies, what it came to, and all conflicts by name.

    `conflicts` is None if only a part of them is known: status lists the first.
    """

    policy: Policy
    topics: _Topics
    found: Found
    conflicts: _Conflicts | None


class HistoryConflicts:
    """Checks the histories of policies, and remembers what was found."""

    def __init__(self, ctx: ReconcileContext) -> None:
        self._ctx = ctx
        self._checked: dict[Key, _Checked] = {}

    def forget(self, key: Key) -> None:
        """Forget a policy that is gone."""
        self._checked.pop(key, None)

    def unchecked(self, key: Key, before: NamespaceSchemaPolicy, now: NamespaceSchemaPolicy) -> Found:
        """Return what is known while not all topics were seen; no check if one is due, so that a restart makes it.

        `before` is the policy as it was read, `now` the same with what its broker has now.
        """
        last = self._checked.get(key)
        if last is not None and last.policy == policy_of(now):
            return last.found
        status = before.status
        check = None if last is not None or _is_due(before, now) else status.history_check
        return Found(status.history_conflict_count, status.history_conflicts, check)

    async def check(
        self,
        key: Key,
        before: NamespaceSchemaPolicy,
        now: NamespaceSchemaPolicy,
        summaries: Mapping[Key, TopicSummary],
    ) -> Found:
        """Return the conflicts, from memory or status where nothing changed."""
        topics, last, policy = _topics(summaries), self._checked.get(key), policy_of(now)
        if last is None and not _is_due(before, now) and not self._ctx.judge.has_checkers:
            last = _from_status(before, policy, topics)
        claims = PulsarNamespaceKey.parse(now.spec.pulsar_cluster, now.spec.pulsar_namespace)
        changed = frozenset[str]() if last is None else _changed(last, topics)
        if last is None or last.policy != policy or (changed and last.conflicts is None):
            checked = await self._check_all(claims, policy, topics)
        else:
            checked = await self._check_some(claims, last, topics, changed)
        self._checked[key] = checked
        return checked.found

    async def _check_all(self, claims: PulsarNamespaceKey, policy: Policy, topics: _Topics) -> _Checked:
        names = await self._ctx.storage.history_names(claims)
        conflicts, count = await self._conflicts(claims, policy, topics, names)
        return _Checked(policy, topics, _found(conflicts, HistoryCheck(total=len(names), checked=count)), conflicts)

    async def _check_some(
        self, claims: PulsarNamespaceKey, last: _Checked, topics: _Topics, changed: frozenset[str]
    ) -> _Checked:
        if not changed:
            return _Checked(last.policy, topics, last.found, last.conflicts)
        conflicts, _ = await self._conflicts(claims, last.policy, topics, sorted(changed))
        outdated = {last.topics[history].name for history in changed}
        kept = {name: each for name, each in (last.conflicts or {}).items() if name not in outdated}
        conflicts = kept | conflicts
        return _Checked(last.policy, topics, _found(conflicts, last.found.check), conflicts)

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


def _is_due(before: NamespaceSchemaPolicy, now: NamespaceSchemaPolicy) -> bool:
    """Return whether the status has no check of the policy as it is now."""
    is_current = before.status.observed_generation == before.metadata.generation
    return not is_current or before.status.history_check is None or policy_of(before) != policy_of(now)


def _from_status(resource: NamespaceSchemaPolicy, policy: Policy, topics: _Topics) -> _Checked:
    status = resource.status
    found = Found(status.history_conflict_count, status.history_conflicts, status.history_check)
    conflicts = {each.name: each for each in status.history_conflicts}
    return _Checked(policy, topics, found, conflicts if len(conflicts) == found.count else None)


def _changed(last: _Checked, topics: _Topics) -> frozenset[str]:
    """The histories whose resource or strategy changed, and those in conflict that have another newest version.

    A version that came since the check was judged by the policy in force.
    """
    return frozenset(
        history
        for history, before in last.topics.items()
        for now in (topics.get(history),)
        if now is None
        or now[:2] != before[:2]
        or (
            now.latest is not None
            and last.conflicts is not None
            and before.name in last.conflicts
            and now.latest != last.conflicts[before.name].schema_version
        )
    )


def _topics(summaries: Mapping[Key, TopicSummary]) -> _Topics:
    """Return the resource of each history; if there are several, the one that holds the topic."""
    seen = sorted(summaries.items(), key=lambda item: (not item[1].lost_claim, item[0]))
    return {s.history: _Topic(key.name, s.strategy, s.latest) for key, s in seen if s.history is not None}


def _found(conflicts: _Conflicts, check: HistoryCheck | None) -> Found:
    return Found(len(conflicts), tuple(conflicts[name] for name in sorted(conflicts))[:_LISTED], check)


def _conflict(name: str, schema_version: int, rule: str, path: str) -> HistoryConflict:
    # A path is as long as the schema's author likes; the CRD would refuse the whole status for it.
    return HistoryConflict(name=name, schema_version=schema_version, rule=rule, path=capped(path, FINDING_BYTES))
