"""What the broker would answer, step by step: dedupe, defaults, hashes, histories that cannot be read."""

import json
from typing import Any

import pytest

from hostile.costly import FAMILIES
from topicschema.cli.check.engine import Answer, Question, Step, answer
from topicschema.core.policy import Policy, Strictness
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": "string"}
BAD = {"name": "note", "type": "string", "default": None}


def order(*fields: dict[str, Any], **rest: Any) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields), **rest})


def info(text: str, kind: SchemaType = SchemaType.AVRO) -> SchemaInfo:
    return SchemaInfo(kind, text.encode())


def asked(
    candidate: str | SchemaInfo,
    *history: str | SchemaInfo,
    strategy: Strategy = Strategy.BACKWARD,
    step: Step = Step.REGISTER,
    strictness: Strictness = Strictness.BROKER,
) -> Answer:
    infos = [each if isinstance(each, SchemaInfo) else info(each) for each in (*history, candidate)]
    return answer(Question(infos[-1], tuple(infos[:-1]), Policy(strategy, strictness), step))


def rules(found: Answer) -> list[str]:
    return [each.rule for each in found.incompatibilities] or ([found.refusal.reason] if found.refusal else [])


def test_an_upload_that_equals_an_earlier_version_is_that_version_whatever_the_strategy() -> None:
    found = asked(order(ID, doc="x"), order(ID), order(ID, NOTE), strategy=Strategy.ALWAYS_INCOMPATIBLE)
    assert (found.is_compatible, found.equal_to) == (True, 0)
    assert [each.rule for each in found.warnings] == ["STORED_SCHEMA_UNCHANGED"]


def test_the_same_text_again_is_told_without_a_warning() -> None:
    assert asked(order(ID), order(ID)) == Answer(equal_to=0)


def test_of_two_equal_versions_the_older_one_answers() -> None:
    assert asked(order(ID), order(ID, doc="a"), order(ID, doc="b")).equal_to == 0


def test_an_upload_is_compared_with_the_latest_version_alone_unless_the_strategy_is_transitive() -> None:
    optional = {**NOTE, "default": ""}
    history = (order(ID), order(ID, NOTE))
    candidate = order(ID, {**NOTE, "type": ["string", "null"]})
    assert asked(candidate, *history).is_compatible
    found = asked(candidate, *history, strategy=Strategy.BACKWARD_TRANSITIVE)
    assert [(each.rule, each.schema_version) for each in found.incompatibilities] == [("FIELD_WITHOUT_DEFAULT", 0)]
    assert asked(order(ID, optional), *history, strategy=Strategy.BACKWARD_TRANSITIVE).is_compatible


def test_without_a_strategy_the_brokers_own_is_in_force() -> None:
    found = asked('"long"', '"int"', strategy=Strategy.UNDEFINED)
    assert [each.direction for each in found.incompatibilities] == ["FORWARD"]


def test_a_default_that_does_not_fit_is_refused_even_as_the_first_version() -> None:
    assert rules(asked(order(ID, BAD))) == ["INVALID_DEFAULT"]


def test_the_check_alone_reads_no_defaults() -> None:
    assert asked(order(ID, BAD), step=Step.COMPATIBILITY).is_compatible
    assert asked(order(ID), order(ID, BAD), step=Step.COMPATIBILITY).is_compatible
    assert rules(asked(order(ID, BAD), order(ID), step=Step.COMPATIBILITY)) == ["INVALID_DEFAULT"]


def test_the_check_alone_does_not_dedupe() -> None:
    history = (order(ID, NOTE), order(ID))
    assert asked(order(ID, NOTE), *history).equal_to == 0
    found = asked(order(ID, NOTE), *history, step=Step.COMPATIBILITY)
    assert rules(found) == ["FIELD_WITHOUT_DEFAULT"]
    assert found.equal_to is None


