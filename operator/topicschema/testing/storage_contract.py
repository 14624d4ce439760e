"""The contract of SchemaStorage, as tests: a subclass has the fixture `storage`, and runs them all.

Not a test file by its name: the memory's is in the unit tier, that of Kubernetes needs a cluster.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, reduce

import pytest

from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledError
from topicschema.core.history import MAX_VERSIONS, History, NumberedBy, Origin, Owner, StoredTopicSettings, VersionEntry
from topicschema.core.remote import NamespaceSettings, Setting, TopicSettings
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType, digest
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.storage.protocol import KnownClaims, SchemaStorage, Stored, StoredClaim

WRITERS = 32
TIME = "2026-11-21T05:30:00Z"
SETTINGS = StoredTopicSettings(TopicSettings(), TopicSettings(Strategy.FULL))
OWNER = Owner("shop", "orders-created", "7d1f6bd4-0d0f-4dd0-9d0e-6b1b3a9d5c11")
ANOTHER_OWNER = Owner("else", "where", "00000000-0000-0000-0000-000000000000")
LATER = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Text:
    """A schema as storage knows it: bytes that it stores and never parses."""

    info: SchemaInfo

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.info.schema)


def text(content: str, properties: Mapping[str, str] | None = None, kind: SchemaType = SchemaType.AVRO) -> Text:
    return Text(SchemaInfo(kind, content.encode(), properties or {}))


def add_version(history: History, schema: Text) -> History:
    return history.with_version(schema, Origin.SPEC, TIME)


async def append(storage: SchemaStorage, key: TopicKey, schema: Text) -> Stored:
    stored = await storage.get_history(key)
    return await storage.put(stored, add_version(stored.history, schema), (schema.info,))


async def newest(storage: SchemaStorage, stored: Stored) -> SchemaInfo:
    return await storage.get(stored.history.key, stored.history.incarnation, stored.history.entries[-1])


class SchemaStorageContract:
    @pytest.fixture
    def key(self, request: pytest.FixtureRequest) -> TopicKey:
        """Return a topic of this test alone."""
        return TopicKey("pulsar", Topic("shop", "orders", request.node.name[:200]))

    async def test_an_unknown_topic_has_an_empty_history(self, storage: SchemaStorage, key: TopicKey) -> None:
        assert await storage.get_history(key) == Stored(History(key), "")

    async def test_versions_are_numbered_from_0_and_read_back_as_written(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        await append(storage, key, text("one"))
        written = await append(storage, key, text("two", {"owner": "team-a"}))
        assert await storage.get_history(key) == written
        assert [entry.schema_version for entry in written.history.entries] == [0, 1]
        first, second = written.history.entries
        assert await storage.get(key, 0, first) == text("one").info
        assert await storage.get(key, 0, second) == text("two", {"owner": "team-a"}).info

    async def test_a_claim_changes_without_a_payload(self, storage: SchemaStorage, key: TopicKey) -> None:
        stored = await append(storage, key, text("one"))
        claimed = await storage.put(stored, stored.history.claimed_by(OWNER))
        assert (await storage.get_history(key)).history.claim == OWNER
        await storage.put(claimed, claimed.history.claimed_by(None))
        assert (await storage.get_history(key)).history == stored.history

    async def test_tombstones_and_incarnations_are_stored(self, storage: SchemaStorage, key: TopicKey) -> None:
        stored = await append(storage, key, text("one"))
        tombstone = VersionEntry(1, SchemaType.NONE, digest(b""), digest(b""), Origin.BROKER, TIME, is_tombstone=True)
        history = replace(stored.history, incarnation=3, entries=(*stored.history.entries, tombstone))
        await storage.put(stored, history)
        assert (await storage.get_history(key)).history == history
        after = await append(storage, key, text("two"))
        assert after.history.latest == after.history.entries[2]
        assert after.history.entries[2].schema_version == 2

    async def test_a_write_to_an_outdated_history_is_refused_and_changes_nothing(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        before = await append(storage, key, text("one"))
        after = await append(storage, key, text("two"))
        with pytest.raises(ConflictError):
            await storage.put(before, add_version(before.history, text("other")), (text("other").info,))
        with pytest.raises(ConflictError):
            await storage.put(Stored(History(key)), add_version(History(key), text("other")), (text("other").info,))
        assert await storage.get_history(key) == after
        assert await newest(storage, after) == text("two").info

    async def test_concurrent_writers_get_one_version_each_and_none_is_lost(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        lost_races = 0

        async def write(content: str) -> None:
            nonlocal lost_races
            while True:
                stored = await storage.get_history(key)
                await asyncio.sleep(0)
                try:
                    await storage.put(stored, add_version(stored.history, text(content)), (text(content).info,))
                except ConflictError:
                    lost_races += 1
                else:
                    return

        await asyncio.gather(*(write(f"schema {n}") for n in range(WRITERS)))
        assert lost_races > 0
        history = (await storage.get_history(key)).history
        assert [entry.schema_version for entry in history.entries] == list(range(WRITERS))
        contents = [(await storage.get(key, 0, entry)).schema.decode() for entry in history.entries]
        assert sorted(contents) == sorted(f"schema {n}" for n in range(WRITERS))

    async def test_the_same_call_succeeds_after_a_crash_that_left_a_payload_without_history(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        stored = await self.crashed_before_history(storage, key, text("two"))
        again = await storage.put(stored, add_version(stored.history, text("two")), (text("two").info,))
        assert await newest(storage, again) == text("two").info

    @pytest.mark.parametrize(
        "edited",
        [text("edited"), text("two", {"owner": "b"}), text("two", kind=SchemaType.JSON)],
        ids=["text", "properties", "type"],
    )
    async def test_an_edit_after_such_a_crash_gets_its_own_payload(
        self, storage: SchemaStorage, key: TopicKey, edited: Text
    ) -> None:
        stored = await self.crashed_before_history(storage, key, text("two"))
        written = await storage.put(stored, add_version(stored.history, edited), (edited.info,))
        assert await newest(storage, written) == edited.info

    async def crashed_before_history(self, storage: SchemaStorage, key: TopicKey, schema: Text) -> Stored:
        """Store a topic with one version, and the payload of a second one without its history."""
        first = await append(storage, key, text("one"))
        moved = await storage.put(first, first.history.claimed_by(OWNER))
        with pytest.raises(ConflictError):  # the payload is written before the history's revision is checked
            await storage.put(first, add_version(first.history, schema), (schema.info,))
        return moved

    async def test_a_deleted_history_is_empty_and_its_topic_starts_again(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        other = TopicKey("another", key.topic)
        unrelated = await append(storage, other, text("one"))
        await append(storage, key, text("one"))
        stored = await append(storage, key, text("two"))
        await storage.delete(stored)
        assert await storage.get_history(key) == Stored(History(key), "")
        with pytest.raises(ConflictError):
            await self.another(storage).get(key, 0, stored.history.entries[0])
        assert await storage.get_history(other) == unrelated
        assert await newest(self.another(storage), unrelated) == text("one").info
        assert (await append(storage, key, text("one"))).history.next_version == 1

    async def test_a_history_that_moved_is_not_deleted(self, storage: SchemaStorage, key: TopicKey) -> None:
        before = await append(storage, key, text("one"))
        after = await append(storage, key, text("two"))
        for outdated in (before, Stored(History(key))):
            with pytest.raises(ConflictError):
                await storage.delete(outdated)
        assert await storage.get_history(key) == after
        assert await newest(self.another(storage), after) == text("two").info

    async def test_deleting_a_history_that_does_not_exist_does_nothing(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        await storage.delete(Stored(History(key)))
        assert await storage.get_history(key) == Stored(History(key), "")

    async def test_a_history_holds_the_maximum_number_of_versions(self, storage: SchemaStorage, key: TopicKey) -> None:
        mark, numbers = "A" * 9, range(1_000_000, 1_000_000 + MAX_VERSIONS - 1)
        one = VersionEntry(0, SchemaType.PROTOBUF_NATIVE, digest(b""), digest(b""), Origin.SPEC, TIME, source_mark=mark)
        entries = tuple(replace(one, schema_version=number) for number in numbers)
        stored = await storage.put(Stored(History(key)), History(key, OWNER, 0, entries))
        written = await storage.put(stored, add_version(stored.history, text("last")), (text("last").info,))
        assert (await storage.get_history(key)).history == written.history
        assert written.history.remaining == 0

    async def test_all_versions_of_a_broker_are_stored_in_one_call(self, storage: SchemaStorage, key: TopicKey) -> None:
        schemas = [text(f"version {n}") for n in range(40)]
        history = reduce(add_version, schemas[:20], History(key))
        gone = replace(history.entries[-1], schema_version=20, is_tombstone=True)
        history = reduce(add_version, schemas[20:], replace(history, entries=(*history.entries, gone)))
        history = replace(history, numbered_by=NumberedBy.BROKER, topic_settings=SETTINGS)
        stored = await storage.put(Stored(History(key)), history, [each.info for each in schemas])
        assert (await storage.get_history(key)).history == stored.history == history
        another, live = self.another(storage), [each for each in history.entries if not each.is_tombstone]
        assert [await another.get(key, 0, each) for each in live] == [each.info for each in schemas]

    async def test_the_versions_of_a_broker_begin_a_new_incarnation(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        before = await append(storage, key, text("ours"))
        replaced = reduce(
            add_version, (text("theirs"), text("ours")), replace(before.history, incarnation=1, entries=())
        )
        stored = await storage.put(before, replaced, [text("theirs").info, text("ours").info])
        another = self.another(storage)
        assert [await another.get(key, 1, each) for each in stored.history.entries] == [
            text("theirs").info,
            text("ours").info,
        ]
        assert stored.history.next_version == 2

    async def test_the_same_call_succeeds_after_a_crash_between_many_payloads(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        stored = await self.crashed_before_history(storage, key, text("two"))
        both = reduce(add_version, (text("two"), text("three")), stored.history)
        again = await storage.put(stored, both, [text("two").info, text("three").info])
        another = self.another(storage)
        assert [(await another.get(key, 0, each)).schema for each in again.history.entries] == [
            b"one",
            b"two",
            b"three",
        ]

    async def test_a_payload_of_a_megabyte_is_stored(self, storage: SchemaStorage, key: TopicKey) -> None:
        large = text(random.Random(1).randbytes(500_000).hex())  # noqa: S311 - only to be hard to compress
        stored = await append(storage, key, large)
        assert await newest(self.another(storage), stored) == large.info

    async def test_text_in_any_script_is_stored(self, storage: SchemaStorage, key: TopicKey) -> None:
        key = TopicKey("pulsár", Topic("shop", "orders", f"{key.topic.local_name[:20]}-заказ-注文-🦀"))
        schema = text('{"doc": "Ελληνικά \\u0000 \U0001f980\u2028"}', {"владелец": "команда 🦀"})
        stored = await append(storage, key, schema)
        assert (await storage.get_history(key)).history == stored.history
        assert await newest(self.another(storage), stored) == schema.info

    async def test_the_topics_of_a_pulsar_namespace_are_listed(self, storage: SchemaStorage) -> None:
        keys = [TopicKey("pulsar", Topic("tenant", "listed", name)) for name in ("a", "b", "ü")]
        places = (("pulsar", "tenant", "other"), ("pulsar", "tenant2", "listed"), ("pulsar2", "tenant", "listed"))
        others = [TopicKey(cluster, Topic(tenant, namespace, "a")) for cluster, tenant, namespace in places]
        for key in (*reversed(keys), *others):
            await append(storage, key, text("one"))
        assert await storage.list_topics(PulsarNamespaceKey("pulsar", "tenant", "listed")) == tuple(keys)
        assert await storage.list_topics(PulsarNamespaceKey("pulsar", "tenant", "nothing")) == ()

    async def test_the_bytes_of_a_pulsar_namespace_count_deleted_versions_and_no_other_namespace(
        self, storage: SchemaStorage
    ) -> None:
        keys = [TopicKey("pulsar", Topic("tenant", "counted", name)) for name in ("a", "b")]
        other, counted = TopicKey("pulsar", Topic("tenant", "other", "a")), keys[0].namespace_key
        assert await storage.used_bytes(counted) == 0
        await append(storage, other, text("one"))
        numbers = []
        for key in keys:
            numbers.append(await storage.used_bytes(counted))
            stored = await append(storage, key, text("".join(map(digest, map(str.encode, map(str, range(100)))))))
        numbers.append(await storage.used_bytes(counted))
        await storage.announce(add_version(stored.history, text("two")), text("two").info)
        stored = await storage.put(stored, add_version(stored.history, text("two")))
        numbers.append(await storage.used_bytes(counted))
        stored = await storage.put(stored, stored.history.after_deletion())
        assert numbers == sorted(set(numbers))
        assert numbers[2] > 10_000
        assert await storage.used_bytes(counted) >= numbers[-1] - 1024
        assert await self.another(storage).used_bytes(counted) == await storage.used_bytes(counted)
        await storage.delete(stored)
        assert await storage.used_bytes(counted) == numbers[1]

    async def test_a_lost_payload_is_damage(self, storage: SchemaStorage, key: TopicKey) -> None:
        entry = (await append(storage, key, text("one"))).history.entries[0]
        await self.lose_payloads(storage, key)
        for read in (entry, replace(entry, pulsar_version=PulsarVersion.V4_1)):  # whichever parser read it since
            with pytest.raises(StalledError) as caught:
                await self.another(storage).get(key, 0, read)
            assert caught.value.reason == "HistoryDamaged"

    async def test_a_version_that_the_history_does_not_name_is_a_conflict(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        stored = await append(storage, key, text("one"))
        unnamed = add_version(stored.history, text("two")).entries[-1]
        with pytest.raises(ConflictError):
            await storage.get(key, 0, unnamed)

    async def test_a_payload_of_another_version_is_a_bug_of_the_caller(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        with pytest.raises(ValueError, match="newest entries"):
            await storage.put(Stored(History(key)), add_version(History(key), text("one")), (text("two").info,))
        with pytest.raises(ValueError, match="newest entries"):
            await storage.put(Stored(History(key)), add_version(History(key), text("one")), [text("one").info] * 2)
        with pytest.raises(ValueError, match="another topic"):
            await storage.put(Stored(History(key)), History(TopicKey("another", key.topic)))
        assert (await storage.get_history(key)).revision == ""

    async def test_a_payload_is_announced_until_the_history_names_it(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        two = text("two", {"owner": "team-a"})
        stored = await append(storage, key, text("one"))
        history = add_version(stored.history, two)
        assert not await storage.is_announced(stored.history, two.info)
        await storage.announce(history, two.info)
        assert await storage.is_announced(stored.history, two.info)
        assert not await storage.is_announced(stored.history, text("three").info)
        assert await storage.get_history(key) == stored
        written = await storage.put(stored, history)
        assert await newest(storage, written) == two.info
        assert not await storage.is_announced(written.history, two.info)

    async def test_another_topic_or_incarnation_has_other_announcements(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        await storage.announce(add_version(History(key), text("two")), text("two").info)
        for other in (History(key, incarnation=1), History(replace(key, registry="another"))):
            assert not await storage.is_announced(other, text("two").info)

    async def test_a_stored_payload_is_not_announced_until_it_is_announced(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        history = add_version(History(key), text("two"))
        await storage.keep(history, [(history.entries[-1], text("two").info)])
        assert not await storage.is_announced(History(key), text("two").info)
        await storage.announce(history, text("two").info)
        assert await storage.is_announced(History(key), text("two").info)

    async def test_only_the_content_of_the_newest_version_is_announced(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        with pytest.raises(ValueError, match="not the contents"):
            await storage.announce(add_version(History(key), text("two")), text("three").info)

    async def test_one_of_many_gets_a_free_claim(self, storage: SchemaStorage) -> None:
        claim = PulsarNamespaceKey("pulsar", "shop", "claimed-by-one")
        assert await storage.get_claim(claim) == StoredClaim(claim)
        held = await storage.put_claim(await storage.get_claim(claim), OWNER)
        free = await storage.put_claim(held, None)
        assert (await storage.get_claim(claim)).owner is None
        owners = [Owner("n", f"policy-{n}", f"uid-{n}") for n in range(16)]
        results = await asyncio.gather(*(storage.put_claim(free, owner) for owner in owners), return_exceptions=True)
        (winner,) = [result for result in results if isinstance(result, StoredClaim)]
        assert sum(isinstance(result, ConflictError) for result in results) == 15
        assert await storage.get_claim(claim) == winner

    async def test_original_settings_stay_when_the_owner_of_a_claim_changes(self, storage: SchemaStorage) -> None:
        claim = PulsarNamespaceKey("pulsar", "shop", "settings")
        held = await storage.put_claim(await storage.get_claim(claim), OWNER, "broker:8080")
        original = NamespaceSettings(Strategy.FULL, "Full", allows_auto_update=True)
        noted = await storage.put_settings(held, original, (Setting.STRATEGY,))
        expected = StoredClaim(claim, OWNER, noted.revision, original, (Setting.STRATEGY,), "broker:8080")
        assert await storage.get_claim(claim) == noted == expected
        with pytest.raises(ConflictError):
            await storage.put_settings(held, NamespaceSettings(), (Setting.AUTO_UPDATE,))
        passed = await storage.put_claim(await storage.put_claim(noted, None), ANOTHER_OWNER)
        assert (passed.owner, passed.original, passed.managed) == (ANOTHER_OWNER, original, (Setting.STRATEGY,))
        assert passed.address == ""
        assert await storage.get_claim(claim) == passed

    async def test_the_claims_on_a_pulsar_namespace_are_listed_of_all_clusters(self, storage: SchemaStorage) -> None:
        name = "shop/listed-claims"
        one, two, free = (PulsarNamespaceKey.parse(cluster, name) for cluster in ("a", "b", "c"))
        held = await storage.put_claim(StoredClaim(one), OWNER, "broker:8080")
        await storage.put_claim(StoredClaim(two), ANOTHER_OWNER, "other:8080")
        await storage.put_claim(await storage.put_claim(StoredClaim(free), OWNER, "broker:8080"), None)
        await storage.put_claim(StoredClaim(PulsarNamespaceKey("a", "shop", "elsewhere")), OWNER, "broker:8080")
        known = await storage.list_claims(name)
        assert (known.keys, known.are_all) == ((one, two, free), True)
        assert known.held_at("broker:8080") == (held,)
        assert await storage.list_claims("shop/nothing") == KnownClaims((), (), are_all=True)

    async def test_garbage_collection_removes_unnamed_payloads_after_an_hour(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        stored = await self.crashed_before_history(storage, key, text("two"))
        never = add_version(stored.history, text("two")).entries[-1]
        assert await storage.collect_garbage(datetime.now(UTC)) == 0
        assert await self.another(storage).get(key, 0, never) == text("two").info
        assert await storage.collect_garbage(LATER) == 1
        with pytest.raises(ConflictError):
            await self.another(storage).get(key, 0, never)
        assert await newest(self.another(storage), stored) == text("one").info

    async def test_garbage_collection_retains_payloads_of_an_earlier_incarnation(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        stored = await append(storage, key, text("one"))
        await storage.put(stored, History(key, incarnation=1))
        assert await storage.collect_garbage(LATER) == 0
        assert await self.another(storage).get(key, 0, stored.history.entries[0]) == text("one").info

    async def test_the_stream_has_what_other_clients_write_and_delete(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        other, later = self.another(storage), replace(key, registry="later")
        async with self.streaming(storage) as changes:
            await append(storage, key, text("one"))
            await append(other, later, text("one"))
            assert await changes.get() == later  # and not the own write before
            stored = await append(other, key, text("two"))
            assert await changes.get() == key
            await other.delete(stored)
            assert await changes.get() == key
            await append(other, key, text("one"))
            assert await changes.get() == key

    async def test_the_stream_has_the_write_of_another_client_during_an_own_one(
        self, storage: SchemaStorage, key: TopicKey
    ) -> None:
        other, later = self.another(storage), replace(key, registry="later")
        stored = await append(storage, key, text("one"))
        async with self.streaming(storage) as changes:
            puts = (one.put(stored, stored.history.claimed_by(OWNER)) for one in (other, storage))
            theirs, own = await asyncio.gather(*puts, return_exceptions=True)
            assert isinstance(own, Stored) != isinstance(theirs, Stored)
            await append(other, later, text("one"))
            changed = [await changes.get()]
            while changed[-1] != later:
                changed.append(await changes.get())
            assert changed == ([later] if isinstance(own, Stored) else [key, later])

    @asynccontextmanager
    async def streaming(self, storage: SchemaStorage) -> AsyncIterator[asyncio.Queue[TopicKey]]:
        """Yield a queue of the histories that change from now on."""
        changes: asyncio.Queue[TopicKey] = asyncio.Queue()

        async def follow() -> None:
            async for key in storage.changed():
                await changes.put(key)

        task, begin = asyncio.create_task(follow()), TopicKey("begin", Topic("shop", "orders", "begin"))
        await asyncio.sleep(0)
        for content in ("one", "two"):  # the second comes after all that the stream may begin with
            await append(self.another(storage), begin, text(content))
            while await changes.get() != begin:
                pass
        try:
            yield changes
        finally:
            task.cancel()
            await asyncio.wait({task})

    def another(self, storage: SchemaStorage) -> SchemaStorage:
        """Return another client of the same store, with nothing in memory."""
        raise NotImplementedError

    async def lose_payloads(self, storage: SchemaStorage, key: TopicKey) -> None:
        """Delete the topic's payloads in the store."""
        raise NotImplementedError
