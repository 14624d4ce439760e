"""Judging with its reads: what is fetched, kept, and moved off the event loop."""

import json

import pytest

from hostile.costly import FAMILIES
from support.kubernetes.memory_storage import MemoryStorage
from support.schemas.recorded_versions import ID, KEY, NOTE, on_record, schema
from support.turns import counted
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.history import History, Origin
from topicschema.core.policy import Policy, Strictness
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Outcome
from topicschema.judging import comparing
from topicschema.judging.broker_versions import UnreadableVersionError
from topicschema.judging.judge import Judge
from topicschema.judging.recheck import Recheck
from topicschema.storage.protocol import Stored

DOC = "d" * 600_000


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
    first = await judge.versions.version(history, history.entries[0], PulsarLine.V4_0)
    await storage.delete(await storage.get_history(KEY))
    assert await judge.versions.version(history, history.entries[0], PulsarLine.V4_0) is first
    judge.close()


async def test_a_candidate_that_was_parsed_need_not_be_fetched_as_a_version() -> None:
    judge = Judge(MemoryStorage())
    candidate = await judge.versions.parse(schema(ID).info, PulsarLine.V4_0)
    history = History(KEY).with_version(candidate, Origin.SPEC, "2026-11-21T05:30:00Z")
    assert await judge.versions.version(history, history.entries[0], PulsarLine.V4_0) is candidate
    judge.close()


async def test_what_is_kept_is_bounded_and_the_least_used_goes_first() -> None:
    texts = [schema(ID, doc=f"{number}" * 1_000) for number in range(3)]
    weight = comparing._BYTES_PER_BYTE * len(texts[0].info.schema) + comparing._BYTES_PER_SCHEMA
    judge = Judge(MemoryStorage(), cache_bytes=2 * weight + 100)
    kept = [await judge.versions.parse(text.info, PulsarLine.V4_0) for text in texts[:2]]
    assert await judge.versions.parse(texts[0].info, PulsarLine.V4_0) is kept[0]
    await judge.versions.parse(texts[2].info, PulsarLine.V4_0)
    assert await judge.versions.parse(texts[0].info, PulsarLine.V4_0) is kept[0]
    assert await judge.versions.parse(texts[1].info, PulsarLine.V4_0) is not kept[1]
    judge.close()


async def test_a_schema_larger_than_all_that_may_be_kept_is_parsed_and_not_kept() -> None:
    judge = Judge(MemoryStorage(), cache_bytes=1_000)
    info = schema(ID).info
    assert await judge.versions.parse(info, PulsarLine.V4_0) is not await judge.versions.parse(info, PulsarLine.V4_0)
    judge.close()


async def test_other_properties_are_another_candidate() -> None:
    judge = Judge(MemoryStorage())
    text = schema(ID).info.schema
    for owner in ("a", "b"):
        parsed = await judge.versions.parse(SchemaInfo(SchemaType.AVRO, text, {"owner": owner}), PulsarLine.V4_0)
        assert parsed.info.properties == {"owner": owner}
    judge.close()


async def test_a_large_text_leaves_the_event_loop_free() -> None:
    judge = Judge(MemoryStorage())
    fields = [{"name": f"f{number}", "type": "string"} for number in range(20_000)]
    large = SchemaInfo(SchemaType.AVRO, json.dumps({"type": "record", "name": "R", "fields": fields}).encode())
    async with counted() as turns:
        await judge.versions.parse(large, PulsarLine.V4_0)
    assert turns.count > 10
    judge.close()


async def test_a_comparison_that_costs_more_than_its_size_says_leaves_the_event_loop_free() -> None:
    earlier, candidate = (formats.parse(FAMILIES["full"](40, version)) for version in range(2))
    storage, history = await on_record(earlier)
    judge = Judge(storage)
    async with counted() as turns:
        verdict = await judge.judge(Candidate(candidate), history, Policy(Strategy.FULL))
    assert turns.count > 10
    assert verdict.is_compatible
    judge.close()


async def test_an_invalid_candidate_is_an_invalid_schema() -> None:
    judge = Judge(MemoryStorage())
    with pytest.raises(InvalidSchemaError):
        await judge.versions.parse(SchemaInfo(SchemaType.AVRO, b"{"), PulsarLine.V4_0)
    judge.close()


async def test_a_version_on_record_that_does_not_parse_is_told_as_such_not_as_the_candidate_s_fault() -> None:
    good = schema(ID)
    history = History(KEY).with_version(good, Origin.SPEC, "2026-11-21T05:30:00Z")
    entry = history.entries[0]

    class Damaged(MemoryStorage):
        async def get(self, *_: object) -> SchemaInfo:  # type: ignore[override]
            return SchemaInfo(SchemaType.AVRO, b"{")

    judge = Judge(Damaged())
    with pytest.raises(UnreadableVersionError) as raised:
        await judge.versions.version(history, entry, PulsarLine.V4_0)
    assert (raised.value.finding.rule, raised.value.finding.schema_version) == ("INVALID_HISTORY", 0)
    assert "version 0" in raised.value.message
    judge.close()


async def test_replay_tells_why_the_latest_would_be_refused_after_those_before_it() -> None:
    storage, history = await on_record(schema(ID), schema(ID, NOTE))
    judge = Judge(storage)
    found = await Recheck(judge).newest(history, None, Policy(Strategy.BACKWARD))
    assert [(each.rule, each.schema_version) for each in found] == [("FIELD_WITHOUT_DEFAULT", 0)]
    assert await Recheck(judge).newest(history, None, Policy(Strategy.FORWARD)) == ()
    assert await Recheck(judge).newest(history, Strategy.FORWARD, Policy(Strategy.BACKWARD)) == ()
    judge.close()


async def test_replay_of_one_version_or_none_finds_nothing() -> None:
    storage, history = await on_record(schema(ID))
    judge = Judge(storage)
    for each in (history, History(KEY)):
        assert await Recheck(judge).newest(each, None, Policy(Strategy.ALWAYS_INCOMPATIBLE)) == ()
    judge.close()


async def test_replay_tells_what_a_strict_policy_refuses_of_a_first_version() -> None:
    trap = SchemaInfo(SchemaType.KEY_VALUE, b"\0" * 8)
    storage, history = await on_record(formats.parse(trap))
    judge = Judge(storage)
    assert await Recheck(judge).newest(history, None, Policy(Strategy.BACKWARD)) == ()
    found = await Recheck(judge).newest(history, None, Policy(Strategy.BACKWARD, Strictness.STRICT))
    assert [each.rule for each in found] == ["PART_TYPE_MISSING", "PART_TYPE_MISSING"]
    judge.close()


async def test_replay_tells_that_another_line_cannot_read_a_first_version() -> None:
    dollar = SchemaInfo(SchemaType.AVRO, b'{"type": "record", "name": "R$", "fields": []}')
    taken = formats.parse(dollar, PulsarLine.V4_1)
    history = History(KEY).with_version(taken, Origin.SPEC, "2026-11-21T05:30:00Z").parsed_by(PulsarLine.V4_1)
    storage = MemoryStorage()
    await storage.put(Stored(History(KEY)), history, (dollar,))
    judge = Judge(storage)
    (found,) = await Recheck(judge).newest(history, None, Policy(Strategy.BACKWARD))
    assert (found.rule, found.schema_version) == ("INVALID_HISTORY", 0)
    assert "registered under Pulsar 4.1" in found.message
    judge.close()
