"""Judging with its reads: what is fetched, kept, and moved off the event loop."""

import asyncio
import json
import threading
from dataclasses import replace

import pytest

from topicschema.cluster.errors import ConflictError
from topicschema.core import formats
from topicschema.core.checkers import Finding, Plugged
from topicschema.core.errors import InvalidSchemaError, StalledError
from topicschema.core.history import History, Origin
from topicschema.core.policy import Constraints, Policy, Strictness
from topicschema.core.schemas import PulsarLine, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic, TopicKey
from topicschema.core.verdict import Candidate, Outcome
from topicschema.reconcile import judging
from topicschema.reconcile.judging import Judge
from topicschema.storage.memory import MemoryStorage
from topicschema.storage.protocol import Stored

KEY = TopicKey("pulsar", Topic("shop", "orders", "created"))
ID = {"name": "id", "type": "string"}
NOTE = {"name": "note", "type": "string"}
DOC = "d" * 600_000


def schema(*fields: object, doc: str = "") -> Schema:
    text = json.dumps({"type": "record", "name": "R", "doc": doc, "fields": list(fields)})
    return formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()))


async def on_record(*schemas: Schema) -> tuple[MemoryStorage, History]:
    storage, stored = MemoryStorage(), Stored(History(KEY))
    for each in schemas:
        history = stored.history.with_version(each, Origin.SPEC, "2026-11-21T05:30:00Z")
        stored = await storage.put(stored, history, (each.info,))
    return storage, stored.history


@pytest.mark.parametrize("doc", ["", DOC], ids=["small", "large"])
async def test_the_verdict_is_that_of_core_over_what_is_stored(doc: str) -> None:
    storage, history = await on_record(schema(ID, doc=doc))
    judge = Judge(storage)
    verdict = await judge.judge(Candidate(schema(ID, NOTE)), history, Policy(Strategy.BACKWARD))
    assert [found.rule for found in verdict.incompatibilities] == ["FIELD_WITHOUT_DEFAULT"]
    verdict = await judge.judge(Candidate(schema(ID, NOTE)), history, Policy(Strategy.FORWARD))
    assert verdict.outcome is Outcome.NEXT_VERSION
    judge.close()


async def test_a_version_once_parsed_is_kept() -> None:
    storage, history = await on_record(schema(ID), schema(ID, NOTE))
    judge = Judge(storage)
    first = await judge.version(history, history.entries[0], PulsarLine.V4_0)
    await storage.delete(await storage.get_history(KEY))
    assert await judge.version(history, history.entries[0], PulsarLine.V4_0) is first
    judge.close()


async def test_a_candidate_that_was_parsed_need_not_be_fetched_as_a_version() -> None:
    judge = Judge(MemoryStorage())
    candidate = await judge.parse(schema(ID).info, PulsarLine.V4_0)
    history = History(KEY).with_version(candidate, Origin.SPEC, "2026-11-21T05:30:00Z")
    assert await judge.version(history, history.entries[0], PulsarLine.V4_0) is candidate
    judge.close()


async def test_what_is_kept_is_bounded_and_the_least_used_goes_first() -> None:
    texts = [schema(ID, doc=f"{number}" * 1_000) for number in range(3)]
    weight = judging._BYTES_PER_BYTE * len(texts[0].info.schema) + judging._BYTES_PER_SCHEMA
    judge = Judge(MemoryStorage(), cache_bytes=2 * weight + 100)
    kept = [await judge.parse(text.info, PulsarLine.V4_0) for text in texts[:2]]
    assert await judge.parse(texts[0].info, PulsarLine.V4_0) is kept[0]
    await judge.parse(texts[2].info, PulsarLine.V4_0)
    assert await judge.parse(texts[0].info, PulsarLine.V4_0) is kept[0]
    assert await judge.parse(texts[1].info, PulsarLine.V4_0) is not kept[1]
    judge.close()


async def test_a_schema_larger_than_all_that_may_be_kept_is_parsed_and_not_kept() -> None:
    judge = Judge(MemoryStorage(), cache_bytes=1_000)
    info = schema(ID).info
    assert await judge.parse(info, PulsarLine.V4_0) is not await judge.parse(info, PulsarLine.V4_0)
    judge.close()


