"""The memory keeps the promises of a SchemaStorage."""

import pytest
from typing_extensions import override

from storage_contract import SchemaStorageContract
from topicschema.core.topics import TopicKey
from topicschema.storage.memory import MemoryStorage


class TestMemoryStorage(SchemaStorageContract):
    @pytest.fixture
    def storage(self) -> MemoryStorage:
        return MemoryStorage()

    @override
    def forgetful(self, storage: MemoryStorage) -> MemoryStorage:
        return storage

    @override
    async def lose_payloads(self, storage: MemoryStorage, key: TopicKey) -> None:
        storage._payloads.clear()
