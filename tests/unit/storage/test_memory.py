"""The memory fulfills the contract of SchemaStorage."""

import pytest
from typing_extensions import override

from support.kubernetes.memory_storage import MemoryStorage
from topicschema.core.topics import TopicKey
from topicschema.testing.storage_contract import SchemaStorageContract


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
