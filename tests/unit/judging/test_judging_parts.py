"""Versions are read and compared a part at a time: the same verdict, few texts in memory together."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from hostile.costly import FAMILIES
from support.kubernetes.memory_storage import MemoryStorage
from support.schemas.recorded_versions import ID, KEY, NARROW, NOTE, WIDE, on_record, schema
from topicschema.core import formats, parts, verdict
from topicschema.core.checkers import BUILT_IN
from topicschema.core.compatibility import TOO_COMPLEX, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.history import History, VersionEntry
from topicschema.core.policy import Policy, Strictness
from topicschema.core.schemas import PulsarLine, ReadSchema, Schema, SchemaInfo, SchemaType
from topicschema.core.steps import MOST_STEPS
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Outcome
from topicschema.judging.comparing import Version
from topicschema.judging.judge import Judge
from topicschema.judging.workers import OutOfMemoryError, Workers

DOC = "d" * 300_000
TRANSITIVE = Policy(Strategy.BACKWARD_TRANSITIVE)


def optional(number: int) -> dict[str, object]:
    return {"name": f"f{number}", "type": "string", "default": ""}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Version]]:
    """The parts that workers compared."""
    told: list[Sequence[Version]] = []
    call = Workers.call

    async def noted(self: Workers, function: Callable[..., Any], *arguments: Any) -> Any:
        if function.__name__ == "answer":
            told.append(arguments[1])
        return await call(self, function, *arguments)

    monkeypatch.setattr(Workers, "call", noted)
    return told


@pytest.mark.parametrize("other", [0, 1, 99, 100, 101, 249])
@pytest.mark.parametrize("strictness", Strictness)
async def test_the_verdict_is_that_of_all_versions_at_once(
    other: int, strictness: Strictness, asked: list[Sequence[Version]]
) -> None:
    schemas = [schema(ID, optional(number), doc="d" * 2_000) for number in range(250)]
    schemas[other] = WIDE
    storage, history = await on_record(*schemas)
    judge, policy = Judge(storage), Policy(Strategy.FULL_TRANSITIVE, strictness)
    candidate = Candidate(NARROW)
    found = await judge.judge(candidate, history, policy)
    assert found == verdict.judge(candidate, history, policy, dict(enumerate(schemas)))
    assert [len(part) for part in asked] == [100, 100, 50]
    judge.close()


async def test_what_is_small_is_compared_here_unless_it_takes_many_steps(asked: list[Sequence[Version]]) -> None:
    for size, parts_of_workers in ((4, 0), (40, 1)):
        earlier, candidate = (formats.parse(FAMILIES["full"](size, version)) for version in range(2))
        storage, history = await on_record(earlier)
        judge = Judge(storage)
        found = await judge.judge(Candidate(candidate), history, TRANSITIVE)
        assert found == verdict.judge(Candidate(candidate), history, TRANSITIVE, {0: earlier})
        assert len(asked) == parts_of_workers
        judge.close()


async def test_large_versions_are_in_memory_in_parts_of_few_bytes(asked: list[Sequence[Version]]) -> None:
    schemas = [schema(ID, optional(number), doc=DOC) for number in range(10)]
    storage, history = await on_record(*schemas)
    judge = Judge(storage)
    found = await judge.judge(Candidate(schema(ID, doc=DOC)), history, TRANSITIVE)
    assert found.outcome is Outcome.NEXT_VERSION
    sizes = [sum(len(each.info.schema) for each in part if each.info) for part in asked]
    assert len(sizes) == 3
    assert max(sizes) < parts.MOST_BYTES + len(schemas[0].info.schema)
    judge.close()


async def test_of_a_large_schema_nothing_but_what_it_is_stays_in_this_process() -> None:
    judge, large = Judge(MemoryStorage()), schema(ID, doc=DOC)
    read = await judge.versions.parse(large.info, PulsarLine.V4_0)
    assert read == ReadSchema(large.info, large.fingerprint)
    assert await judge.versions.parse(large.info, PulsarLine.V4_0) is read
    judge.close()


async def test_a_version_of_a_later_part_that_does_not_parse_is_told() -> None:
    schemas = [schema(ID, optional(number)) for number in range(150)]
    storage, history = await on_record(*schemas)
    read = storage.get

    async def damaged(key: Any, incarnation: int, entry: VersionEntry) -> SchemaInfo:
        info = await read(key, incarnation, entry)
        return SchemaInfo(info.type, b"{") if entry.schema_version == 7 else info

    storage.get = damaged  # type: ignore[method-assign]
    judge = Judge(storage)
    (finding,) = (await judge.judge(Candidate(schema(ID)), history, TRANSITIVE)).incompatibilities
    assert (finding.rule, finding.schema_version) == ("INVALID_HISTORY", 7)
    judge.close()


async def test_the_versions_of_all_parts_share_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicschema.core.parts.MOST_VERSIONS", 1)
    *earlier, candidate = (formats.parse(FAMILIES["full"](12, version)) for version in range(4))
    newest = Predecessor(2, candidate.info.type, earlier[-1])
    one = parts.compare(candidate, [newest], TRANSITIVE.strategy, BUILT_IN, MOST_STEPS).steps
    monkeypatch.setattr("topicschema.judging.judge.MOST_STEPS", one + one // 2)
    storage, history = await on_record(*earlier)
    judge = Judge(storage)
    found = (await judge.judge(Candidate(candidate), history, TRANSITIVE)).incompatibilities
    assert [(each.rule, each.schema_version) for each in found] == [(TOO_COMPLEX, 1)]
    judge.close()


async def test_what_takes_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier, candidate = schema(ID, doc=DOC), schema(ID, NOTE, doc=DOC)
    storage, history = await on_record(earlier)
    judge = Judge(storage)

    async def out_of_memory(*_: Any, **__: Any) -> Any:
        raise OutOfMemoryError

    monkeypatch.setattr(judge._workers, "call", out_of_memory)
    (finding,) = (await judge.judge(Candidate(candidate), history, TRANSITIVE)).incompatibilities
    assert (finding.rule, finding.schema_version) == (TOO_COMPLEX, 0)
    assert finding.message.startswith("comparing takes more than 256 MiB of memory and was given up at version 0")
    with pytest.raises(InvalidSchemaError) as invalid:
        await judge.versions.parse(candidate.info, PulsarLine.V4_0)
    assert (invalid.value.rule, invalid.value.message) == (
        TOO_COMPLEX,
        "reading the schema takes more than 256 MiB of memory",
    )
    judge.close()


def pair_of(kind: SchemaType) -> Schema:
    text = schema(ID, doc=DOC).info.schema
    halves = len(text).to_bytes(4, "big") + text + len(b"").to_bytes(4, "big")
    properties = {"key.schema.type": kind.value, "value.schema.type": "STRING", "kv.encoding.type": "INLINE"}
    return formats.parse(SchemaInfo(SchemaType.KEY_VALUE, halves, properties))


async def test_an_equal_pair_with_other_properties_is_compared_by_a_worker_too(asked: list[Sequence[Version]]) -> None:
    before, after = pair_of(SchemaType.AVRO), pair_of(SchemaType.JSON)
    assert before.fingerprint == after.fingerprint
    storage, history = await on_record(before)
    judge = Judge(storage)
    found = await judge.judge(Candidate(after), history, TRANSITIVE)
    assert found == verdict.judge(Candidate(after), history, TRANSITIVE, {0: before})
    assert found.outcome is Outcome.EQUAL_VERSION
    assert [each.rule for each in found.risks] == ["PART_TYPE_CHANGED"]
    assert len(asked) == 1
    judge.close()


async def test_a_pending_edit_is_compared_by_a_worker_too(asked: list[Sequence[Version]]) -> None:
    judge, history = Judge(MemoryStorage()), History(KEY)
    before, after = schema(ID, doc=DOC), schema(ID, NOTE, doc=DOC)
    found = await judge.compare(Candidate(after), before, history, TRANSITIVE)
    assert [(each.rule, each.schema_version) for each in found.incompatibilities] == [("FIELD_WITHOUT_DEFAULT", None)]
    assert len(asked) == 1
    judge.close()
