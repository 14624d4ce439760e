"""The result of each step of the broker: dedupe, defaults, hashes, histories that cannot be read."""

import json
from typing import Any

import pytest

from hostile.costly import FAMILIES
from topicschema.cli.check.engine import BrokerOperation, CheckRequest, CheckResult, answer
from topicschema.core.policy import Policy, Strictness
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": "string"}
BAD = {**NOTE, "default": None}
CHECK = {"step": BrokerOperation.COMPATIBILITY}
STRICT = {"strictness": Strictness.STRICT}
TRANSITIVE = {"strategy": Strategy.BACKWARD_TRANSITIVE}
NEVER = {"strategy": Strategy.ALWAYS_INCOMPATIBLE}
ALWAYS = {"strategy": Strategy.ALWAYS_COMPATIBLE}


def order(*fields: dict[str, Any], **rest: Any) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields), **rest})


def info(text: str, kind: SchemaType = SchemaType.AVRO, **parts: str) -> SchemaInfo:
    return SchemaInfo(kind, text.encode(errors="surrogateescape"), {f"{n}.schema.type": t for n, t in parts.items()})


def pair(value: str, kind: str = "AVRO", key: str = "") -> SchemaInfo:
    types = {"key": "AVRO" if key else "STRING", "value": kind}
    return info(f'{{"key": {key or json.dumps("")}, "value": {value}}}', SchemaType.KEY_VALUE, **types)


def empty_pair(key: str) -> SchemaInfo:
    return info('{"key": "", "value": ""}', SchemaType.KEY_VALUE, key=key, value="STRING")


def check(
    candidate: str | SchemaInfo,
    *history: str | SchemaInfo,
    strategy: Strategy = Strategy.BACKWARD,
    step: BrokerOperation = BrokerOperation.REGISTER,
    strictness: Strictness = Strictness.BROKER,
) -> CheckResult:
    infos = [each if isinstance(each, SchemaInfo) else info(each) for each in (*history, candidate)]
    return answer(CheckRequest(infos[-1], tuple(infos[:-1]), Policy(strategy, strictness), step))


def rules(result: CheckResult) -> list[str]:
    return [each.rule for each in result.incompatibilities] or ([result.refusal.reason] if result.refusal else [])


PLAIN, DOCUMENTED, TWO = order(ID), order(ID, doc="x"), order(ID, NOTE)
OPTIONAL = order(ID, {**NOTE, "type": ["string", "null"]})
ENDLESS = order({"name": "self", "type": "Order"})
JAVA, PYTHON = info("", SchemaType.STRING), info("null", SchemaType.STRING)
MISSING, UNREADABLE = ["FIELD_WITHOUT_DEFAULT"], ["INVALID_HISTORY"]
AB, A = (f'{{"type": "enum", "name": "E", "symbols": {symbols}}}' for symbols in ('["A", "B"]', '["A"]'))
PROTOBUF = [info(text, SchemaType.PROTOBUF) for text in (DOCUMENTED, PLAIN, order(NOTE), '"int"', "{", order(ID, BAD))]


