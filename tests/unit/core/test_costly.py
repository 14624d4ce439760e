"""That the work of judging is bounded by its count of steps, and that the count is honest."""

import gc
import json
from collections.abc import Callable
from typing import Any

import pytest

from hostile.costly import FAMILIES, Family
from hostile.lookups import LOOKUPS, pulsar_version
from support.judged import judge
from support.schemas.avro import array, field, record
from support.schemas.examples import history
from support.work import growth, steps
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro.graph import traits
from topicschema.core.policy import Policy, Strictness
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.steps import Steps
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Outcome

FULL = FAMILIES["full"]
MOST_INSTRUCTIONS = 100
"""Python's instructions for one step; steps that allocate memory count as more than one."""


def predecessors(*earlier: Schema) -> list[Predecessor]:
    return [Predecessor(number, each.info.type, each) for number, each in enumerate(earlier)]


def versions(family: Family, size: int, count: int) -> list[Schema]:
    return [formats.parse(family(size, version)) for version in range(count)]


def two(name: str, size: int) -> list[Schema]:
    """Two versions of a family under the Pulsar version that it needs."""
    family = {**FAMILIES, **LOOKUPS}[name]
    return [formats.parse(family(size, version), pulsar_version(name)) for version in range(2)]


@pytest.mark.parametrize("name", [*FAMILIES, *LOOKUPS])
@pytest.mark.parametrize("strategy", [Strategy.FULL_TRANSITIVE, Strategy.ALWAYS_COMPATIBLE])
def test_all_work_is_counted_but_what_grows_with_the_text(name: str, strategy: Strategy) -> None:
    earlier, candidate = two(name, 15)
    before = predecessors(earlier)
    left = Steps()

    def work() -> None:
        compatibility.check(candidate, before, strategy, steps=left)
        compatibility.risks(candidate, before, strategy, left)

    text = len(candidate.info.schema) + len(earlier.info.schema)
    assert steps(work) < MOST_INSTRUCTIONS * (left.taken + text)


@pytest.mark.parametrize("name", [*FAMILIES, *LOOKUPS])
def test_work_grows_at_most_with_the_cube_of_the_size(name: str) -> None:
    def taken(size: int) -> int:
        earlier, candidate = two(name, size)
        before = predecessors(earlier)
        left = Steps()
        compatibility.check(candidate, before, Strategy.FULL, steps=left)
        compatibility.risks(candidate, before, Strategy.FULL, left)
        return left.taken

    assert taken(32) <= 9 * taken(16)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("strategy", [Strategy.FULL_TRANSITIVE, Strategy.ALWAYS_COMPATIBLE])
