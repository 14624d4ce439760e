"""`check --batch`: one answer for each line, order, bad lines, limits, progress."""

import io
import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicschema.cli.check import batch
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import NEWEST, PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

GOOD = {"id": 1, "type": "AVRO", "strategy": "BACKWARD", "candidate": {"schema": '"long"'}}
MEMBERS = ["id", "compatible", "equalTo", "incompatibilities", "warnings", "error", "pulsarVersion"]


def answer_all(*lines: bytes | dict[str, Any] | list[Any] | str) -> tuple[list[dict[str, Any]], int]:
    """Return the answers and the exit code. There is nothing on standard error."""
    text = b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    output, errors = io.StringIO(), io.StringIO()
    code = batch.answer_all(io.BytesIO(text), output, errors)
    assert errors.getvalue() == ""
    return [json.loads(line) for line in output.getvalue().splitlines()], code


def one(**changes: Any) -> dict[str, Any]:
    (answer,), _ = answer_all({**GOOD, **changes})
    assert list(answer) == MEMBERS
    return answer


def test_an_answer_has_the_members_of_the_protocol() -> None:
    assert one(history=[{"schema": '"long"', "properties": {"a": "b"}}]) == {
        "id": 1,
        "compatible": True,
        "equalTo": 0,
        "incompatibilities": [],
        "warnings": [
            {
                "rule": "STORED_SCHEMA_UNCHANGED",
                "path": "$",
                "message": "the schema equals version 0 but for what Pulsar does not compare (docs, aliases, "
                "properties, spacing): what is stored stays as it was",
                "direction": None,
                "schemaVersion": 0,
            }
        ],
        "error": None,
        "pulsarVersion": NEWEST,
    }


def test_a_version_may_have_its_own_type() -> None:
    typed = one(history=[{"type": "JSON", "schema": '"long"'}])
    assert [each["rule"] for each in typed["incompatibilities"]] == ["TYPE_CHANGED"]


@pytest.mark.parametrize(("step", "result"), [("register", (True, 0)), ("compatibility", (False, None))])
def test_a_step_chooses_the_upload_or_the_check_alone(step: str, result: tuple[bool, int | None]) -> None:
    answer = one(history=[{"schema": '"int"'}, {"schema": '"string"'}], candidate={"schema": '"int"'}, step=step)
    assert (answer["compatible"], answer["equalTo"]) == result


@pytest.mark.parametrize(
    ("changes", "reason", "path"),
    [
        ({"candidate": {"schema": '{"type": "array", "items": "Order"}'}}, "UNDEFINED_NAME", "$.items"),
        ({"candidate": {"type": "FOO", "schema": ""}}, "UNSUPPORTED_TYPE", "$"),
        ({"candidate": {"type": "AUTO_CONSUME"}}, "UNSUPPORTED_TYPE", "$"),
        ({"history": [{"type": "FOO", "schema": ""}]}, "INVALID_HISTORY", "history[0].schema"),
        ({"history": [{"schema": '{"type": "record"}'}]}, "INVALID_HISTORY", "history[0].schema"),
        *(
            ({"candidate": {"schema": text}}, None, None)
            for text in ('"\ud800"', "\x00", "", '"long" x', "[" * 5000, "1" * 5000)
        ),
    ],
)
def test_an_error_of_the_broker_is_a_no_and_no_invalid_line(
    changes: dict[str, Any], reason: str | None, path: str | None
) -> None:
    (answer,), code = answer_all({**GOOD, **changes})
    assert (answer["compatible"], answer["incompatibilities"], code) == (False, [], 0)
    assert answer["error"]["message"]
    if reason is not None:
        assert (answer["error"]["reason"], answer["error"]["path"]) == (reason, path)


@pytest.mark.parametrize("kind", ["AUTO", "AUTO_CONSUME", "AUTO_PRODUCE", "AUTO_PUBLISH"])
def test_each_name_of_a_client_s_setting_is_refused_as_one(kind: str) -> None:
    error = one(candidate={"type": kind})["error"]
    assert error["reason"] == "UNSUPPORTED_TYPE"
    assert "is a client's setting, never stored with a topic" in error["message"]


@pytest.mark.parametrize(
    ("pulsar_version", "why"), [("4.0", "which no Pulsar 4.0 broker knows"), ("4.2", "is not supported")]
)
def test_a_type_of_a_newer_pulsar_is_refused_by_the_rules_of_the_pulsar_version(pulsar_version: str, why: str) -> None:
    error = one(candidate={"type": "EXTERNAL", "schema": "x"}, pulsarVersion=pulsar_version)["error"]
    assert (error["reason"], why in error["message"]) == ("UNSUPPORTED_TYPE", True)
    error = one(history=[{"type": "EXTERNAL"}], pulsarVersion=pulsar_version)["error"]
    assert (error["reason"], error["path"], why in error["message"]) == ("INVALID_HISTORY", "history[0].schema", True)


