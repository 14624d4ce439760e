import pytest

from support import judged
from support.judged import judge, needed
from support.schemas.examples import NOW, history, parsed, record
from topicschema.core import comparison, formats
from topicschema.core import verdict as product
from topicschema.core.formats.key_value import KeyValue, Part, encode
from topicschema.core.history import Origin
from topicschema.core.policy import BrokerProfile, Constraints, Policy, Strictness, TopicChoices
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Direction, Strategy
from topicschema.core.verdict import Candidate, Outcome, Verdict

ONE, TWO, OTHER = record("id"), record("id", "note?"), record("id", "total")


def verdict(candidate: Schema, earlier: tuple[Schema, ...], strategy: Strategy) -> Verdict:
    return judged.verdict(candidate, earlier, Policy(strategy))


@pytest.mark.parametrize("strategy", [s for s in Strategy if s is not Strategy.UNDEFINED])
def test_an_empty_history_takes_anything_that_parses(strategy: Strategy) -> None:
    result = verdict(ONE, (), strategy)
    assert (result.outcome, result.schema_version, result.strategy.value) == (Outcome.NEXT_VERSION, 0, strategy)


@pytest.mark.parametrize("strategy", [s for s in Strategy if s is not Strategy.UNDEFINED])
def test_a_known_schema_is_its_old_version_whatever_the_strategy(strategy: Strategy) -> None:
    result = verdict(ONE, (ONE, TWO), strategy)
    assert (result.outcome, result.schema_version, result.incompatibilities) == (Outcome.EQUAL_VERSION, 0, ())


def test_a_schema_that_differs_in_docs_only_leaves_the_stored_text_with_a_note() -> None:
    result = verdict(record("id", doc="what happened"), (ONE,), Strategy.FULL)
    assert result.outcome is Outcome.EQUAL_VERSION
    (note,) = result.notes
    assert note.rule == "STORED_SCHEMA_UNCHANGED"
    assert "what is stored stays as it was" in note.message
    assert verdict(ONE, (ONE,), Strategy.FULL).notes == ()


def of_doubles(pulsar_version: PulsarVersion, kind: SchemaType = SchemaType.AVRO, items: str = '"double"') -> Schema:
    text = f'{{"type":"record","name":"R","fields":[{{"name":"a","type":{{"type":"array","items":{items}}}}}]}}'
    return formats.parse(SchemaInfo(kind, text.encode()), pulsar_version)


@pytest.mark.parametrize("strictness", Strictness)
def test_a_new_version_with_an_array_of_doubles_is_warned_of_from_4_1_on_and_never_refused(
    strictness: Strictness,
) -> None:
    for pulsar_version in PulsarVersion:
        schema = of_doubles(pulsar_version)
        policy = Policy(Strategy.FULL, strictness, BrokerProfile(pulsar_version))
        result = judge(Candidate(schema), history(), policy, {})
        is_later = pulsar_version is not PulsarVersion.V4_0
        assert result.outcome is Outcome.NEXT_VERSION
        assert [(note.rule, note.path) for note in result.notes] == [
            ("ARRAY_OF_DOUBLES_AS_FLOATS", "$.fields[0].type")
        ] * is_later
        assert judge(Candidate(schema), history(schema), policy, {0: schema}).notes == ()


def test_no_other_schema_is_warned_of_and_of_a_pair_each_part_is() -> None:
    later = PulsarVersion.V4_2
    policy = Policy(Strategy.FULL, profile=BrokerProfile(later))
    part = Part(of_doubles(later).info)
    pair = formats.parse(encode(KeyValue(part, Part(of_doubles(later, SchemaType.JSON).info))), later)
    for schema in (of_doubles(later, SchemaType.JSON), of_doubles(later, items='["null", "double"]')):
        assert judge(Candidate(schema), history(), policy, {}).notes == ()
    assert [each.path for each in judge(Candidate(pair), history(), policy, {}).notes] == ["$.key.fields[0].type"]


def test_an_edit_that_fails_names_rule_path_direction_and_version() -> None:
    result = verdict(OTHER, (ONE,), Strategy.BACKWARD)
    assert (result.outcome, result.schema_version, result.is_compatible) == (Outcome.INCOMPATIBLE, None, False)
    (reason,) = result.incompatibilities
    assert (reason.path, reason.direction, reason.schema_version) == ("$.fields[1]", Direction.BACKWARD, 0)