@pytest.mark.parametrize("history", [(order(ID, BAD),), (order(ID, BAD), order(ID, NOTE)), ("{", order(ID, NOTE))])
@pytest.mark.parametrize("strategy", [Strategy.BACKWARD, Strategy.ALWAYS_COMPATIBLE, Strategy.FULL_TRANSITIVE])
def test_a_version_that_cannot_be_read_fails_every_later_upload(history: tuple[str, ...], strategy: Strategy) -> None:
    found = asked(order(ID), *history, strategy=strategy)
    assert rules(found) == ["INVALID_HISTORY"]
    assert found.refusal is not None
    assert found.refusal.path == "history[0].schema"


def test_an_equal_version_before_the_broken_one_still_answers() -> None:
    assert asked(order(ID), order(ID), "{").equal_to == 0


def test_a_broken_version_of_avro_does_not_hinder_what_is_compared_by_its_bytes() -> None:
    found = asked(info("", SchemaType.STRING), "{")
    assert rules(found) == ["TYPE_CHANGED"]
    assert asked(info("", SchemaType.STRING), "{", strategy=Strategy.ALWAYS_COMPATIBLE).is_compatible


def test_the_check_alone_reads_only_what_the_strategy_looks_at() -> None:
    history = ("{", order(ID))
    assert asked(order(ID, doc="x"), *history, step=Step.COMPATIBILITY).is_compatible
    transitive = asked(order(ID, doc="x"), *history, strategy=Strategy.BACKWARD_TRANSITIVE, step=Step.COMPATIBILITY)
    assert rules(transitive) == ["INVALID_HISTORY"]


def test_equal_bytes_of_the_latest_version_ask_no_checker() -> None:
    same = {"strategy": Strategy.ALWAYS_INCOMPATIBLE, "step": Step.COMPATIBILITY}
    assert asked(order(ID), order(ID), **same).is_compatible
    assert rules(asked(order(ID, doc="x"), order(ID), **same)) == ["ALWAYS_INCOMPATIBLE"]


ENDLESS = order({"name": "self", "type": "Order"})


def test_equal_bytes_do_not_save_a_record_on_which_avro_overflows_where_all_versions_are_read() -> None:
    assert asked(ENDLESS, ENDLESS, step=Step.COMPATIBILITY).is_compatible
    found = asked(ENDLESS, ENDLESS, strategy=Strategy.BACKWARD_TRANSITIVE, step=Step.COMPATIBILITY)
    assert rules(found) == ["INFINITE_RECORD"]


@pytest.mark.parametrize(
    ("candidate", "earlier", "reason", "path"),
    [
        (order(ID, BAD), order(ID), "INVALID_DEFAULT", "$.fields[1]"),
        (ENDLESS, order({"name": "self", "type": "Order"}, ID), "INFINITE_RECORD", "$"),
        (
            order(ID, {**NOTE, "aliases": ["old"]}),
            order(ID, NOTE, {**NOTE, "name": "old"}),
            "ALIAS_CONFLICT",
            "$.fields[1]",
        ),
    ],
)
def test_where_the_brokers_comparison_fails_it_is_told_as_an_error_beside_the_reasons(
    candidate: str, earlier: str, reason: str, path: str
) -> None:
    found = asked(candidate, earlier, step=Step.COMPATIBILITY)
    assert found.refusal is not None
    assert (found.refusal.reason, found.refusal.path) == (reason, path)
    assert (reason, path) in [(each.rule, each.path) for each in found.incompatibilities]
    wrapped = asked(candidate, earlier, step=Step.COMPATIBILITY, strategy=Strategy.BACKWARD_TRANSITIVE)
    assert not wrapped.is_compatible
    assert (wrapped.refusal is not None) == (reason == "INFINITE_RECORD")  # no other error escapes a check of all


def test_a_record_that_lacks_a_default_is_left_before_the_wrong_one_behind_it() -> None:
    found = asked(order(NOTE, {**BAD, "name": "bad"}), order(ID), step=Step.COMPATIBILITY)
    assert rules(found) == ["FIELD_WITHOUT_DEFAULT", "INVALID_DEFAULT"]
    assert found.refusal is None
    assert asked(order({**BAD, "name": "bad"}, NOTE), order(ID), step=Step.COMPATIBILITY).refusal is not None