NOT_JSON = [
    b"no json",
    b"",
    b"\xff",
    b'\xef\xbb\xbf{"id": 1}',
    b"[" * 100_000,
    b'{"id": ' + b"1" * 5000 + b"}",
    b'{"id": NaN}',
]
INVALID: list[tuple[bytes | dict[str, Any] | list[Any], str]] = [
    *((line, "") for line in NOT_JSON),
    ([], ""),
    ({"id": 1}, "candidate"),
    ({**GOOD, "candidate": "text"}, "candidate"),
    ({**GOOD, "candidate": {"schema": {"type": "long"}}}, "candidate.schema"),
    ({**GOOD, "candidate": {"schema": '"long"', "type": 4}}, "candidate.type"),
    ({"id": 1, "candidate": {"schema": '"long"'}}, "candidate.type"),
    ({**GOOD, "type": 4}, "type"),
    ({**GOOD, "strategy": "backward"}, "strategy"),
    ({**GOOD, "strictness": "strict"}, "strictness"),
    ({**GOOD, "step": "upload"}, "step"),
    ({**GOOD, "pulsarVersion": "3.0"}, "pulsarVersion"),
    ({**GOOD, "pulsarVersion": 4.0}, "pulsarVersion"),
    ({**GOOD, "history": {}}, "history"),
    ({**GOOD, "history": [{"schema": '"long"'}, 1]}, "history[1]"),
    ({**GOOD, "candidate": {"schema": '"long"', "properties": {"a": None}}}, "candidate.properties"),
    ({**GOOD, "candidate": {"schema": '"long"', "properties": ["a"]}}, "candidate.properties"),
    ({**GOOD, "candidate": {"protobuf": {}}}, "candidate.type"),
    ({"candidate": {"protobuf": []}}, "candidate.protobuf"),
    ({"candidate": {"protobuf": {"files": {}}}}, "candidate.protobuf.message"),
    ({"candidate": {"protobuf": {"message": 1}}}, "candidate.protobuf.message"),
    ({"candidate": {"protobuf": {"message": "A"}}}, "candidate.protobuf.files"),
    ({"candidate": {"protobuf": {"message": "A", "files": {"a.proto": 1}}}}, "candidate.protobuf.files"),
    ({"candidate": {"protobuf": {"message": "A", "files": {}}, "schema": ""}}, "candidate.schema"),
    ({**GOOD, "candidate": {"schema": '"long"', "properties": []}}, "candidate.properties"),
]


@pytest.mark.parametrize(("line", "path"), INVALID, ids=[str(line)[:50] for line, _ in INVALID])
def test_a_line_that_is_no_request_has_null_as_its_answer_and_stops_nothing(
    line: bytes | dict[str, Any] | list[Any], path: str
) -> None:
    answers, code = answer_all(GOOD, line, {**GOOD, "id": 2})
    assert [each["compatible"] for each in answers] == [True, None, True]
    assert [list(each) for each in answers] == [MEMBERS] * 3
    assert (answers[1]["error"]["reason"], answers[1]["error"]["path"]) == ("INVALID_REQUEST", path)
    assert code == 2


@pytest.mark.parametrize("value", ["x", 7, -1.5, "", None, True, [1, [2]], {"of": {"a": None}}, "\ud800"])
def test_an_id_of_any_kind_comes_back_as_it_was(value: Any) -> None:
    assert one(id=value)["id"] == value
    assert one(id=value, candidate=None)["id"] == value


def test_an_infinite_number_as_id_is_null_in_the_output() -> None:
    (answer,), code = answer_all(b'{"id": [1e999], "candidate": {"type": "STRING"}}')
    assert (answer["id"], answer["compatible"], code) == (None, None, 2)


@pytest.mark.parametrize("levels", range(800, 1000, 10))
def test_an_id_nested_too_deep_never_ends_the_batch(levels: int) -> None:
    line = b'{"id": ' + b"[" * levels + b"]" * levels + b', "candidate": {"type": "STRING"}}'
    (answer, other), _ = answer_all(line, GOOD)
    assert answer["compatible"] in (True, None)
    assert (answer["id"] is None) == (answer["compatible"] is None)
    assert other["compatible"] is True


def test_answers_come_in_the_order_of_the_lines() -> None:
    properties = {"a": 1, "b": True}  # become texts, as in the broker
    candidate = {"schema": '"long"', "properties": properties}
    answers, _ = answer_all(*({**GOOD, "id": number, "candidate": candidate} for number in range(500)))
    assert [(each["id"], each["compatible"]) for each in answers] == [(number, True) for number in range(500)]
    assert answer_all() == ([], 0)


ORDER = 'syntax = "proto3"; package shop; message Order { int32 id = 1; }'
NATIVE = {"strategy": "FULL", "strictness": "Strict"}


def sources(text: str = ORDER, **changes: Any) -> dict[str, Any]:
    return {"protobuf": {"message": "shop.Order", "files": {"order.proto": text}}, **changes}