def test_only_a_transitive_strategy_looks_past_the_latest_version() -> None:
    # A consumer of `id, note` can read neither of two versions ago what one of `id` wrote, nor need it.
    middle, last = record("note?"), record("id", "note?")
    first = record("note?", "count?")
    assert verdict(record("id?"), (first, middle), Strategy.BACKWARD).is_compatible
    assert verdict(last, (ONE, middle), Strategy.BACKWARD).outcome is Outcome.INCOMPATIBLE
    assert verdict(record("id"), (record("x?"), record("id")), Strategy.BACKWARD).outcome is Outcome.EQUAL_VERSION
    against_all = verdict(record("id", "x?"), (record("x?"), record("id")), Strategy.BACKWARD_TRANSITIVE)
    assert [reason.schema_version for reason in against_all.incompatibilities] == [0]
    assert verdict(record("id", "x?"), (record("x?"), record("id")), Strategy.BACKWARD).is_compatible


def test_a_change_of_type_is_refused_without_reading_any_payload() -> None:
    text = parsed(SchemaType.STRING)
    assert needed(Candidate(text), history(ONE), Policy(Strategy.FULL)) == ()
    result = verdict(text, (ONE,), Strategy.FULL)
    assert [reason.rule for reason in result.incompatibilities] == ["TYPE_CHANGED"]
    assert verdict(text, (ONE,), Strategy.ALWAYS_COMPATIBLE).is_compatible


def test_a_latest_only_strategy_needs_one_payload_and_a_transitive_one_all() -> None:
    known = history(ONE, TWO)
    candidate = Candidate(record("id", "note?", "more?"))
    assert [e.schema_version for e in needed(candidate, known, Policy(Strategy.FULL))] == [1]
    assert [e.schema_version for e in needed(candidate, known, Policy(Strategy.FULL_TRANSITIVE))] == [0, 1]
    assert needed(candidate, known, Policy(Strategy.ALWAYS_COMPATIBLE)) == ()
    assert needed(Candidate(ONE), known, Policy(Strategy.FULL_TRANSITIVE)) == ()


def test_a_missing_payload_is_a_bug_and_never_a_yes() -> None:
    with pytest.raises(KeyError):
        judge(Candidate(OTHER), history(ONE), Policy(Strategy.FULL), {})


def test_the_platform_teams_constraints_come_before_everything() -> None:
    limited = Policy(Strategy.FULL, constraints=Constraints(allowed_types=(SchemaType.JSON,)))
    result = judge(Candidate(ONE), history(ONE), limited, {})
    assert [reason.rule for reason in result.incompatibilities] == ["TYPE_NOT_ALLOWED"]


def test_the_topics_own_strategy_wins() -> None:
    result = judge(Candidate(OTHER, TopicChoices(Strategy.ALWAYS_COMPATIBLE)), history(ONE), Policy(Strategy.FULL), {})
    assert result.is_compatible


NARROW, WIDE = record("id"), record("id", "note?")


def after_deletion(candidate: Schema, strategy: Strategy, *later: Schema) -> Verdict:
    """Return the verdict on a candidate after a deleted history of OTHER and NARROW, and these later versions."""
    known = history(OTHER, NARROW).after_deletion()
    for schema in later:
        known = known.with_version(schema, Origin.SPEC, NOW)
    texts = {each.info.content_hash: each.info for each in (OTHER, NARROW, *later)}
    judging = product.judge(Candidate(candidate), known, Policy(strategy))
    return comparison.run(judging, lambda entry: texts[entry.content_hash])


@pytest.mark.parametrize(
    ("candidate", "strategy", "later", "versions"),
    [
        (record("total"), Strategy.BACKWARD, (), [1]),
        (WIDE, Strategy.BACKWARD, (), []),
        (NARROW, Strategy.FULL, (), []),
        (record("third"), Strategy.BACKWARD_TRANSITIVE, (), [1, 0]),
        (record("note?", "third"), Strategy.BACKWARD_TRANSITIVE, (record("note?", "third?"),), [1, 0]),
        (record("note?", "third"), Strategy.BACKWARD, (record("note?", "third?"),), []),
        (record("total"), Strategy.ALWAYS_COMPATIBLE, (), []),
    ],
)
def test_a_new_history_is_judged_against_the_deleted_one(
    candidate: Schema, strategy: Strategy, later: tuple[Schema, ...], versions: list[int]
) -> None:
    result = after_deletion(candidate, strategy, *later)
    assert [each.schema_version for each in result.incompatibilities] == versions
    assert all("adds an exception (constraints.exceptions)" in each.message for each in result.incompatibilities)
    assert result.outcome is (Outcome.INCOMPATIBLE if versions else Outcome.NEXT_VERSION)
    assert result.schema_version == (None if versions else len(later))
