"""Tests of every SchemaStorage: versions that a broker is about to get; see `storage_contract`."""

from dataclasses import replace

import pytest

from support.kubernetes.storage_contract import append, following, newest, text
from topicschema.core.history import History
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.protocol import SchemaStorage

KEY = TopicKey("pulsar", Topic("shop", "orders", "announced"))
TWO = text("two", {"owner": "team-a"})


class AnnouncingContract:
    async def test_what_is_announced_is_known_until_the_history_names_it(self, storage: SchemaStorage) -> None:
        stored = await append(storage, KEY, text("one"))
        history = following(stored.history, TWO)
        assert not await storage.is_announced(stored.history, TWO.info)
        await storage.announce(history, TWO.info)
        assert await storage.is_announced(stored.history, TWO.info)
        assert not await storage.is_announced(stored.history, text("three").info)
        assert await storage.get_history(KEY) == stored
        written = await storage.put(stored, history)
        assert await newest(storage, written) == TWO.info
        assert not await storage.is_announced(written.history, TWO.info)

    async def test_another_topic_or_incarnation_has_other_announcements(self, storage: SchemaStorage) -> None:
        await storage.announce(following(History(KEY), TWO), TWO.info)
        for other in (History(KEY, incarnation=1), History(replace(KEY, pulsar_cluster="another"))):
            assert not await storage.is_announced(other, TWO.info)

    async def test_what_was_only_kept_is_not_announced_before_it_is(self, storage: SchemaStorage) -> None:
        history = following(History(KEY), TWO)
        await storage.keep(history, [(history.entries[-1], TWO.info)])
        assert not await storage.is_announced(History(KEY), TWO.info)
        await storage.announce(history, TWO.info)
        assert await storage.is_announced(History(KEY), TWO.info)

    async def test_only_the_content_of_the_newest_version_is_announced(self, storage: SchemaStorage) -> None:
        with pytest.raises(ValueError, match="not the contents"):
            await storage.announce(following(History(KEY), TWO), text("three").info)
