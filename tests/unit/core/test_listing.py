"""Limit on the findings that a judgment lists: it counts the others, and the verdict stays."""

import json
from dataclasses import replace

import pytest

from support.judged import judge
from support.schemas.avro import enum, field, record
from support.schemas.examples import history
from topicschema.core import broker_errors, compatibility, formats
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.policy import Policy, Strictness
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.steps import MOST_FINDINGS, Listing, Steps
from topicschema.core.strategies import Direction, Strategy
from topicschema.core.verdict import Candidate, Outcome

FIELDS = MOST_FINDINGS + 500


def fields(kind: str, *last: dict[str, object], count: int = FIELDS) -> Schema:
    made = record("R", *(field(f"f{number}", kind) for number in range(count)), *last)
    return formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(made).encode()))


INTS, TEXTS, LONGS, FLOATS = (fields(kind) for kind in ("int", "string", "long", "float"))


def checked(candidate: Schema, *earlier: Schema) -> tuple[Incompatibility, ...]:
    before = [Predecessor(number, each.info.type, each) for number, each in enumerate(earlier)]
    return compatibility.check(candidate, before, Strategy.BACKWARD_TRANSITIVE)


def test_the_first_are_listed_in_order_and_the_others_counted() -> None:
    *listed, last = checked(TEXTS, INTS)
    assert [each.path for each in listed] == [f"$.fields[{number}].type" for number in range(MOST_FINDINGS)]
    assert last == Incompatibility("MORE_FINDINGS", "$", "500 more are not listed")


def test_versions_share_the_list() -> None:
    *_, last = checked(TEXTS, INTS, LONGS)
    assert last.message == "2,000 more are not listed"


def test_each_rule_is_listed_once_at_least() -> None:
    earlier = fields("int", field("e", enum("E", "A")))
    *_, renamed, last = checked(fields("string", field("e", enum("F", "A"))), earlier)
    assert renamed.rule == "NAME_MISMATCH"
    assert last.message == "500 more are not listed"


def test_what_is_too_complex_stands_last() -> None:
    one = Steps()
    compatibility.check(TEXTS, [Predecessor(0, SchemaType.AVRO, INTS)], Strategy.BACKWARD, steps=one)
    before = [Predecessor(0, SchemaType.AVRO, INTS), Predecessor(1, SchemaType.AVRO, LONGS)]
    findings = compatibility.check(TEXTS, before, Strategy.BACKWARD_TRANSITIVE, steps=Steps(one.taken + 100))
    assert [each.rule for each in findings[-3:]] == ["TYPE_MISMATCH", "MORE_FINDINGS", "COMPARISON_TOO_COMPLEX"]


@pytest.mark.parametrize("strictness", Strictness)
def test_risks_are_listed_alike_and_the_verdict_is_the_same(strictness: Strictness) -> None:
    verdict = judge(Candidate(FLOATS), history(INTS), Policy(Strategy.BACKWARD, strictness), {0: INTS})
    is_strict = strictness is Strictness.STRICT
    assert verdict.outcome is (Outcome.INCOMPATIBLE if is_strict else Outcome.NEXT_VERSION)
    findings = verdict.incompatibilities if is_strict else verdict.risks
    assert [each.rule for each in findings] == ["NUMBER_ROUNDED"] * MOST_FINDINGS + ["MORE_FINDINGS"]


def test_an_exception_of_a_broker_is_among_the_listed_findings() -> None:
    thrown = Incompatibility("INVALID_DEFAULT", "$.value.fields[0]", "m", Direction.BACKWARD, 0)
    assert broker_errors.broker_would_throw(Strategy.BACKWARD, (thrown,)) == thrown
    more = compatibility.listed(Listing([thrown, *(replace(thrown, rule="TYPE_MISMATCH") for _ in range(FIELDS))]))
    assert more[-1].rule == "MORE_FINDINGS"
    assert broker_errors.broker_would_throw(Strategy.BACKWARD, more) == thrown
