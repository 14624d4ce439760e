"""The memory fulfills the contract of SchemaStorage."""

from functools import reduce

import pytest
from typing_extensions import override

from support.kubernetes.memory_storage import MemoryStorage
from support.kubernetes.storage_contract import SchemaStorageContract, following, text
from topicschema.core.topics import Topic, TopicKey


async def test_contents_that_were_kept_beforehand_count_with_their_history() -> None:
    storage, texts = MemoryStorage(), [text("one"), text("two"), text("three")]
    stored = await storage.get_history(TopicKey("pulsar", Topic("shop", "orders", "created")))
    history = reduce(following, texts, stored.history)
    with pytest.raises(ValueError, match="not the contents"):
        await storage.keep(history, [(history.entries[0], texts[1].info)])
    await storage.keep(history, [(e, t.info) for e, t in zip(history.entries[:2], texts[:2], strict=True)])
    assert (await storage.get_history(history.key)).history == stored.history
    await storage.put(stored, history, [texts[2].info])
    assert [await storage.get(history.key, 0, each) for each in history.entries] == [each.info for each in texts]


class TestMemoryStorage(SchemaStorageContract):
    @pytest.fixture
    def storage(self) -> MemoryStorage:
        return MemoryStorage()

    @override
    def another(self, storage: MemoryStorage) -> MemoryStorage:
        return MemoryStorage(storage.memory)

    @override
    async def lose_payloads(self, storage: MemoryStorage, key: TopicKey) -> None:
        storage.memory.lose_payloads(key)