def test_of_a_pair_whose_key_is_refused_the_value_is_not_compared() -> None:
    def both(key: str, value: str) -> SchemaInfo:
        properties = {"key.schema.type": "AVRO", "value.schema.type": "AVRO"}
        return SchemaInfo(SchemaType.KEY_VALUE, f'{{"key": {key}, "value": {value}}}'.encode(), properties)

    fails = both(order(ID), order(ID, BAD)), both(order(ID), order(ID))
    found = asked(*fails, step=Step.COMPATIBILITY)
    assert found.refusal is not None
    assert found.refusal.path == "$.value.fields[1]"
    refused = asked(both(order(NOTE), order(ID, BAD)), both(order(ID), order(ID)), step=Step.COMPATIBILITY)
    assert rules(refused) == ["FIELD_WITHOUT_DEFAULT", "INVALID_DEFAULT"]
    assert refused.refusal is None


def test_what_only_strict_refuses_is_no_error_of_the_broker() -> None:
    later = info(order(ID, BAD), SchemaType.PROTOBUF)
    found = asked(later, info(order(ID), SchemaType.PROTOBUF), step=Step.COMPATIBILITY, strictness=Strictness.STRICT)
    assert rules(found) == ["INVALID_DEFAULT"]
    assert found.refusal is None


def test_a_type_without_a_checker_changes_freely_within_itself() -> None:
    python, java = info("null", SchemaType.STRING), info("", SchemaType.STRING)
    assert asked(python, java) == Answer()
    assert asked(java, java).equal_to == 0
    assert rules(asked(python, java, strategy=Strategy.ALWAYS_INCOMPATIBLE)) == ["ALWAYS_INCOMPATIBLE"]


def test_a_stored_entry_of_plain_bytes_refuses_every_other_type() -> None:
    found = asked(order(ID), info("anything", SchemaType.NONE))
    assert rules(found) == ["TYPE_CHANGED"]


def test_equal_structure_under_another_type_is_another_schema() -> None:
    assert rules(asked(info('"long"', SchemaType.JSON), '"long"')) == ["TYPE_CHANGED"]


def test_all_findings_are_told_newest_version_first() -> None:
    found = asked(order(ID, NOTE), order(ID), order(), strategy=Strategy.BACKWARD_TRANSITIVE)
    assert [(each.path, each.schema_version) for each in found.incompatibilities] == [
        ("$.fields[0]", 1),
        ("$.fields[1]", 1),
        ("$.fields[1]", 0),
    ]


@pytest.mark.parametrize("kind", [SchemaType.BYTES, SchemaType.AUTO_CONSUME])
def test_a_type_that_no_topic_may_have_is_refused_with_the_reason(kind: SchemaType) -> None:
    assert rules(asked(info("", kind))) == ["UNSUPPORTED_TYPE"]


def pair(value: str, kind: str = "AVRO") -> SchemaInfo:
    properties = {"key.schema.type": "STRING", "value.schema.type": kind}
    return SchemaInfo(SchemaType.KEY_VALUE, f'{{"key": "", "value": {value}}}'.encode(), properties)


def test_a_pair_is_asked_about_in_its_rest_form_and_told_with_places_in_it() -> None:
    found = asked(pair(order(ID, NOTE)), pair(order(ID)))
    assert [(each.rule, each.path) for each in found.incompatibilities] == [
        ("FIELD_WITHOUT_DEFAULT", "$.value.fields[1]")
    ]
    assert asked(pair(order(ID, {**NOTE, "default": ""})), pair(order(ID))).is_compatible


def test_pairs_are_equal_by_their_bytes_once_space_is_taken_away() -> None:
    assert asked(pair(order(ID).replace(" ", "\n")), pair(order(ID))).equal_to == 0
    assert asked(pair(order(ID, doc="x")), pair(order(ID))).equal_to is None
    assert asked(pair(order(ID), "JSON"), pair(order(ID))).equal_to == 0


def test_a_part_of_another_type_is_refused_where_the_broker_looks() -> None:
    assert rules(asked(pair(order(ID, doc="x"), "JSON"), pair(order(ID)))) == ["PART_TYPE_CHANGED"]
    same = asked(pair(order(ID), "JSON"), pair(order(ID)), step=Step.COMPATIBILITY)
    assert same.is_compatible  # equal hashes, as in the broker


