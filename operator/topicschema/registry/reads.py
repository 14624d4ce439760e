"""Reads of versions, and the questions about a schema that change nothing."""

import asyncio
import time
from collections import OrderedDict
from datetime import datetime
from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.history import History, VersionEntry
from topicschema.core.policy import TopicChoices, counted_strategy, effective_strategy
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import AVRO_TEXTS, NEWEST, SchemaInfo, fingerprint_of_bytes
from topicschema.core.strategies import Strategy
from topicschema.core.topics import TopicKey
from topicschema.core.verdict import Candidate
from topicschema.judging.judge import Judge
from topicschema.judging.policies import ActivePolicy
from topicschema.registry import answers, verdicts
from topicschema.registry.answers import not_found
from topicschema.storage.protocol import SchemaStorage

_SECONDS: Final = 10.0
_MOST: Final = 1_000


class Histories:
    """Histories as they were read in the last seconds. A change at the store removes them."""

    def __init__(self, storage: SchemaStorage) -> None:
        self._storage = storage
        self._cached: OrderedDict[TopicKey, tuple[float, History]] = OrderedDict()
        self._changes = 0

    async def follow(self) -> None:
        """Remove what other clients change, for ever."""
        async for key in self._storage.changed():
            self.forget(key)

    def forget(self, key: TopicKey) -> None:
        """Read the history again at the next call."""
        self._changes += 1
        self._cached.pop(key, None)

    async def get(self, key: TopicKey) -> History:
        """Return the history."""
        cached, changes = self._cached.get(key), self._changes
        if cached is not None and cached[0] > time.monotonic():
            return cached[1]
        history = (await self._storage.get_history(key)).history
        if changes == self._changes:  # it did not change while it was read
            self._cached[key] = time.monotonic() + _SECONDS, history
            self._cached.move_to_end(key)
            if len(self._cached) > _MOST:
                self._cached.popitem(last=False)
        return history


class Reads:
    """Answers from the store, whatever the broker of the registry has."""

    def __init__(self, storage: SchemaStorage, judge: Judge) -> None:
        self._storage = storage
        self._judge = judge
        self.histories: Final = Histories(storage)

    async def latest(self, key: TopicKey) -> Any:
        """Return the newest version. Raises RestError 404."""
        history = await self.histories.get(key)
        return await self._shown(history, history.latest)

    async def version(self, key: TopicKey, number: int) -> Any:
        """Return the version of that number. Raises RestError 404 also for a deleted one."""
        history = await self.histories.get(key)
        entries = (each for each in history.active_versions if each.schema_version == number)
        return await self._shown(history, next(entries, None))

    async def versions(self, key: TopicKey) -> Any:
        """Return all versions that are not deleted, oldest first."""
        history = await self.histories.get(key)
        shown = await asyncio.gather(*(self._shown(history, each) for each in history.active_versions))
        return {"getSchemaResponses": shown}

    async def metadata(self, key: TopicKey) -> Any:
        """Return the numbers of all entries, deleted ones and tombstones too, or None if there are none."""
        history = await self.histories.get(key)
        index = [{"ledgerId": -1, "entryId": -1, "version": each.schema_version} for each in history.entries]
        return {"info": index[-1], "index": index} if index else None

    async def number_of(self, key: TopicKey, info: SchemaInfo) -> Any:
        """Return the number of the version with exactly these bytes, or -1."""
        history = await self.histories.get(key)
        fingerprint = await self._fingerprint(key, info)
        for entry in history.active_versions:
            may_be_equal = entry.type is info.type and fingerprint in (None, entry.fingerprint)
            if may_be_equal and (await self._payload(history, entry)).schema == info.schema:
                return {"version": entry.schema_version}
        return {"version": -1}

    async def _fingerprint(self, key: TopicKey, info: SchemaInfo) -> str | None:
        """Return the fingerprint that a version with these bytes has, or None if the newest parser refuses the text."""
        if info.type not in AVRO_TEXTS:
            return fingerprint_of_bytes(info.type, info.schema)
        try:
            return (await self._judge.versions.parse(key.topic.pulsar_namespace, info, NEWEST)).fingerprint
        except InvalidSchemaError:
            return None

    async def compatibility(self, key: TopicKey, info: SchemaInfo, active: ActivePolicy, own: Strategy | None) -> Any:
        """Return that the schema is compatible, or raise RestError 500 as the broker does.

        `own` is the topic's own strategy, if it has one.
        """
        pulsar_version = active.policy.profile.pulsar_version
        stored = (await self._storage.get_history(key)).history
        history = await self._judge.for_version(stored, pulsar_version)
        try:
            schema = await self._judge.versions.parse(key.topic.pulsar_namespace, info, pulsar_version)
        except InvalidSchemaError as error:
            raise verdicts.of_untestable(info, error, history) from None
        candidate = Candidate(schema, TopicChoices(counted_strategy(active.policy, own)))
        strategy = effective_strategy(active.policy, candidate.strategy).value
        comparison = await self._judge.compatibility(candidate, history, active.policy)
        if comparison.incompatibilities:
            raise verdicts.of_incompatible(info, strategy, comparison.incompatibilities, history)
        return {"schemaCompatibilityStrategy": strategy.value, "compatibility": True}

    async def _shown(self, history: History, entry: VersionEntry | None) -> Any:
        if entry is None:
            raise not_found()
        info = await self._payload(history, entry)
        seconds = datetime.fromisoformat(entry.registered_at).timestamp()
        version = RemoteVersion(entry.schema_version, info, entry.registered_at)
        return answers.of_version(version, round(seconds * 1000))

    async def _payload(self, history: History, entry: VersionEntry) -> SchemaInfo:
        return await self._judge.versions.payload(history, entry)