@pytest.mark.parametrize(
    ("candidate", "history", "options", "expected"),
    [
        # Dedupe: the oldest equal version is the result under every strategy, unless an earlier one cannot be read.
        (PLAIN, [PLAIN], {}, 0),
        (PLAIN, [DOCUMENTED, order(ID, doc="b")], {}, 0),
        (DOCUMENTED, [PLAIN, TWO], NEVER, 0),
        (PLAIN, [PLAIN, "{"], {}, 0),
        (TWO, [TWO, PLAIN], {}, 0),
        (TWO, [TWO, PLAIN], CHECK, MISSING),
        (info('"long"', SchemaType.JSON), ['"long"'], {}, ["TYPE_CHANGED"]),
        (JAVA, [JAVA], {}, 0),
        (PYTHON, [JAVA], {}, []),
        (PYTHON, [JAVA], NEVER, ["ALWAYS_INCOMPATIBLE"]),
        (PROTOBUF[0], [PROTOBUF[1]], {}, 0),
        # The strategy chooses the versions. All findings are listed, newest version first.
        (OPTIONAL, [PLAIN, TWO], {}, []),
        (OPTIONAL, [PLAIN, TWO], TRANSITIVE, MISSING),
        (order(ID, {**NOTE, "default": ""}), [PLAIN, TWO], TRANSITIVE, []),
        (TWO, [PLAIN, order()], TRANSITIVE, MISSING * 3),
        ('"long"', ['"int"'], {"strategy": Strategy.UNDEFINED}, ["TYPE_MISMATCH"]),
        # Defaults: an upload reads them, the check alone does not.
        (order(ID, BAD), [], {}, ["INVALID_DEFAULT"]),
        (order(ID, BAD), [], CHECK, []),
        (PLAIN, [order(ID, BAD)], CHECK, []),
        (order(ID, BAD), [PLAIN], CHECK, ["INVALID_DEFAULT"]),
        # A version that cannot be read fails every later upload of Avro's types.
        *(
            (PLAIN, history, {"strategy": strategy}, UNREADABLE)
            for history in ([order(ID, BAD)], [order(ID, BAD), TWO], ["{", TWO])
            for strategy in (Strategy.BACKWARD, Strategy.ALWAYS_COMPATIBLE, Strategy.FULL_TRANSITIVE)
        ),
        (JAVA, ["{"], {}, ["TYPE_CHANGED"]),
        (JAVA, ["{"], ALWAYS, []),
        (DOCUMENTED, ["{", PLAIN], CHECK, []),
        (DOCUMENTED, ["{", PLAIN], CHECK | TRANSITIVE, UNREADABLE),
        # Equal bytes of the latest version call no checker.
        (PLAIN, [PLAIN], CHECK | NEVER, []),
        (DOCUMENTED, [PLAIN], CHECK | NEVER, ["ALWAYS_INCOMPATIBLE"]),
        (ENDLESS, [ENDLESS], CHECK, []),
        (ENDLESS, [ENDLESS], CHECK | TRANSITIVE, ["INFINITE_RECORD"]),
        # Types
        (PLAIN, [info("anything", SchemaType.NONE)], {}, ["TYPE_CHANGED"]),
        (info("", SchemaType.BYTES), [], {}, ["UNSUPPORTED_TYPE"]),
        (info("", SchemaType.AUTO_CONSUME), [], {}, ["UNSUPPORTED_TYPE"]),
        # A version that only risks would read matters only if risks are refused.
        (PROTOBUF[3], [PROTOBUF[4]], CHECK, []),
        (PROTOBUF[3], [PROTOBUF[4]], CHECK | STRICT, UNREADABLE),
        (PROTOBUF[5], [PROTOBUF[1]], CHECK | STRICT, ["INVALID_DEFAULT"]),
        # Pairs, in the form of the REST API
        (pair(order(ID, {**NOTE, "default": ""})), [pair(PLAIN)], {}, []),
        (pair(PLAIN.replace(" ", "\n")), [pair(PLAIN)], {}, 0),
        (pair(DOCUMENTED), [pair(PLAIN)], {}, []),
        (pair(PLAIN, "JSON"), [pair(PLAIN)], {}, 0),
        (pair(PLAIN, "JSON"), [pair(PLAIN)], CHECK, []),
        (pair(DOCUMENTED, "JSON"), [pair(PLAIN)], {}, ["PART_TYPE_CHANGED"]),
        (empty_pair("STRING"), [empty_pair("Text")], {}, 0),
        (empty_pair("STRING"), [empty_pair("Text")], STRICT, UNREADABLE),
        (empty_pair("STRING"), [empty_pair("Text")], CHECK, []),
        *(
            (pair(PLAIN), [info(text, SchemaType.KEY_VALUE)], {}, UNREADABLE)
            for text in ("{", "[]", '{"key": ""}', "\udcff", "", "é\udcff")
        ),
    ],
)
def test_the_result_is_the_equal_version_or_the_reasons(
    candidate: str | SchemaInfo, history: list[str | SchemaInfo], options: dict[str, Any], expected: int | list[str]
) -> None:
    result = check(candidate, *history, **options)
    assert (rules(result) if result.equal_to is None else result.equal_to) == expected
    assert result.is_compatible is (expected == [] or isinstance(expected, int))


def test_findings_have_places_versions_and_directions() -> None:
    result = check(TWO, PLAIN, order(), **TRANSITIVE)
    places = [(each.path, each.schema_version) for each in result.incompatibilities]
    assert places == [("$.fields[0]", 1), ("$.fields[1]", 1), ("$.fields[1]", 0)]
    assert [each.path for each in check(pair(TWO), pair(PLAIN)).incompatibilities] == ["$.value.fields[1]"]
    undefined = check('"long"', '"int"', strategy=Strategy.UNDEFINED)  # the broker's own, FULL
    assert [each.direction for each in undefined.incompatibilities] == ["FORWARD"]
    refusal = check(PLAIN, "{", TWO).refusal
    assert refusal is not None
    assert refusal.path == "history[0].schema"


