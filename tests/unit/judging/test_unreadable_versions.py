"""Stored versions that one Pulsar version cannot read: the parser of the policy's own version decides."""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import permutations

import pytest

from support.kubernetes.memory_storage import MemoryStorage
from support.kubernetes.topic import TOPIC, World, open_topic
from support.pulsar.schema_service import Entry
from support.schemas.recorded_versions import KEY
from topicschema.cli.check import engine
from topicschema.core import formats
from topicschema.core.history import Flaw, History, NumberedBy, Origin
from topicschema.core.imports import entry_of
from topicschema.core.policy import BrokerProfile, Constraints, Policy
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Outcome, Verdict
from topicschema.judging.judge import Judge
from topicschema.judging.recheck import Recheck
from topicschema.storage.protocol import Stored
from unit.judging.conftest import JudgeOf

ID = {"name": "id", "type": "string"}


def text(*fields: object, name: str = "R", **members: str) -> str:
    return json.dumps({"type": "record", "name": name, "fields": [ID, *fields], **members})


def note(name: str, default: object) -> dict[str, object]:
    return {"name": name, "type": ["null", "string"], "default": default}


DOLLAR = text(name="R$X")
SECOND_BRANCH = text(note("note", "x"))
DASHED = text(namespace="my-shop")
ONLY_4_0, ONLY_4_1 = [DASHED], [DOLLAR, SECOND_BRANCH]
NOWHERE = [text(note("note", 1)), "{", '{"type": "object", "id": "urn:jsonschema:Order", "properties": {}}']
PAIRS = [(ONLY_4_0, PulsarVersion.V4_1, PulsarVersion.V4_0), (ONLY_4_1, PulsarVersion.V4_0, PulsarVersion.V4_1)]
READ_BY_ONE = [(left, before, now) for texts, before, now in PAIRS for left in texts]
GOOD, OTHER = text(), text({"name": "note", "type": "string", "default": ""})
WRONG_DEFAULT = text({"name": "note", "type": "string", "default": None})
FLAWED = [WRONG_DEFAULT, NOWHERE[2], NOWHERE[1]]
BACKWARD = Strategy.BACKWARD_TRANSITIVE


def info(left: str, kind: SchemaType = SchemaType.AVRO) -> SchemaInfo:
    return SchemaInfo(kind, left.encode())


def policy(pulsar_version: PulsarVersion, strategy: Strategy = BACKWARD) -> Policy:
    return Policy(strategy, profile=BrokerProfile(pulsar_version))


def adopted(*infos: SchemaInfo, pulsar_version: PulsarVersion = PulsarVersion.V4_0) -> History:
    """Return the history of what a broker had, as a policy of that Pulsar version read it."""
    versions = (RemoteVersion(number, each, "2026-11-21T05:30:00Z") for number, each in enumerate(infos))
    return History(
        KEY, entries=tuple(entry_of(each, pulsar_version) for each in versions), numbered_by=NumberedBy.BROKER
    )


async def judged(
    candidate: SchemaInfo, history: History, storage: MemoryStorage, pulsar_version: PulsarVersion
) -> tuple[str, ...]:
    """Return outcome, number and rules of the verdict."""
    with contextlib.closing(Judge(storage, cache_bytes=0)) as judge:  # which reads all from the storage
        under = await judge.for_version(history, pulsar_version)
        verdict = await judge.judge(Candidate(formats.parse(candidate, pulsar_version)), under, policy(pulsar_version))
    return (verdict.outcome, str(verdict.schema_version), *(each.rule for each in verdict.incompatibilities))


async def stored(*infos: SchemaInfo, pulsar_version: PulsarVersion) -> tuple[MemoryStorage, History]:
    storage, history = MemoryStorage(), adopted(*infos, pulsar_version=pulsar_version)
    await storage.put(Stored(History(KEY)), history, infos)
    return storage, history


async def verdict_on(candidate: SchemaInfo, *infos: SchemaInfo, policy: Policy) -> Verdict:
    storage, history = await stored(*infos, pulsar_version=PulsarVersion.V4_0)
    with contextlib.closing(Judge(storage)) as judge:
        return await judge.judge(Candidate(formats.parse(candidate, policy.profile.pulsar_version)), history, policy)


@pytest.mark.parametrize(("left", "before", "now"), READ_BY_ONE)
@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF])
async def test_a_version_that_the_policy_s_parser_reads_is_equal_to_itself_and_has_successors(
    left: str, kind: SchemaType, before: PulsarVersion, now: PulsarVersion
) -> None:
    storage, history = await stored(info(left, kind), pulsar_version=before)
    assert history.entries[0].flaw is not Flaw.NONE
    assert await judged(info(left, kind), history, storage, now) == (Outcome.EQUAL_VERSION, "0")
    fields = json.loads(left)["fields"]
    following = json.dumps({**json.loads(left), "fields": [*fields, note("more", None)]})
    assert await judged(info(following, kind), history, storage, now) == (Outcome.NEXT_VERSION, "1")
    if kind is not SchemaType.PROTOBUF:  # brokers compare nothing of it
        verdict = await judged(info(left.replace('"string"', '"int"', 1), kind), history, storage, now)
        assert verdict == (Outcome.INCOMPATIBLE, "None", "TYPE_MISMATCH")


