"""The explanations of the rules: complete, true, and the same in docs/rules.md."""

import ast
import functools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from topicschema import payload
from topicschema.cli import rules, rules_page
from topicschema.cli.check import engine
from topicschema.cli.check.engine import CheckRequest
from topicschema.cli.rules import DocumentedRule
from topicschema.cli.rules.examples import Example, PayloadExample, ProtoExample
from topicschema.core import formats, policy
from topicschema.core.errors import InvalidPayloadError, InvalidSchemaError
from topicschema.core.formats.primitives import PrimitiveSchema
from topicschema.core.policy import Strictness
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.severity import severity_of
from topicschema.core.steps import MOST_FINDINGS, MOST_STEPS
from topicschema.core.strategies import Strategy
from topicschema.judging.cpu_time import MOST_SECONDS
from topicschema.protoc import ProtobufSources, compile_envelope

ROOT = Path(__file__).parents[3]
PACKAGES = [ROOT / "operator" / "topicschema" / name for name in ("core", "payload", "protoc")]
SHOWN = [rule for rule in rules.every() if rule.refused is not None]
COMPARED = [
    rule for rule in SHOWN if rule.refused and rule.refused.earlier and not isinstance(rule.refused, PayloadExample)
]
# Ids have an underscore, but for these; other capitals in the code are Pulsar's names.
SINGLE_WORDS = {"SYNTAX", "TRUNCATED", "UNRESOLVABLE"}
ELSEWHERE = {"arrow", "columnar"}  # docs/spark-types.md and docs/validation-reasons.md explain their reasons
OTHER_NAMES = {each.value for each in (*SchemaType, *Strategy)} | {"MAX_DEPTH", "MAX_FILES", "MAX_NAME"}


@functools.cache
def envelope(message: str, file: str, text: str) -> SchemaInfo:
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, compile_envelope(ProtobufSources(message, {file: text})))


def compiled(example: ProtoExample) -> CheckRequest:
    texts = [text for text in (example.earlier, example.candidate) if text is not None]
    *history, candidate = (envelope(example.message, example.file, text) for text in texts)
    return replace(example.request, candidate=candidate, history=tuple(history))


def of_payload(example: PayloadExample) -> set[str]:
    """Return the rules that the payload breaks."""
    request = example.request
    try:
        schema, *others = (
            PrimitiveSchema(info, "") if not info.schema else formats.parse(info, example.pulsar_version)
            for info in (request.candidate, *request.history)
        )
        if example.value is not None:
            payload.encode(schema, json.loads(example.value))
            return set()
        return {each.rule for each in payload.reader(schema, *others).read(example.content)[1]}
    except (InvalidPayloadError, InvalidSchemaError) as error:
        return {error.rule}


def broken_rules(example: Example) -> set[str]:
    """Return the rules that the example breaks, and the policy's constraints."""
    if isinstance(example, PayloadExample):
        return of_payload(example)
    try:
        request = compiled(example) if isinstance(example, ProtoExample) else example.request
    except InvalidSchemaError as error:
        return {error.rule}
    broken = policy.violations(request.candidate, request.choices, request.policy)
    result = engine.answer(request)
    reported = {each.rule for each in (*broken, *result.incompatibilities, *result.warnings)}
    return reported | ({result.refusal.reason} if result.refusal else set())


@pytest.mark.parametrize("rule", SHOWN, ids=lambda rule: rule.id)
def test_the_bad_example_breaks_its_rule_alone_and_the_good_one_passes(rule: DocumentedRule) -> None:
    assert rule.refused is not None
    assert rule.accepted is not None
    assert broken_rules(rule.refused) == {rule.id}
    assert broken_rules(rule.accepted) <= {"STORED_SCHEMA_UNCHANGED"} - {rule.id}


def reasons(request: CheckRequest, strictness: Strictness) -> set[str]:
    policy_ = replace(request.policy, strictness=strictness)
    return {each.rule for each in engine.answer(replace(request, policy=policy_)).incompatibilities}


def as_protobuf(request: CheckRequest) -> CheckRequest:
    """Return a request with the same texts under a type that the broker does not compare."""
    every = (replace(each, type=SchemaType.PROTOBUF) for each in (request.candidate, *request.history))
    candidate, *history = every
    return replace(request, candidate=candidate, history=tuple(history))


@pytest.mark.parametrize("rule", COMPARED, ids=lambda rule: rule.id)
def test_a_reason_of_strict_alone_has_a_severity(rule: DocumentedRule) -> None:
    example = rule.refused
    assert example is not None
    request = compiled(example) if isinstance(example, ProtoExample) else example.request
    for each in (request, as_protobuf(request)) if example.type is SchemaType.AVRO else (request,):
        risks = reasons(each, Strictness.STRICT) - reasons(each, Strictness.BROKER)
        assert all(map(severity_of, risks)), risks


def test_only_rules_that_never_apply_or_fill_pages_have_no_example() -> None:
    assert [rule.id for rule in rules.every() if rule.refused is None] == [
        "UNDEFINED",
        "COMPARISON_TOO_COMPLEX",
        "MORE_FINDINGS",
        "CHECKER_FAILED",
        "KEY_VALUE_PAYLOAD",
    ]


def ids_in_code() -> set[str]:
    texts = {
        node.value
        for package in PACKAGES
        for path in package.rglob("*.py")
        if not ELSEWHERE & set(path.relative_to(package).parts)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {each for each in texts if re.fullmatch(r"[A-Z0-9]+(_[A-Z0-9]+)+", each)} - OTHER_NAMES


def test_every_rule_is_explained() -> None:
    known = {rule.id for rule in rules.every()}
    assert len(ids_in_code()) > 20  # the search is not empty
    assert ids_in_code() | SINGLE_WORDS <= known


def test_ids_are_unique() -> None:
    ids = [rule.id for rule in rules.every()]
    assert len(ids) == len(set(ids))


def test_a_rule_may_be_named_in_small_letters() -> None:
    assert rules.find("type_mismatch") == rules.find("TYPE_MISMATCH")
    assert rules.find("TYPE_MISMATCH") is not None
    assert rules.find("TYPE") is None


def test_limits_in_the_texts_are_those_of_the_code() -> None:
    too_complex, more_findings = (rules.find(each) for each in ("COMPARISON_TOO_COMPLEX", "MORE_FINDINGS"))
    assert too_complex is not None
    assert more_findings is not None
    assert f"more than {MOST_STEPS:,} steps, or {MOST_SECONDS:g} seconds of CPU time" in too_complex.meaning
    assert f"more than {MOST_FINDINGS:,} reasons" in more_findings.meaning


def test_a_field_that_examples_do_not_have_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no strictnes, but candidate, .*strictness"):
        rules.chapter("title: T\nrules: [{id: A, meaning: m, advice: a, refused: {strictnes: Strict}}]")


def test_examples_fit_into_a_terminal() -> None:
    examples = [each for rule in SHOWN for each in (rule.refused, rule.accepted) if each is not None]
    lines = [line for each in examples for line in rules_page.example(each).splitlines()]
    assert max(map(len, lines)) <= 79


def test_the_document_is_the_generated_page() -> None:
    assert (ROOT / "docs" / "rules.md").read_text(encoding="utf-8") == rules_page.page()
