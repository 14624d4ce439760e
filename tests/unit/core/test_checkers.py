"""Checkers as plug-ins: their arguments, and the use of their answers, and of none."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import Any

import pytest

from support import judged
from support.judged import judge, needed
from support.schemas.examples import history, parsed, record
from topicschema.core import compatibility, formats
from topicschema.core.checkers import Checkers, CustomChecker, Finding
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import KeyValue, Part
from topicschema.core.policy import BrokerProfile, Policy, Strictness
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Direction, Strategy
from topicschema.core.verdict import Candidate, Outcome, Verdict

_Call = tuple[bytes, tuple[bytes, ...], Strategy]
DIRECTED = [strategy for strategy in Strategy if strategy.directions]


class Checker:
    """A checker that returns the given answer and records its calls."""

    def __init__(self, answer: Callable[[], Any] = list) -> None:
        self.answer = answer
        self.calls: list[_Call] = []

    def incompatibilities(
        self, candidate: SchemaInfo, earlier: Sequence[SchemaInfo], strategy: Strategy
    ) -> Iterable[Finding]:
        self.calls.append((candidate.schema, tuple(each.schema for each in earlier), strategy))
        findings: Iterable[Finding] = self.answer()
        return findings


def plugged(kind: SchemaType, checker: Checker) -> Checkers:
    return MappingProxyType({kind: CustomChecker("acme:Checker of acme 1.0", checker)})


def check(
    candidate: Schema, earlier: Sequence[Schema], checkers: Checkers, strategy: Strategy = Strategy.BACKWARD_TRANSITIVE
) -> tuple[Incompatibility, ...]:
    considered = [Predecessor(number, each.info.type, each) for number, each in enumerate(earlier)]
    return compatibility.check(candidate, considered, strategy, checkers)


ONE, TWO, OTHER = record("id"), record("id", "note?"), record("id", "total")
AVRO = SchemaType.AVRO


@pytest.mark.parametrize("strategy", DIRECTED)
def test_it_takes_the_place_of_the_built_in_one(strategy: Strategy) -> None:
    checker = Checker()
    assert check(OTHER, [TWO], {}, Strategy.BACKWARD)
    assert check(OTHER, [TWO], plugged(AVRO, checker), strategy) == ()
    assert checker.calls == [(OTHER.info.schema, (TWO.info.schema,), strategy)]


def test_it_is_called_once_with_all_versions_of_the_strategy_oldest_first() -> None:
    finding = Finding("NAME_TOO_LONG", "too long", "$.fields[0]", Direction.BACKWARD, 1)
    checker = Checker(lambda: [finding, Finding("ODD", "odd")])
    findings = check(OTHER, [ONE, TWO], plugged(AVRO, checker))
    assert checker.calls == [(OTHER.info.schema, (ONE.info.schema, TWO.info.schema), Strategy.BACKWARD_TRANSITIVE)]
    assert findings == (
        Incompatibility("NAME_TOO_LONG", "$.fields[0]", "too long (acme:Checker of acme 1.0)", Direction.BACKWARD, 1),
        Incompatibility("ODD", "$", "odd (acme:Checker of acme 1.0)"),
    )


@pytest.mark.parametrize("strategy", [Strategy.ALWAYS_COMPATIBLE, Strategy.ALWAYS_INCOMPATIBLE, Strategy.UNDEFINED])
def test_strategies_without_directions_are_answered_without_it(strategy: Strategy) -> None:
    checker = Checker(lambda: 1 / 0)
    findings = check(OTHER, [ONE], plugged(AVRO, checker), strategy)
    assert [each.rule for each in findings] == ([] if strategy is Strategy.ALWAYS_COMPATIBLE else [strategy.value])
    assert checker.calls == []


def test_a_change_of_type_and_equal_bytes_are_answered_without_it() -> None:
    checker = Checker()
    text = parsed(SchemaType.STRING)
    assert [each.rule for each in check(ONE, [text, TWO], plugged(AVRO, checker))] == ["TYPE_CHANGED"]
    assert check(ONE, [ONE], plugged(AVRO, checker), Strategy.FULL) == ()
    assert check(ONE, [], plugged(AVRO, checker)) == ()
    assert checker.calls == []


def test_a_type_without_a_checker_gets_one() -> None:
    python, java = (parsed(SchemaType.STRING, text) for text in ("null", ""))
    refusing = plugged(SchemaType.STRING, Checker(lambda: [Finding("NO", "no")]))
    assert [each.rule for each in check(python, [java], refusing)] == ["NO"]
    assert check(python, [java], {}) == ()


def test_the_findings_before_its_failure_are_reported_too() -> None:
    def failing() -> Iterator[Finding]:
        yield Finding("FIRST", "first")
        raise OSError("no network")

    findings = check(OTHER, [ONE], plugged(AVRO, Checker(failing)))
    assert [each.rule for each in findings] == ["FIRST", "CHECKER_FAILED"]
    assert findings[-1].message == (
        "acme:Checker of acme 1.0, plugged in as the checker of AVRO, raised OSError: no network; without its "
        "answer nothing is admitted"
    )


class Speechless(Exception):  # noqa: N818  # a name for the message
    def __str__(self) -> str:
        raise ValueError


def raising(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def endless() -> Iterator[Finding]:
    while True:
        yield Finding("AGAIN", "again")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (raising(Speechless()), "raised Speechless;"),
        (raising(ValueError("x" * 5_000)), "raised ValueError: " + "x" * 200 + ";"),
        (raising(RecursionError("deep")), "raised RecursionError: deep;"),
        (raising(SystemExit(0)), "raised SystemExit: 0;"),
        (lambda: None, "raised TypeError: 'NoneType' object is not iterable;"),
        (lambda: True, "raised TypeError: 'bool' object is not iterable;"),
        (lambda: ["RULE"], "raised TypeError: a Finding is expected, not str;"),
        (lambda: [Finding("small", "x")], "raised ValueError: a Finding needs a rule in capital letters"),
        (lambda: [Finding("R", None)], "raised ValueError: a Finding needs a rule"),  # type: ignore[arg-type]
        (lambda: [Finding("R" * 65, "x")], "raised ValueError: a Finding needs a rule"),
        (lambda: [Finding("R", "x", "fields")], "raised ValueError: a Finding's path begins with $"),
        (lambda: [Finding("R", "x", direction="BACKWARDS")], "raised TypeError: a Finding's direction"),  # type: ignore[arg-type]
        (lambda: [Finding("R", "x", earlier=1)], "raised ValueError: a Finding's earlier is None or an index into 1"),
        (lambda: [Finding("R", "x", earlier=-1)], "raised ValueError: a Finding's earlier"),
        (lambda: [Finding("R", "x", earlier=True)], "raised ValueError: a Finding's earlier"),
    ],
)
def test_a_checker_that_fails_or_returns_nonsense_is_a_no(answer: Callable[[], Any], message: str) -> None:
    (finding,) = check(OTHER, [ONE], plugged(AVRO, Checker(answer)))
    assert (finding.rule, finding.path) == ("CHECKER_FAILED", "$")
    assert (finding.direction, finding.schema_version) == (None, None)
    assert message in finding.message


def test_it_cannot_keep_a_user_from_interrupting() -> None:
    with pytest.raises(KeyboardInterrupt):
        check(OTHER, [ONE], plugged(AVRO, Checker(raising(KeyboardInterrupt()))))


def test_of_endless_findings_a_thousand_are_reported() -> None:
    assert len(check(OTHER, [ONE], plugged(AVRO, Checker(endless)))) == 1_000


def test_long_words_are_cut() -> None:
    checker = Checker(lambda: [Finding("R", "m" * 5_000, "$" + ".a" * 5_000)])
    (finding,) = check(OTHER, [ONE], plugged(AVRO, checker))
    assert (len(finding.path), len(finding.message)) == (1_000, 1_000 + len(" (acme:Checker of acme 1.0)"))


def pair(key: SchemaType, value: Schema) -> Schema:
    return formats.parse(key_value.encode(KeyValue(Part(SchemaInfo(key)), Part(value.info))))


def test_a_pairs_parts_go_to_the_checkers_of_their_types_as_in_the_broker() -> None:
    checker = Checker(lambda: [Finding("ODD", "odd", "$.fields[0]", earlier=1)])
    versions = [pair(SchemaType.STRING, ONE), pair(SchemaType.STRING, TWO)]
    findings = check(pair(SchemaType.STRING, OTHER), versions, plugged(AVRO, checker))
    assert checker.calls == [(OTHER.info.schema, (ONE.info.schema, TWO.info.schema), Strategy.BACKWARD_TRANSITIVE)]
    assert [(each.rule, each.path, each.schema_version) for each in findings] == [("ODD", "$.value.fields[0]", 1)]


def test_a_changed_type_of_a_part_is_reported_without_them() -> None:
    checker = Checker()
    findings = check(pair(SchemaType.INT32, OTHER), [pair(SchemaType.STRING, TWO)], plugged(AVRO, checker))
    assert [each.rule for each in findings] == ["PART_TYPE_CHANGED"]


def test_a_checker_of_pairs_gets_the_pair() -> None:
    checker = Checker(lambda: [Finding("ODD", "odd")])
    before, after = pair(SchemaType.STRING, TWO), pair(SchemaType.INT32, OTHER)
    assert [each.rule for each in check(after, [before], plugged(SchemaType.KEY_VALUE, checker))] == ["ODD"]
    assert checker.calls[0][0] == after.info.schema


def verdict(candidate: Schema, earlier: Schema, checkers: Checkers, strictness: Strictness) -> Verdict:
    return judged.verdict(candidate, [earlier], Policy(Strategy.FULL, strictness, BrokerProfile(checkers=checkers)))


def test_a_verdict_uses_it_and_a_compatible_change_may_still_be_a_risk() -> None:
    before, after = (parsed(SchemaType.PROTOBUF, text) for text in ('"int"', '"string"'))
    passing, refusing = (plugged(SchemaType.PROTOBUF, Checker(lambda a=a: a)) for a in ([], [Finding("NO", "no")]))
    assert verdict(after, before, passing, Strictness.BROKER).outcome is Outcome.NEXT_VERSION
    assert verdict(after, before, passing, Strictness.STRICT).incompatibilities[0].rule == "TYPE_MISMATCH"
    assert [each.rule for each in verdict(after, before, refusing, Strictness.BROKER).incompatibilities] == ["NO"]


def test_a_verdict_needs_the_payloads_that_it_checks() -> None:
    null, empty = parsed(SchemaType.STRING, "null"), parsed(SchemaType.STRING)
    policy = Policy(Strategy.FULL, profile=BrokerProfile(checkers=plugged(SchemaType.STRING, Checker())))
    assert [each.schema_version for each in needed(Candidate(null), history(empty), policy)] == [0]
    with pytest.raises(KeyError):
        judge(Candidate(null), history(empty), policy, {})