@pytest.mark.parametrize(("before", "now"), list(permutations(PulsarVersion, 2)))
@pytest.mark.parametrize("left", [*ONLY_4_0, *ONLY_4_1, *NOWHERE])
async def test_the_verdict_is_the_same_whichever_pulsar_version_read_the_history_first(
    left: str, before: PulsarVersion, now: PulsarVersion
) -> None:
    infos = (info(text()), info(left), info(text(note("more", None))))
    storage, history = await stored(*infos, pulsar_version=before)
    fresh = (await stored(*infos, pulsar_version=now))[::-1]
    for candidate in (text(), text(note("more", None)), text(note("other", None))):
        assert await judged(info(candidate), history, storage, now) == await judged(info(candidate), *fresh, now)


@pytest.mark.parametrize(("left", "before", "now"), READ_BY_ONE)
async def test_the_entry_is_as_if_it_had_been_adopted_under_this_pulsar_version(
    left: str, before: PulsarVersion, now: PulsarVersion, judge_of: JudgeOf
) -> None:
    storage, history = await stored(info(text()), info(left), pulsar_version=before)
    judge = judge_of(storage)
    under = await judge.for_version(history, now)
    assert under.entries == (history.entries[0], adopted(info(text()), info(left), pulsar_version=now).entries[1])


@pytest.mark.parametrize("left", NOWHERE)
async def test_a_version_that_no_parser_reads_stays_refused_and_is_read_again_once(
    left: str, judge_of: JudgeOf
) -> None:
    storage, history = await stored(info(left), pulsar_version=PulsarVersion.V4_0)
    judge = judge_of(storage)
    under = await judge.for_version(history, PulsarVersion.V4_1)
    assert under.entries == adopted(info(left), pulsar_version=PulsarVersion.V4_1).entries
    await storage.delete(await storage.get_history(KEY))
    assert await judge.for_version(history, PulsarVersion.V4_1) == under
    candidate = Candidate(formats.parse(info(text())))
    (finding,) = (await judge.judge(candidate, under, policy(PulsarVersion.V4_1))).incompatibilities
    assert (finding.rule, finding.schema_version) == ("INVALID_HISTORY", 0)


@pytest.mark.parametrize("left", [*ONLY_4_0, *ONLY_4_1, *NOWHERE])
@pytest.mark.parametrize("before", PulsarVersion)
async def test_a_recheck_reports_a_first_version_that_the_policy_s_parser_cannot_read(
    left: str, before: PulsarVersion, judge_of: JudgeOf
) -> None:
    storage, history = await stored(info(left), pulsar_version=before)
    judge = judge_of(storage)
    for now in PulsarVersion:
        is_read = left in (ONLY_4_0 if now is PulsarVersion.V4_0 else ONLY_4_1)
        findings = await Recheck(judge).newest(history, None, policy(now))
        assert [each.rule for each in findings] == ([] if is_read else ["INVALID_HISTORY"])


async def test_a_recheck_compares_with_a_version_that_only_the_policy_s_parser_reads(judge_of: JudgeOf) -> None:
    storage, history = await stored(
        info(DOLLAR), info(text({"name": "n", "type": "int"}, name="R$X")), pulsar_version=PulsarVersion.V4_0
    )
    findings = await Recheck(judge_of(storage)).newest(history, None, policy(PulsarVersion.V4_1))
    assert [(each.rule, each.schema_version) for each in findings] == [("FIELD_WITHOUT_DEFAULT", 0)]


async def test_risks_of_a_pair_that_only_the_policy_s_parser_reads_are_reported(judge_of: JudgeOf) -> None:
    async def risks(pulsar_version: PulsarVersion) -> set[str]:
        storage, history = await stored(pair(DOLLAR), pulsar_version=pulsar_version)
        candidate = Candidate(formats.parse(pair(DOLLAR, "SEPARATED"), PulsarVersion.V4_1))
        rules = policy(PulsarVersion.V4_1, Strategy.ALWAYS_COMPATIBLE)
        verdict = await judge_of(storage).judge(candidate, history, rules)
        return {each.rule for each in verdict.risks}

    assert await risks(PulsarVersion.V4_0) == await risks(PulsarVersion.V4_1) != set()


def pair(value: str, encoding: str = "INLINE") -> SchemaInfo:
    """Return a KEY_VALUE of a string and that value."""
    part = value.encode()
    packed = (0).to_bytes(4, "big") + len(part).to_bytes(4, "big") + part
    kinds = {"key.schema.type": "STRING", "value.schema.type": "AVRO", "kv.encoding.type": encoding}
    return SchemaInfo(SchemaType.KEY_VALUE, packed, kinds)