def test_judging_leaves_nothing_to_the_garbage_collector(family: Family, strategy: Strategy) -> None:
    earlier, candidate = versions(family, 15, 2)
    gc.collect()
    gc.disable()
    try:
        judge(Candidate(candidate), history(earlier), Policy(strategy), {0: earlier})
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("strategy", [Strategy.BACKWARD, Strategy.FULL_TRANSITIVE])
@pytest.mark.parametrize("strictness", Strictness)
def test_what_takes_too_many_steps_is_refused_whatever_strategy_and_strictness(
    strategy: Strategy, strictness: Strictness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicschema.core.comparison.MOST_STEPS", 10_000)
    earlier, candidate = versions(FULL, 40, 2)
    verdict = judge(Candidate(candidate), history(earlier), Policy(strategy, strictness), {0: earlier})
    assert verdict.outcome is Outcome.INCOMPATIBLE
    (refusal,) = verdict.incompatibilities
    assert (refusal.rule, refusal.path, refusal.schema_version) == ("COMPARISON_TOO_COMPLEX", "$", 0)
    assert refusal.message.startswith("comparing takes more than 2,500,000 steps and was given up at version 0")


def test_the_versions_of_a_history_share_the_steps() -> None:
    *earlier, candidate = versions(FULL, 20, 4)
    before = predecessors(*earlier)
    one = Steps()
    assert compatibility.check(candidate, before[2:], Strategy.BACKWARD_TRANSITIVE, steps=one) == ()
    (refusal,) = compatibility.check(
        candidate, before, Strategy.BACKWARD_TRANSITIVE, steps=Steps(one.taken + one.taken // 2)
    )
    assert (refusal.rule, refusal.schema_version) == ("COMPARISON_TOO_COMPLEX", 1)


def test_records_in_unions_of_themselves_are_compared_in_few_steps() -> None:
    earlier, candidate = versions(FULL, 40, 2)
    verdict = judge(Candidate(candidate), history(earlier), Policy(Strategy.FULL), {0: earlier})
    assert verdict.outcome is Outcome.NEXT_VERSION


def test_the_whole_schema_is_walked_once_for_all_its_unions(monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[object] = []
    monkeypatch.setattr(traits, "can_insert", lambda fields: walks.append(fields) or True)
    earlier, candidate = versions(FAMILIES["array_of_unions"], 20, 2)
    judge(Candidate(candidate), history(earlier), Policy(Strategy.BACKWARD), {0: earlier})
    assert len(walks) == 1


def test_types_that_many_fields_share_are_searched_for_infinite_records_once() -> None:
    def work(size: int) -> Callable[[], object]:
        earlier, candidate = two("wide_unions", size)
        return lambda: compatibility.check(candidate, predecessors(earlier), Strategy.BACKWARD, steps=Steps())

    assert growth(work, 100) < 2.5


def test_a_file_that_sees_many_others_does_not_copy_the_names_of_their_packages() -> None:
    def work(size: int) -> Callable[[], object]:
        info = LOOKUPS["packages"](size, 0)
        return lambda: formats.parse(info)

    assert growth(work, 15) < 3


def test_a_value_that_leaves_out_fields_counts_them_each_time() -> None:
    earlier, candidate = versions(FAMILIES["partial_defaults"], 100, 2)
    left = Steps()
    assert compatibility.check(candidate, predecessors(earlier), Strategy.BACKWARD, steps=left) == ()
    assert left.taken > 100 * 100


def test_defaults_that_take_long_to_insert_are_not_all_tried_in_advance() -> None:
    for size, has_independent_parts in ((100, True), (400, False)):
        (schema,) = versions(FAMILIES["partial_defaults"], size, 1)
        assert traits.has_independent_parts(schema.root) is has_independent_parts  # type: ignore[attr-defined]  # an AvroSchema


def defaulted(size: int, version: int) -> dict[str, Any]:
    """Return a record with a large default in a field that has another name in each version."""
    return record("R", field(f"f{version}", array("int"), default=[1] * size), field("y", "int", default=0))


def aliased(size: int, version: int) -> dict[str, Any]:
    """Return the same with an alias, which has Avro check all defaults of the writer."""
    made = defaulted(size, version)
    return {**made, "fields": [*made["fields"], field("z", "int", aliases=["old"], default=0)]}


def skipped(size: int, version: int) -> dict[str, Any]:
    """Records that stand in a field of another name in each version."""
    rows = [record(f"R{number}", field("up", ["null", "R0"])) for number in range(size)]
    return record("R", field(f"f{version}", ["null", *rows], default=None))


@pytest.mark.parametrize("shape", [defaulted, aliased, skipped])
def test_what_is_put_in_or_skipped_counts_for_each_version_with_all_it_holds(shape: Callable[..., object]) -> None:
    def taken(size: int, count: int) -> int:
        *earlier, candidate = [
            formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(shape(size, version)).encode()))
            for version in range(count + 1)
        ]
        left = Steps()
        assert compatibility.check(candidate, predecessors(*earlier), Strategy.BACKWARD_TRANSITIVE, steps=left) == ()
        return left.taken

    assert taken(500, 3) - taken(5, 3) > 3 * 450


def test_partial_values_of_a_wide_record_are_checked_until_no_steps_are_left() -> None:
    wide = record("Wide", *(field(f"f{number}", "int", default=0) for number in range(2_000)))
    rows = [{f"f{number}": 1} for number in range(2_000)]
    values = field("v", array(["null", "Wide"]), default=rows)
    text = json.dumps(record("R", field("w", wide, default={}), values)).encode()
    with pytest.raises(InvalidSchemaError) as caught:
        formats.parse(SchemaInfo(SchemaType.AVRO, text), PulsarVersion.V4_1)
    assert (caught.value.rule, caught.value.place.path) == ("COMPARISON_TOO_COMPLEX", "$.fields[1].default")