@pytest.mark.parametrize("text", ["{", "[]", '{"key": ""}', "\udcff", "", "é\udcff"])
def test_a_text_that_is_no_pair_is_refused(text: str) -> None:
    assert check(info(text, SchemaType.KEY_VALUE)).refusal is not None


@pytest.mark.parametrize(
    ("candidate", "earlier", "reason", "path"),
    [
        (order(ID, BAD), PLAIN, "INVALID_DEFAULT", "$.fields[1]"),
        (ENDLESS, order({"name": "self", "type": "Order"}, ID), "INFINITE_RECORD", "$"),
        (
            order(ID, {**NOTE, "aliases": ["b"]}),
            order(ID, NOTE, {**NOTE, "name": "b"}),
            "ALIAS_CONFLICT",
            "$.fields[1]",
        ),
    ],
)
def test_an_error_of_the_broker_s_comparison_is_reported_beside_the_reasons(
    candidate: str, earlier: str, reason: str, path: str
) -> None:
    result = check(candidate, earlier, **CHECK)
    assert result.refusal is not None
    assert (result.refusal.reason, result.refusal.path) == (reason, path)
    assert (reason, path) in [(each.rule, each.path) for each in result.incompatibilities]
    wrapped = check(candidate, earlier, **CHECK, **TRANSITIVE)
    assert not wrapped.is_compatible
    assert (wrapped.refusal is not None) == (reason == "INFINITE_RECORD")  # no other error escapes a check of all


@pytest.mark.parametrize(
    ("candidate", "earlier", "has_error"),
    [
        (order(NOTE, {**BAD, "name": "bad"}), PLAIN, False),  # the missing default is found before the wrong one
        (order({**BAD, "name": "bad"}, NOTE), PLAIN, True),
        (pair(order(ID, BAD), key=PLAIN), pair(PLAIN, key=PLAIN), True),
        (pair(order(ID, BAD), key=order(NOTE)), pair(PLAIN, key=PLAIN), False),  # its key is refused first
        (PROTOBUF[5], PROTOBUF[1], False),
    ],
)
def test_the_broker_stops_at_its_first_reason(
    candidate: str | SchemaInfo, earlier: str | SchemaInfo, *, has_error: bool
) -> None:
    result = check(candidate, earlier, **CHECK, **STRICT)
    assert "INVALID_DEFAULT" in rules(result)
    assert (result.refusal is not None) is has_error


@pytest.mark.parametrize(
    ("candidate", "earlier", "steps", "rule"),
    [
        (DOCUMENTED, PLAIN, [BrokerOperation.REGISTER], "STORED_SCHEMA_UNCHANGED"),
        (empty_pair("STRING"), empty_pair("Text"), [BrokerOperation.REGISTER], "STORED_SCHEMA_UNCHANGED"),
        (PROTOBUF[2], PROTOBUF[0], [BrokerOperation.REGISTER], "FIELD_WITHOUT_DEFAULT"),
        (A, AB, BrokerOperation, "ENUM_SYMBOL_UNKNOWN"),
        (empty_pair("STRING"), empty_pair("INT64"), BrokerOperation, "PART_TYPE_CHANGED"),
    ],
)
def test_a_risk_is_a_warning_and_under_strict_a_reason(
    candidate: str | SchemaInfo, earlier: str | SchemaInfo, steps: list[BrokerOperation], rule: str
) -> None:
    for step in steps:
        result = check(candidate, earlier, step=step)
        assert (result.is_compatible, result.warnings[0].rule) == (True, rule)
        strict = check(candidate, earlier, step=step, **STRICT)
        if strict.equal_to is None and rules(strict) != UNREADABLE:
            assert (rules(strict), strict.warnings) == ([rule], ())


def test_a_request_that_takes_too_much_cpu_time_is_refused_as_by_the_operator() -> None:
    earlier, candidate = (FAMILIES["full"](40, version) for version in range(2))
    request = CheckRequest(candidate, (earlier,), Policy(Strategy.BACKWARD))
    assert not answer(request).incompatibilities
    (finding,) = answer(request, cpu_seconds=0.004).incompatibilities
    assert finding.rule == "COMPARISON_TOO_COMPLEX"
    assert finding.message.startswith("reading and comparing the schemas takes more than 0.004 seconds of CPU time; ")