def test_sources_are_compiled_to_the_schema_that_a_client_would_send() -> None:
    (same, changed, typed), code = answer_all(
        {"candidate": sources(), "history": [sources()]},
        {**NATIVE, "candidate": sources(ORDER.replace("int32", "string")), "history": [sources()]},
        {"type": "PROTOBUF_NATIVE", "candidate": sources(type="PROTOBUF_NATIVE", properties={"a": "b"})},
    )
    assert (same["compatible"], same["equalTo"], code) == (True, 0, 0)
    assert [each["rule"] for each in changed["incompatibilities"]] == ["FIELD_TYPE_CHANGED"]
    assert typed["compatible"] is True


def test_sources_that_cannot_be_compiled_are_a_no_with_their_place() -> None:
    broken = ORDER.replace("int32", "int")
    answers, code = answer_all({"candidate": sources(broken)}, {"candidate": sources(), "history": [sources(broken)]})
    assert code == 0
    for member, answer in zip(("candidate", "history[0]"), answers, strict=True):
        assert answer["compatible"] is False
        assert answer["error"]["reason"] == "INVALID_PROTO"
        assert answer["error"]["path"] == f'{member}.protobuf.files["order.proto"]'
        assert answer["error"]["message"].startswith("line 1, column ")


def test_without_a_compiler_the_answer_is_no_and_the_next_line_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    (failed, other), code = answer_all({"candidate": sources()}, GOOD)
    assert (failed["compatible"], failed["error"]["reason"]) == (False, "COMPILER_UNAVAILABLE")
    assert (other["compatible"], code) == (True, 2)


class Endless(io.RawIOBase):
    """A stream of a line above the limit, then a good one without a line end."""

    def __init__(self) -> None:
        self._left = iter([b"x" * batch.MAX_LINE_BYTES, b"x" * 10 + b"\n", json.dumps(GOOD).encode()])

    def readline(self, size: int | None = -1, /) -> bytes:
        assert size == batch.MAX_LINE_BYTES
        return next(self._left, b"")


def test_a_line_beyond_the_limit_is_skipped() -> None:
    answers = io.StringIO()
    assert batch.answer_all(Endless(), answers, io.StringIO()) == 2
    assert [json.loads(line)["compatible"] for line in answers.getvalue().splitlines()] == [None, True]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_progress() -> None:
    lines = io.BytesIO(b"\n".join(json.dumps(each).encode() for each in (GOOD, {**GOOD, "strategy": 1})))
    terminal = Terminal()
    batch.answer_all(lines, io.StringIO(), terminal)
    assert terminal.getvalue().endswith("\r2 answered, 1 of them not compatible\n")


def test_parsed_schemas_are_cached_within_a_bound_and_without_errors() -> None:
    cache = batch.CachedParse(10_000)  # two schemas

    def parse(text: str, owner: str = "") -> Schema:
        return cache(
            SchemaInfo(SchemaType.AVRO, text.encode(), {"owner": owner}), PulsarVersion.V4_0, validate_defaults=True
        )

    first, second = parse('"long"'), parse('"int"')
    assert parse('"long"') is first
    assert parse('"long"', "a").info.properties == {"owner": "a"}
    assert parse('"int"') is not second
    for _ in range(2):
        with pytest.raises(InvalidSchemaError):
            parse("{")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
texts = (
    st.sampled_from(['"long"', '"int"', '["null", "int"]', "", "{", '{"key": "", "value": ""}', "\ud800"]) | st.text()
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(list(SchemaType)) | anything,
        "schema": texts | anything,
        "properties": st.dictionaries(st.sampled_from(["key.schema.type", "value.schema.type"]), st.text()) | anything,
    },
)
requests = st.fixed_dictionaries(
    {"candidate": entries | anything},
    optional={
        "id": anything,
        "type": st.sampled_from(list(SchemaType)) | anything,
        "strategy": st.sampled_from(list(Strategy)) | anything,
        "step": st.sampled_from(["register", "compatibility"]) | anything,
        "pulsarVersion": st.just("4.0") | anything,
        "strictness": st.just("Broker") | anything,
        "history": st.lists(entries, max_size=4) | anything,
    },
)
lines = st.binary().map(lambda noise: noise.replace(b"\n", b" ")) | requests.map(lambda each: json.dumps(each).encode())


def refuse(word: str) -> None:
    raise AssertionError(word)  # NaN and Infinity are no JSON


@given(line=lines)
def test_any_line_has_one_answer_and_is_no_bug(line: bytes) -> None:
    output, errors = io.StringIO(), io.StringIO()
    good = json.dumps(GOOD).encode()
    code = batch.answer_all(io.BytesIO(b"\n".join((good, line, good))), output, errors)
    before, answer, after = (json.loads(each, parse_constant=refuse) for each in output.getvalue().splitlines())
    assert (before["compatible"], after["compatible"], errors.getvalue()) == (True, True, "")
    assert list(answer) == MEMBERS
    assert (answer["compatible"] is None) == (code == 2)
    assert (answer["compatible"] is True) <= (not answer["incompatibilities"] and answer["error"] is None)
    assert (answer["compatible"] is False) <= bool(answer["incompatibilities"] or answer["error"])