async def test_other_properties_are_another_candidate() -> None:
    judge = Judge(MemoryStorage())
    text = schema(ID).info.schema
    for owner in ("a", "b"):
        parsed = await judge.parse(SchemaInfo(SchemaType.AVRO, text, {"owner": owner}), PulsarLine.V4_0)
        assert parsed.info.properties == {"owner": owner}
    judge.close()


async def test_a_large_text_leaves_the_event_loop_free() -> None:
    judge = Judge(MemoryStorage())
    large = schema(*({"name": f"f{number}", "type": "string"} for number in range(20_000)))
    parsing = asyncio.create_task(judge.parse(large.info, PulsarLine.V4_0))
    turns = 0
    while not parsing.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 10
    judge.close()


async def test_an_invalid_candidate_is_an_invalid_schema() -> None:
    judge = Judge(MemoryStorage())
    with pytest.raises(InvalidSchemaError):
        await judge.parse(SchemaInfo(SchemaType.AVRO, b"{"), PulsarLine.V4_0)
    judge.close()


async def test_a_version_on_record_that_does_not_parse_is_a_damaged_record_not_the_candidate_s_fault() -> None:
    good = schema(ID)
    history = History(KEY).with_version(good, Origin.SPEC, "2026-11-21T05:30:00Z")
    entry = history.entries[0]

    class Damaged(MemoryStorage):
        async def get(self, *_: object) -> SchemaInfo:  # type: ignore[override]
            return SchemaInfo(SchemaType.AVRO, b"{")

    judge = Judge(Damaged())
    with pytest.raises(StalledError) as raised:
        await judge.version(history, entry, PulsarLine.V4_0)
    assert raised.value.reason == "RecordDamaged"
    assert "version 0" in raised.value.message
    judge.close()


async def test_replay_tells_why_the_latest_would_be_refused_after_those_before_it() -> None:
    storage, history = await on_record(schema(ID), schema(ID, NOTE))
    judge = Judge(storage)
    found = await judge.replay(history, None, Policy(Strategy.BACKWARD))
    assert [(each.rule, each.schema_version) for each in found] == [("FIELD_WITHOUT_DEFAULT", 0)]
    assert await judge.replay(history, None, Policy(Strategy.FORWARD)) == ()
    assert await judge.replay(history, Strategy.FORWARD, Policy(Strategy.BACKWARD)) == ()
    judge.close()


class Refusing:
    def incompatibilities(self, *_: object) -> list[Finding]:
        return [Finding("NO", "no")]


class Hanging:
    def __init__(self) -> None:
        self.released = threading.Event()

    def incompatibilities(self, *_: object) -> list[Finding]:
        self.released.wait(60)
        return []


async def test_checkers_that_are_plugged_in_are_asked_wherever_something_is_judged() -> None:
    storage, history = await on_record(schema(ID))
    judge = Judge(storage, checkers={SchemaType.AVRO: Plugged("acme", Refusing())})
    candidate, policy = schema(ID, NOTE), Policy(Strategy.FORWARD)
    verdict = await judge.judge(Candidate(candidate), history, policy)
    assert [each.rule for each in verdict.incompatibilities] == ["NO"]
    compared = await judge.compare(candidate, schema(ID), Strategy.FORWARD, policy)
    assert [each.rule for each in compared.incompatibilities] == ["NO"]
    judge.close()


async def test_one_that_hangs_is_a_no_and_holds_up_nobody_else() -> None:
    storage, history = await on_record(schema(ID))
    hanging = Hanging()
    judge = Judge(storage, checkers={SchemaType.AVRO: Plugged("acme", hanging)}, patience=0.05)
    with pytest.raises(StalledError) as raised:
        await judge.judge(Candidate(schema(ID, NOTE)), history, Policy(Strategy.FORWARD))
    assert raised.value.reason == "CheckerTimeout"
    assert "checkers are plugged in (acme); so it is no" in raised.value.message
    assert (await judge.parse(schema(ID).info, PulsarLine.V4_0)).info == schema(ID).info
    hanging.released.set()
    judge.close()


