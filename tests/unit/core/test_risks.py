"""Risks: changes that the broker accepts and consumers suffer from, reported under Broker, refused under Strict."""

from collections.abc import Mapping

import pytest

from support import judged
from support.judged import needed
from support.schemas.examples import history, parsed, record
from topicschema.core import formats
from topicschema.core.compatibility import Incompatibility
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, Part
from topicschema.core.policy import Policy, Strictness
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Direction, Strategy
from topicschema.core.verdict import Candidate, Outcome, Verdict, earlier_versions

STRATEGIES = [strategy for strategy in Strategy if strategy is not Strategy.UNDEFINED]
NUMBER, TEXT = parsed(SchemaType.PROTOBUF, '"int"'), parsed(SchemaType.PROTOBUF, '"string"')


def verdict(
    candidate: Schema, earlier: tuple[Schema, ...], strategy: Strategy, strictness: Strictness = Strictness.BROKER
) -> Verdict:
    return judged.verdict(candidate, earlier, Policy(strategy, strictness))


def pair(key: SchemaType, value: SchemaType, encoding: Encoding = Encoding.INLINE, text: bytes = b"") -> Schema:
    parts = Part(SchemaInfo(key)), Part(SchemaInfo(value, text))
    return formats.parse(key_value.encode(KeyValue(*parts, encoding)))


def rules(incompatibilities: tuple[Incompatibility, ...]) -> list[str]:
    return [each.rule for each in incompatibilities]


def test_under_broker_a_risk_is_reported_and_under_strict_it_is_refused() -> None:
    reported = verdict(TEXT, (NUMBER,), Strategy.BACKWARD)
    assert (reported.outcome, reported.incompatibilities) == (Outcome.NEXT_VERSION, ())
    assert rules(reported.risks) == ["TYPE_MISMATCH"]
    refused = verdict(TEXT, (NUMBER,), Strategy.BACKWARD, Strictness.STRICT)
    assert (refused.outcome, refused.incompatibilities, refused.risks) == (Outcome.INCOMPATIBLE, reported.risks, ())


def test_a_risk_is_reported_like_an_incompatibility_newest_version_first_in_the_strategys_directions() -> None:
    risks = verdict(parsed(SchemaType.PROTOBUF, '"boolean"'), (NUMBER, TEXT), Strategy.FULL_TRANSITIVE).risks
    assert [(each.rule, each.path, each.direction, each.schema_version) for each in risks] == [
        ("TYPE_MISMATCH", "$", direction, version)
        for version in (1, 0)
        for direction in (Direction.FORWARD, Direction.BACKWARD)
    ]
    assert risks[-1].message == "version 0 has int where the candidate has boolean, which cannot read it"


def test_a_refusal_has_its_risks_too_and_under_strict_they_follow_it() -> None:
    before, after = pair(SchemaType.STRING, SchemaType.INT32), pair(SchemaType.STRING, SchemaType.AVRO, text=b'"int"')
    separated = pair(SchemaType.STRING, SchemaType.AVRO, Encoding.SEPARATED, b'"int"')
    assert rules(verdict(after, (before,), Strategy.FULL).incompatibilities) == ["PART_TYPE_CHANGED"]
    reported = verdict(separated, (before,), Strategy.FULL)
    assert (rules(reported.incompatibilities), rules(reported.risks)) == (["PART_TYPE_CHANGED"], ["ENCODING_CHANGED"])
    refused = verdict(separated, (before,), Strategy.FULL, Strictness.STRICT)
    assert rules(refused.incompatibilities) == ["PART_TYPE_CHANGED", "ENCODING_CHANGED"]


def test_a_change_of_type_is_a_risk_if_the_strategy_requires_nothing() -> None:
    text, one = parsed(SchemaType.STRING), record("id")
    assert rules(verdict(text, (one,), Strategy.ALWAYS_COMPATIBLE).risks) == ["TYPE_CHANGED"]
    assert not verdict(text, (one,), Strategy.ALWAYS_COMPATIBLE, Strictness.STRICT).is_compatible
    assert verdict(record("x"), (one,), Strategy.ALWAYS_COMPATIBLE, Strictness.STRICT).risks == ()
    assert rules(verdict(text, (one,), Strategy.FULL, Strictness.STRICT).incompatibilities) == ["TYPE_CHANGED"]


