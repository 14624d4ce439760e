"""Judging after versions that a broker had and cannot read: the same no as the command line gives, by the same rule."""

import json
from dataclasses import replace
from typing import Any

import pytest

from support.kubernetes.memory_storage import MemoryStorage
from support.schemas.recorded_versions import KEY
from topicschema.cli.check import engine
from topicschema.core import formats
from topicschema.core.history import Counter, Flaw, History
from topicschema.core.imports import entry_of
from topicschema.core.policy import Constraints, Policy
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Outcome, Verdict
from topicschema.judging.judge import Judge
from topicschema.storage.protocol import Stored
from unit.judging.conftest import JudgeOf


def record(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields)})


ID = {"name": "id", "type": "string"}
GOOD, OTHER = record(ID), record(ID, {"name": "note", "type": "string", "default": ""})
WRONG_DEFAULT = record(ID, {"name": "note", "type": "string", "default": None})
JACKSON = '{"type": "object", "id": "urn:jsonschema:Order", "properties": {}}'
NO_TEXT = "{"
FLAWED = [WRONG_DEFAULT, JACKSON, NO_TEXT]


def info(text: str, kind: SchemaType = SchemaType.AVRO) -> SchemaInfo:
    return SchemaInfo(kind, text.encode())


def adopted(*infos: SchemaInfo, line: PulsarLine = PulsarLine.V4_0) -> History:
    """The record of what a broker of that line had."""
    versions = (RemoteVersion(number, each, "2026-11-21T05:30:00Z") for number, each in enumerate(infos))
    return History(KEY, entries=tuple(entry_of(each, line) for each in versions), counted_by=Counter.BROKER)


async def judged(
    candidate: SchemaInfo, *infos: SchemaInfo, policy: Policy, line: PulsarLine = PulsarLine.V4_0
) -> Verdict:
    storage, history = MemoryStorage(), adopted(*infos, line=line)
    await storage.put(Stored(History(KEY)), history, infos)
    judge = Judge(storage)
    try:
        return await judge.judge(Candidate(formats.parse(candidate, policy.profile.line)), history, policy)
    finally:
        judge.close()


@pytest.mark.parametrize("strategy", [each for each in Strategy if each is not Strategy.UNDEFINED])
@pytest.mark.parametrize("flawed", FLAWED)
@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF, SchemaType.STRING])
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_version_that_no_broker_reads_is_the_same_no_here_and_on_the_command_line(
    strategy: Strategy, flawed: str, kind: SchemaType, place: int
) -> None:
    before = [info(GOOD), info(OTHER)]
    before.insert(place, info(flawed))
    candidate = info("" if kind is SchemaType.STRING else record({**ID, "type": "long"}), kind)
    policy = Policy(strategy)
    verdict = await judged(candidate, *before, policy=policy)
    told = engine.answer(engine.Question(candidate, tuple(before), policy))
    assert verdict.is_compatible is told.is_compatible
    rules = [told.refusal.reason] if told.refusal else [each.rule for each in told.incompatibilities]
    assert [each.rule for each in verdict.incompatibilities] == rules
    if kind is not SchemaType.STRING:
        assert rules == ["INVALID_HISTORY"]
        assert verdict.incompatibilities[0].schema_version == place


@pytest.mark.parametrize("flawed", FLAWED)
async def test_an_equal_version_before_it_is_found_and_one_behind_it_is_not(flawed: str) -> None:
    policy = Policy(Strategy.FULL)
    before = await judged(info(GOOD), info(GOOD), info(flawed), policy=policy)
    assert (before.outcome, before.schema_version) == (Outcome.EQUAL_VERSION, 0)
    behind = await judged(info(GOOD), info(flawed), info(GOOD), policy=policy)
    assert [each.rule for each in behind.incompatibilities] == ["INVALID_HISTORY"]


async def test_a_version_before_a_tombstone_stops_nothing(judge_of: JudgeOf) -> None:
    storage, history = MemoryStorage(), adopted(info(NO_TEXT), SchemaInfo(SchemaType.NONE))
    deleted = replace(history, entries=(history.entries[0], replace(history.entries[1], is_tombstone=True)))
    await storage.put(Stored(History(KEY)), deleted, (info(NO_TEXT),))
    verdict = await judge_of(storage).judge(Candidate(formats.parse(info(GOOD))), deleted, Policy(Strategy.FULL))
    assert (verdict.outcome, verdict.schema_version) == (Outcome.NEXT_VERSION, 2)


async def test_what_the_platform_team_forbids_is_told_first() -> None:
    policy = Policy(Strategy.FULL, constraints=Constraints(required_properties=("owner",)))
    verdict = await judged(info(GOOD), info(NO_TEXT), policy=policy)
    assert [each.rule for each in verdict.incompatibilities] == ["PROPERTY_MISSING"]


async def test_a_pair_that_cannot_be_read_stops_only_what_is_compared_with_it() -> None:
    broken = SchemaInfo(SchemaType.KEY_VALUE, b"\0\0\0\x7f", {"kv.encoding.type": "INLINE"})
    pair = SchemaInfo(SchemaType.KEY_VALUE, b"\0" * 8, {"key.schema.type": "BYTES", "value.schema.type": "BYTES"})
    assert adopted(broken).entries[0].flaw is Flaw.UNPARSABLE
    lenient = await judged(pair, broken, policy=Policy(Strategy.ALWAYS_COMPATIBLE))
    assert lenient.outcome is Outcome.NEXT_VERSION
    refused = await judged(pair, broken, policy=Policy(Strategy.BACKWARD))
    assert [each.rule for each in refused.incompatibilities] == ["INVALID_HISTORY"]