async def test_ones_that_hang_for_ever_hold_up_no_other_type() -> None:
    storage, history = await on_record(schema(ID))
    hanging = Hanging()
    judge = Judge(storage, checkers={SchemaType.PROTOBUF: Plugged("acme", hanging)}, patience=0.05)
    one, two = (formats.parse(replace(each.info, type=SchemaType.PROTOBUF)) for each in (schema(ID), schema(ID, NOTE)))
    for _ in range(3):
        with pytest.raises(StalledError, match="plugged in"):
            await judge.compare(two, one, Strategy.FORWARD, Policy(Strategy.FORWARD))
    verdict = await judge.judge(Candidate(schema(ID, NOTE)), history, Policy(Strategy.FORWARD))
    assert verdict.outcome is Outcome.NEXT_VERSION
    hanging.released.set()
    judge.close()


async def test_replay_of_one_version_or_none_finds_nothing() -> None:
    storage, history = await on_record(schema(ID))
    judge = Judge(storage)
    for each in (history, History(KEY)):
        assert await judge.replay(each, None, Policy(Strategy.ALWAYS_INCOMPATIBLE)) == ()
    judge.close()


def card(*symbols: str) -> Schema:
    kind = {"type": "enum", "name": "Suit", "symbols": list(symbols), "default": "NONE"}
    text = json.dumps({"type": "record", "name": "Card", "fields": [{"name": "suit", "type": kind}]})
    return formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()))


WIDE, NARROW = card("NONE", "HEARTS", "SPADES"), card("NONE", "HEARTS")


async def told(judge: Judge, candidate: Schema, history: History, policy: Policy) -> list[str]:
    verdict = await judge.judge(Candidate(candidate), history, policy)
    return [risk.rule for risk in await judge.risks(verdict, history, None, policy)]


@pytest.mark.parametrize("strictness", Strictness)
async def test_the_risks_of_a_version_stay_the_same_after_it_was_registered(strictness: Strictness) -> None:
    storage, history = await on_record(WIDE, NARROW)
    judge = Judge(storage)
    policy = Policy(Strategy.BACKWARD, strictness)
    assert await told(judge, NARROW, history, policy) == ["ENUM_SYMBOL_REPLACED"]
    assert await told(Judge(storage), NARROW, history, policy) == ["ENUM_SYMBOL_REPLACED"]
    assert await told(judge, WIDE, history, policy) == []
    judge.close()


async def test_what_came_later_and_what_was_deleted_is_no_matter_of_a_version_s_risks() -> None:
    storage, history = await on_record(WIDE, NARROW, card("NONE"))
    judge = Judge(storage)
    deleted = replace(history, entries=(replace(history.entries[0], is_tombstone=True), *history.entries[1:]))
    assert await told(judge, NARROW, history, Policy(Strategy.BACKWARD)) == ["ENUM_SYMBOL_REPLACED"]
    assert await told(judge, NARROW, deleted, Policy(Strategy.BACKWARD)) == []
    judge.close()


async def test_risks_are_read_once_and_then_remembered_by_what_decides_about_them() -> None:
    storage, history = await on_record(WIDE, NARROW)
    judge = Judge(storage, cache_bytes=1)
    backward, forward = Policy(Strategy.BACKWARD), Policy(Strategy.FORWARD)
    assert await told(judge, NARROW, history, backward) == ["ENUM_SYMBOL_REPLACED"]
    await storage.delete(await storage.get_history(KEY))
    assert await told(judge, NARROW, history, backward) == ["ENUM_SYMBOL_REPLACED"]
    with pytest.raises(ConflictError):
        await told(judge, NARROW, history, forward)
    judge.close()


async def test_the_risks_of_what_was_refused_are_those_of_its_verdict() -> None:
    storage, history = await on_record(WIDE)
    judge = Judge(storage)
    policy = Policy(Strategy.BACKWARD, constraints=Constraints(allowed_types=(SchemaType.JSON,)))
    assert await told(judge, NARROW, history, policy) == []
    judge.close()