def test_so_is_one_of_a_pairs_parts() -> None:
    before = pair(SchemaType.STRING, SchemaType.AVRO, text=b'"int"')
    after = pair(SchemaType.STRING, SchemaType.JSON, text=b'"long"')
    reported = verdict(after, (before,), Strategy.ALWAYS_COMPATIBLE)
    assert [(each.rule, each.path, each.direction) for each in reported.risks] == [
        ("PART_TYPE_CHANGED", "$.value", None)
    ]
    same = pair(SchemaType.STRING, SchemaType.AVRO, text=b'"string"')
    assert verdict(same, (before,), Strategy.ALWAYS_COMPATIBLE).risks == ()


EQUAL: Mapping[str, tuple[Schema, Schema, list[str]]] = {
    "other types": (
        pair(SchemaType.INT64, SchemaType.BOOLEAN),
        pair(SchemaType.STRING, SchemaType.INT32),
        ["PART_TYPE_CHANGED", "PART_TYPE_CHANGED"],
    ),
    "another encoding": (
        pair(SchemaType.INT64, SchemaType.INT64),
        pair(SchemaType.INT64, SchemaType.INT64, Encoding.SEPARATED),
        ["ENCODING_CHANGED"],
    ),
    "another charset": (
        parsed(SchemaType.STRING),
        parsed(SchemaType.STRING, properties={"__charset": "UTF-16"}),
        ["CHARSET_CHANGED"],
    ),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", EQUAL)
def test_what_changed_behind_equal_bytes_is_a_risk_whatever_the_strategy(case: str, strategy: Strategy) -> None:
    before, after, expected = EQUAL[case]
    reported = verdict(after, (before,), strategy)
    assert (reported.outcome, reported.schema_version, rules(reported.risks)) == (Outcome.EQUAL_VERSION, 0, expected)
    assert rules(reported.notes) == ["STORED_SCHEMA_UNCHANGED"]
    refused = verdict(after, (before,), strategy, Strictness.STRICT)
    assert (refused.outcome, rules(refused.incompatibilities)) == (Outcome.INCOMPATIBLE, expected)
    assert {each.schema_version for each in refused.incompatibilities} == {0}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_going_back_to_an_earlier_version_is_allowed_under_strict(strategy: Strategy) -> None:
    texts = NUMBER, TEXT
    reported = verdict(NUMBER, texts, strategy, Strictness.STRICT)
    assert (reported.outcome, reported.schema_version, reported.incompatibilities) == (Outcome.EQUAL_VERSION, 0, ())


def test_an_equal_pairs_payload_is_needed_only_where_its_properties_may_differ() -> None:
    before, after, _ = EQUAL["other types"]
    known, policy = history(before), Policy(Strategy.FULL)
    assert needed(Candidate(before), known, policy) == ()
    assert [e.schema_version for e in needed(Candidate(after), known, policy)] == [0]
    assert needed(Candidate(record("id", doc="x")), history(record("id")), policy) == ()


def test_what_risks_alone_need_is_required_only_under_strict() -> None:
    known = history(NUMBER)
    for strictness, numbers in ((Strictness.BROKER, []), (Strictness.STRICT, [0])):
        policy = Policy(Strategy.FULL, strictness)
        assert [e.schema_version for e in needed(Candidate(TEXT), known, policy)] == [0]
        earlier = earlier_versions(Candidate(TEXT), known, policy)
        assert [each.schema_version for each in earlier if each.is_required] == numbers


def test_a_pair_with_a_risk_by_itself_is_reported_on_an_empty_history_too() -> None:
    bare = parsed(SchemaType.KEY_VALUE, "\0" * 8, {"kv.encoding.type": "none"})
    reported = verdict(bare, (), Strategy.FULL)
    assert [(each.rule, each.path, each.direction, each.schema_version) for each in reported.risks] == [
        ("PART_TYPE_MISSING", "$.key", None, None),
        ("PART_TYPE_MISSING", "$.value", None, None),
        ("UNKNOWN_ENCODING", "$", None, None),
    ]
    assert verdict(bare, (), Strategy.FULL, Strictness.STRICT).outcome is Outcome.INCOMPATIBLE