@pytest.mark.parametrize(
    "text", [b"{", b"[]", b'{"key": ""}', b"\xff", b"", "é\udcff".encode(errors="surrogateescape")]
)
def test_a_text_that_is_no_pair_is_a_no_as_candidate_and_as_version(text: bytes) -> None:
    broken = SchemaInfo(SchemaType.KEY_VALUE, text)
    assert asked(broken).refusal is not None
    assert rules(asked(pair(order(ID)), broken)) == ["INVALID_HISTORY"]


def test_protobuf_from_avro_is_deduped_by_structure_and_what_avro_would_refuse_is_told() -> None:
    texts = [info(text, SchemaType.PROTOBUF) for text in (order(ID, doc="x"), order(ID), order(NOTE))]
    assert asked(*texts[:2]).equal_to == 0
    found = asked(texts[2], texts[0])
    assert (found.is_compatible, [each.rule for each in found.warnings]) == (True, ["FIELD_WITHOUT_DEFAULT"])


AB, A = (f'{{"type": "enum", "name": "E", "symbols": {symbols}}}' for symbols in ('["A", "B"]', '["A"]'))


@pytest.mark.parametrize("step", Step)
def test_a_risk_is_told_under_broker_and_refused_under_strict(step: Step) -> None:
    found = asked(A, AB, step=step)
    assert (found.is_compatible, [each.rule for each in found.warnings]) == (True, ["ENUM_SYMBOL_UNKNOWN"])
    strict = asked(A, AB, step=step, strictness=Strictness.STRICT)
    assert (rules(strict), strict.warnings) == (["ENUM_SYMBOL_UNKNOWN"], ())


def test_a_version_that_only_risks_would_read_is_no_hindrance_unless_risks_are_refused() -> None:
    candidate, broken = info('"int"', SchemaType.PROTOBUF), info("{", SchemaType.PROTOBUF)
    assert asked(candidate, broken, step=Step.COMPATIBILITY) == Answer()
    assert rules(asked(candidate, broken, step=Step.COMPATIBILITY, strictness=Strictness.STRICT)) == ["INVALID_HISTORY"]


def test_a_pair_with_equal_bytes_and_properties_that_cannot_be_read_still_answers() -> None:
    text, types = '{"key": "", "value": ""}', {"key.schema.type": "STRING", "value.schema.type": "STRING"}
    candidate = SchemaInfo(SchemaType.KEY_VALUE, text.encode(), types)
    broken = SchemaInfo(SchemaType.KEY_VALUE, text.encode(), {**types, "key.schema.type": "Text"})
    found = asked(candidate, broken)
    assert (found.equal_to, [each.rule for each in found.warnings]) == (0, ["STORED_SCHEMA_UNCHANGED"])
    assert rules(asked(candidate, broken, strictness=Strictness.STRICT)) == ["INVALID_HISTORY"]
    assert asked(candidate, broken, step=Step.COMPATIBILITY).is_compatible


@pytest.mark.parametrize("step", Step)
def test_other_types_behind_equal_bytes_are_told_by_both_steps(step: Step) -> None:
    text = b'{"key": "", "value": ""}'
    kinds = [{"key.schema.type": kind, "value.schema.type": "STRING"} for kind in ("INT64", "STRING")]
    before, after = (SchemaInfo(SchemaType.KEY_VALUE, text, each) for each in kinds)
    found = asked(after, before, step=step)
    assert (found.is_compatible, found.warnings[0].rule) == (True, "PART_TYPE_CHANGED")
    assert rules(asked(after, before, step=step, strictness=Strictness.STRICT)) == ["PART_TYPE_CHANGED"]


@pytest.mark.parametrize("step", Step)
def test_a_comparison_that_takes_too_many_steps_is_a_no(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicschema.core.verdict.MOST_STEPS", 10_000)
    versions = [FAMILIES["full"](40, version) for version in range(2)]
    assert rules(asked(versions[1], versions[0], step=step)) == ["COMPARISON_TOO_COMPLEX"]