@pytest.mark.parametrize("strategy", [each for each in Strategy if each is not Strategy.UNDEFINED])
@pytest.mark.parametrize("flawed", FLAWED)
@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF, SchemaType.STRING])
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_version_that_no_broker_reads_is_the_same_no_here_and_on_the_command_line(
    strategy: Strategy, flawed: str, kind: SchemaType, place: int
) -> None:
    before = [info(GOOD), info(OTHER)]
    before.insert(place, info(flawed))
    candidate = info("" if kind is SchemaType.STRING else text().replace('"string"', '"long"'), kind)
    policy = Policy(strategy)
    verdict = await verdict_on(candidate, *before, policy=policy)
    answer = engine.answer(engine.CheckRequest(candidate, tuple(before), policy))
    assert verdict.is_compatible is answer.is_compatible
    rules = [answer.refusal.reason] if answer.refusal else [each.rule for each in answer.incompatibilities]
    assert [each.rule for each in verdict.incompatibilities] == rules
    if kind is not SchemaType.STRING:
        assert rules == ["INVALID_HISTORY"]
        assert verdict.incompatibilities[0].schema_version == place


@pytest.mark.parametrize("flawed", FLAWED)
async def test_an_equal_version_before_an_unreadable_one_passes_and_one_behind_it_does_not(flawed: str) -> None:
    policy = Policy(Strategy.FULL)
    before = await verdict_on(info(GOOD), info(GOOD), info(flawed), policy=policy)
    assert (before.outcome, before.schema_version) == (Outcome.EQUAL_VERSION, 0)
    behind = await verdict_on(info(GOOD), info(flawed), info(GOOD), policy=policy)
    assert [each.rule for each in behind.incompatibilities] == ["INVALID_HISTORY"]


async def test_a_version_before_a_tombstone_stops_nothing(judge_of: JudgeOf) -> None:
    storage, history = MemoryStorage(), adopted(info("{"), SchemaInfo(SchemaType.NONE))
    deleted = replace(history, entries=(history.entries[0], replace(history.entries[1], is_tombstone=True)))
    await storage.put(Stored(History(KEY)), deleted, (info("{"),))
    verdict = await judge_of(storage).judge(Candidate(formats.parse(info(GOOD))), deleted, Policy(Strategy.FULL))
    assert (verdict.outcome, verdict.schema_version) == (Outcome.NEXT_VERSION, 2)


async def test_a_constraint_of_the_policy_is_reported_first() -> None:
    policy = Policy(Strategy.FULL, constraints=Constraints(required_properties=("owner",)))
    verdict = await verdict_on(info(GOOD), info("{"), policy=policy)
    assert [each.rule for each in verdict.incompatibilities] == ["PROPERTY_MISSING"]


async def test_a_pair_that_cannot_be_read_stops_only_what_is_compared_with_it() -> None:
    broken = SchemaInfo(SchemaType.KEY_VALUE, b"\0\0\0\x7f", {"kv.encoding.type": "INLINE"})
    pair = SchemaInfo(SchemaType.KEY_VALUE, b"\0" * 8, {"key.schema.type": "BYTES", "value.schema.type": "BYTES"})
    assert adopted(broken).entries[0].flaw is Flaw.UNPARSABLE
    lenient = await verdict_on(pair, broken, policy=Policy(Strategy.ALWAYS_COMPATIBLE))
    assert lenient.outcome is Outcome.NEXT_VERSION
    refused = await verdict_on(pair, broken, policy=Policy(Strategy.BACKWARD))
    assert [each.rule for each in refused.incompatibilities] == ["INVALID_HISTORY"]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_topic() as world:
        yield world


@pytest.mark.parametrize(("left", "before", "now"), READ_BY_ONE)
async def test_a_topic_is_ready_once_the_version_of_its_broker_is_known(
    world: World, left: str, before: PulsarVersion, now: PulsarVersion
) -> None:
    world.set_registry(pulsar=world.pulsar, version=f"{before}.0")
    world.broker.schemas.entries[TOPIC] = (Entry(0, info(left), "2026-11-21T01:00:00Z"),)
    other = formats.parse(info(text()))
    world.set_schema(other)
    assert await world.reason() == "Incompatible"
    assert [entry.flaw is Flaw.NONE for entry in (await world.history()).entries] == [False]
    world.set_registry(pulsar=world.pulsar, version=f"{now}.0")
    same = formats.parse(info(left), now)
    assert await world.apply(same) == ""
    (entry,) = (await world.history()).entries  # which is stored with the claim
    assert (entry.flaw, entry.pulsar_version) == (Flaw.NONE, now)
    assert (entry.fingerprint, entry.origin) == (same.fingerprint, Origin.BROKER)
    assert world.broker.writes == []
    world.set_registry(pulsar=world.pulsar, version=f"{before}.0")
    world.set_schema(other)
    assert await world.reason() == "Incompatible"
