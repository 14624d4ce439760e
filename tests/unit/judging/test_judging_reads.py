"""Reads of a long history's payloads by a judge with an empty cache."""

import asyncio

from typing_extensions import override

from support.kubernetes.memory_storage import MemoryStorage
from support.schemas.recorded_versions import ID, KEY, schema
from topicschema.core.history import History, Origin, VersionEntry
from topicschema.core.policy import Policy
from topicschema.core.schemas import SchemaInfo
from topicschema.core.strategies import Strategy
from topicschema.core.topics import TopicKey
from topicschema.core.verdict import Candidate
from topicschema.judging.judge import Judge
from topicschema.storage.protocol import Stored

VERSIONS = 40


class SlowStorage(MemoryStorage):
    """Answers a read some turns later; `most` is how many were under way at once."""

    def __init__(self) -> None:
        super().__init__()
        self.reads, self.under_way, self.most = 0, 0, 0

    @override
    async def get(self, key: TopicKey, incarnation: int, entry: VersionEntry) -> SchemaInfo:
        self.reads += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        for _ in range(3):
            await asyncio.sleep(0)
        self.under_way -= 1
        return await super().get(key, incarnation, entry)


async def test_the_payloads_of_a_long_history_are_read_side_by_side_each_once_and_not_all_at_once() -> None:
    storage, history = SlowStorage(), History(KEY)
    schemas = [schema(ID, {"name": f"f{number}", "type": "string", "default": ""}) for number in range(VERSIONS)]
    for each in schemas:
        history = history.with_version(each, Origin.SPEC, "2026-11-21T05:30:00Z")
    await storage.put(Stored(History(KEY)), history, [each.info for each in schemas])
    judge = Judge(storage)
    assert (await judge.judge(Candidate(schema(ID)), history, Policy(Strategy.BACKWARD_TRANSITIVE))).is_compatible
    assert storage.reads == VERSIONS
    assert 1 < storage.most < VERSIONS
    judge.close()
