"""Check of the newest version of a topic after its policy changed.

Only the newest version is compared with its predecessors. The time is linear in the number of versions.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from topicschema.core import verdict
from topicschema.core.broker_versions import UnreadableVersionError
from topicschema.core.compatibility import Incompatibility
from topicschema.core.history import History, VersionEntry
from topicschema.core.policy import Policy, Strictness, TopicChoices, effective_strategy
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate
from topicschema.judging.judge import Judge

# The versions of one comparison: few, because it blocks the event loop.
_PART_VERSIONS = 16
_PART_BYTES = 256 * 1024


class Recheck:
    """Check of newest versions within limits: the number of versions to read, and their schemas' bytes.

    Other tasks run between two reads and between two comparisons.
    """

    def __init__(self, judge: Judge, most_versions: float = float("inf"), most_bytes: float = float("inf")) -> None:
        self._judge = judge
        self._versions_left = most_versions
        self._bytes_left = most_bytes

    async def newest(
        self, history: History, strategy: Strategy | None, policy: Policy
    ) -> tuple[Incompatibility, ...] | None:
        """Return the incompatibilities of the newest version, () for none, or None if a limit is reached.

        `strategy` is the topic's own. The policy's constraints are not checked, because they apply to resources, not to
        versions. The result is that of the first part with incompatibilities, newest versions first.
        """
        pulsar_version, is_strict = policy.profile.pulsar_version, policy.strictness is Strictness.STRICT
        history = await self._judge.for_version(history, pulsar_version)
        latest, earlier = history.latest, tuple(history.active_versions)[:-1]
        if latest is None or not (earlier or is_strict or latest.flaw or history.unverified_for(pulsar_version, None)):
            return ()  # a first version that this policy's Pulsar version has parsed before
        try:
            schema = await self._judge.versions.version(history, latest, pulsar_version)
        except UnreadableVersionError as error:
            return (error.finding,)
        candidate = Candidate(schema, TopicChoices(strategy))
        unconstrained = policy.unconstrained
        async for part in self._parts(candidate, replace(history, entries=earlier, deleted=()), unconstrained):
            if self._versions_left < 0 or self._bytes_left < 0:
                return None
            incompatibilities = (await self._judge.judge(candidate, part, unconstrained)).incompatibilities
            if incompatibilities:
                return incompatibilities
            await asyncio.sleep(0)
        return ()

    async def _parts(self, candidate: Candidate, earlier: History, policy: Policy) -> AsyncIterator[History]:
        """Yield the earlier versions in parts, newest first. The schemas of a part are in memory together."""
        needed = {each.schema_version for each in verdict.earlier_versions(candidate, earlier, policy) if each.is_read}
        is_divisible = self._is_divisible(candidate, earlier, policy)
        part: list[VersionEntry] = []
        size = 0
        for entry in reversed(earlier.entries):
            part.append(entry)
            if entry.schema_version in needed:
                size += await self._read(earlier, entry)
            if is_divisible and (len(part) == _PART_VERSIONS or size >= _PART_BYTES):
                yield replace(earlier, entries=tuple(reversed(part)))
                part, size = [], 0
        if part or not earlier.entries:
            yield replace(earlier, entries=tuple(reversed(part)))

    def _is_divisible(self, candidate: Candidate, earlier: History, policy: Policy) -> bool:
        """Return True if each version is compared by itself. A custom checker may compare all of them together."""
        is_transitive = effective_strategy(policy, candidate.strategy).value.is_transitive
        is_new = earlier.equal_to(candidate.schema.fingerprint) is None
        return is_transitive and is_new and not self._judge.has_checkers

    async def _read(self, history: History, entry: VersionEntry) -> int:
        """Read a version into memory. Return the bytes of its schema, or 0 if a limit is reached."""
        self._versions_left -= 1
        if self._versions_left < 0 or self._bytes_left < 0:
            return 0
        size = len((await self._judge.versions.payload(history, entry)).schema)
        self._bytes_left -= size
        await asyncio.sleep(0)
        return size
