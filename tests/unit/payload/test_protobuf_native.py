"""PROTOBUF_NATIVE payloads by hand: bytes of the specification, each kind of fault, and its path and offset."""

import math
from typing import Any

import pytest

from support.payloads.protobuf_orders import NEEDY, ORDER, PROTO_2, PROTO_3, UNEVEN, schema
from support.payloads.verdicts import findings, refusal
from topicschema import payload
from topicschema.core.errors import InvalidPayloadError


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("", {}),
        ("08 96 01", {"id": 150}),
        ("08 ff ff ff ff ff ff ff ff ff 01", {"id": -1}),
        ("12 02 c3 a9", {"note": "é"}),
        ("1a 03 0a 01 61 1a 00", {"lines": [{"sku": "a"}, {}]}),
        ("22 04 08 05 12 00 22 07 08 07 12 03 0a 01 61", {"by": {5: {}, 7: {"sku": "a"}}}),
        ("2a 03 02 01 03", {"n": [1, -1, -2]}),
        ("30 01", {"color": "RED"}),
        ("38 00", {"a": False}),
        ("4a 01 ff", {"raw": b"\xff"}),
        ("55 00 00 c0 3f", {"price": 1.5}),
        ("5a 02 00 01", {"colors": ["NONE", "RED"]}),
        ("62 08 01 00 00 00 ff ff ff ff", {"fixed": [1, 2**32 - 1]}),
    ],
)
def test_a_value_has_these_bytes_and_comes_back(content: str, value: dict[str, Any]) -> None:
    assert payload.encode(PROTO_3, value).payload == bytes.fromhex(content)
    assert payload.decode(PROTO_3, bytes.fromhex(content)) == value
    assert findings(PROTO_3, content) == []


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("08 01 08 02", {"id": 2}),
        ("08 01 08 00", {}),
        ("28 02 2a 01 04 28 06", {"n": [1, 2, 3]}),
        ("2a 00", {}),
        ("42 03 0a 01 61 42 02 12 00", {"b": {"sku": "a", "next": {}}}),
        ("38 01 42 00", {"b": {}}),
        ("42 00 38 01", {"a": True}),
        ("22 00", {"by": {0: {}}}),
        ("22 02 08 05 22 07 08 05 12 03 0a 01 61", {"by": {5: {"sku": "a"}}}),
        ("30 81 80 80 80 10", {"color": "RED"}),
    ],
)
def test_what_comes_in_pieces_or_twice_is_read_as_java_reads_it(content: str, value: dict[str, Any]) -> None:
    assert payload.decode(PROTO_3, bytes.fromhex(content)) == value
    assert findings(PROTO_3, content) == []


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        ("08", ("TRUNCATED", "$.id", 1)),
        ("08 80", ("TRUNCATED", "$.id", 1)),
        ("88", ("TRUNCATED", "$", 0)),
        ("08 ff ff ff ff ff ff ff ff ff ff 01", ("VARINT_TOO_LONG", "$.id", 1)),
        ("00", ("INVALID_FIELD_NUMBER", "$", 0)),
        ("07 00", ("INVALID_FIELD_NUMBER", "$", 0)),
        ("0e", ("INVALID_WIRE_TYPE", "$", 0)),
        ("0f", ("INVALID_WIRE_TYPE", "$", 0)),
        ("12 05 61", ("TRUNCATED", "$.note", 1)),
        ("12 ff ff ff ff 0f", ("NEGATIVE_LENGTH", "$.note", 1)),
        ("12 02 61 ff", ("INVALID_UTF8", "$.note", 3)),
        ("1a 00 1a 03 0a 05 61", ("TRUNCATED", "$.lines[1].sku", 5)),
        ("1a 04 12 02 0a 05", ("TRUNCATED", "$.lines[0].next.sku", 5)),
        ("22 02 08 01 22 03 12 01 0a", ("TRUNCATED", "$.by{1}.sku", 9)),
        ("22 02 08 80", ("TRUNCATED", "$.by{0}", 3)),
        ("2a 02 02 80", ("TRUNCATED", "$.n[1]", 3)),
        ("62 05 01 00 00 00 02", ("TRUNCATED", "$.fixed[1]", 6)),
        ("55 00", ("TRUNCATED", "$.price", 1)),
        ("0c", ("UNMATCHED_GROUP", "$", 0)),
        ("a3 06 0c", ("UNMATCHED_GROUP", "$", 2)),
        ("a3 06 08 01", ("TRUNCATED", "$", 4)),
    ],
)
def test_what_java_refuses_is_refused_at_its_byte_and_field(content: str, finding: tuple[str, str, int]) -> None:
    assert findings(PROTO_3, content) == [(*finding, False)]
    assert refusal(payload.decode, PROTO_3, bytes.fromhex(content)) == finding


@pytest.mark.parametrize(
    ("content", "value", "finding"),
    [
        ("c0 3e 01 08 01", {"id": 1}, ("UNKNOWN_FIELD", "$", 0)),
        ("1a 03 c0 3e 01", {"lines": [{}]}, ("UNKNOWN_FIELD", "$.lines[0]", 2)),
        ("a3 06 a8 06 01 ab 06 ac 06 a4 06", {}, ("UNKNOWN_FIELD", "$", 0)),
        ("09 00 00 00 00 00 00 00 00", {}, ("WRONG_WIRE_TYPE", "$.id", 0)),
        ("30 07", {"color": 7}, ("UNKNOWN_SYMBOL", "$.color", 1)),
        ("5a 02 01 07", {"colors": ["RED", 7]}, ("UNKNOWN_SYMBOL", "$.colors[1]", 2)),
    ],
)
def test_a_field_that_java_skips_is_reported_and_tolerated(
    content: str, value: dict[str, Any], finding: tuple[str, str, int]
) -> None:
    assert findings(PROTO_3, content) == [(*finding, True)]
    assert payload.decode(PROTO_3, bytes.fromhex(content)) == value


def test_proto2_keeps_what_is_default_drops_numbers_it_does_not_know_and_takes_any_text() -> None:
    assert payload.decode(PROTO_2, b"\x08\x00") == {"id": 0}
    assert payload.encode(PROTO_2, {"id": 0, "n": [1]}).payload == b"\x08\x00\x28\x02"
    assert payload.decode(PROTO_2, b"\x30\x07\x58\x01\x58\x07") == {"colors": ["RED"]}
    assert findings(PROTO_2, "30 07") == [("UNKNOWN_SYMBOL", "$.color", 1, True)]
    assert payload.decode(PROTO_2, b"\x12\x01\xff") == {"note": "\ufffd"}
    assert findings(PROTO_2, "12 01 ff") == [("INVALID_UTF8", "$.note", 2, True)]


@pytest.mark.parametrize(
    ("content", "value", "missing"),
    [
        ("", None, ("$.id", 0, False)),
        ("08 01 13 14", None, ("$.part.id", 3, False)),
        ("1a 00 08 01 1a 00", None, ("$.one.id", 2, False)),
        ("08 01 2a 02 12 00", None, ("$.by{0}.id", 6, False)),
        ("08 01 2a 02 12 00 2a 04 12 02 08 01", None, ("$.by{0}.id", 6, False)),
        ("1a 00 1a 02 08 02 08 01", {"one": {"id": 2}, "id": 1}, None),  # it may come later
        ("1a 00 20 01 08 01", {"other": 1, "id": 1}, None),  # or be replaced
        ("08 01 2a 03 0a 01 6b", {"id": 1, "by": {"k": {}}}, ("$.by{0}.id", 4, True)),  # generic consumers read it
        ("08 01 2a 03 0a 01 6b 2a 07 0a 01 6b 12 02 08 01", {"id": 1, "by": {"k": {"id": 1}}}, None),
    ],
)
def test_required_field_is_missed_where_its_message_begins(
    content: str, value: Any, missing: tuple[str, int, bool] | None
) -> None:
    assert findings(NEEDY, content) == ([] if missing is None else [("MISSING_FIELD", *missing)])
    if value is not None:
        assert payload.decode(NEEDY, bytes.fromhex(content)) == value


def test_an_entry_without_a_value_that_requires_nothing_excuses_no_message_that_lacks_something() -> None:
    # Cached facts of a value must not outlive it: a later message may get the same address in memory.
    entries = "".join(f"0a 02 08 {key:02x}" for key in range(100))
    for whole in range(0, 120, 10):  # lines before those that lack something
        results = findings(UNEVEN, f"0a 90 03 {entries} 10 01" + "1a 02 08 01" * whole + "1a 00" * 15)
        assert [(rule, is_tolerated) for rule, _, _, is_tolerated in results] == [("MISSING_FIELD", False)] * 15


def test_a_group_has_a_beginning_and_an_end() -> None:
    content = bytes.fromhex("08 01 13 08 02 14")
    assert payload.encode(NEEDY, {"id": 1, "part": {"id": 2}}).payload == content
    assert payload.decode(NEEDY, content) == {"id": 1, "part": {"id": 2}}
    assert findings(NEEDY, "08 01 13 08 02") == [("TRUNCATED", "$.part", 5, False)]
    assert findings(NEEDY, "08 01 13 08 02 1c") == [("UNMATCHED_GROUP", "$.part", 5, False)]


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"next": value}
    return {"lines": [value]} if levels else {}


def test_a_hundred_levels_are_read_and_written_and_no_more() -> None:
    content = payload.encode(PROTO_3, nested(100)).payload
    assert payload.decode(PROTO_3, content) == nested(100)
    with pytest.raises(InvalidPayloadError, match="more than 100 levels"):
        payload.encode(PROTO_3, nested(101))
    [(rule, _, offset, _)] = findings(PROTO_3, "a3 06" * 101)
    assert (rule, offset) == ("TOO_DEEP", 200)
    assert findings(PROTO_3, "a3 06" * 100 + "a4 06" * 100) == [("UNKNOWN_FIELD", "$", 0, True)]


def test_more_values_than_anybody_sends_are_not_read() -> None:
    results = payload.validate(PROTO_3, b"\x1a\x00" * 300_000)
    assert [(each.rule, each.is_tolerated) for each in results] == [("TOO_MANY_VALUES", False)]


def test_only_the_first_findings_are_reported() -> None:
    assert len(payload.validate(PROTO_3, b"\xc0\x3e\x01" * 1000)) == 20


@pytest.mark.parametrize(
    ("value", "rule", "path"),
    [
        (5, "WRONG_TYPE", "$"),
        ({"id": "1"}, "WRONG_TYPE", "$.id"),
        ({"id": False}, "WRONG_TYPE", "$.id"),
        ({"id": 2**63}, "OUT_OF_RANGE", "$.id"),
        ({"fixed": [0, -1]}, "OUT_OF_RANGE", "$.fixed[1]"),
        ({"price": 1e300}, "OUT_OF_RANGE", "$.price"),
        ({"price": "1"}, "WRONG_TYPE", "$.price"),
        ({"note": b""}, "WRONG_TYPE", "$.note"),
        ({"raw": ""}, "WRONG_TYPE", "$.raw"),
        ({"a": 1}, "WRONG_TYPE", "$.a"),
        ({"n": 1}, "WRONG_TYPE", "$.n"),
        ({"by": []}, "WRONG_TYPE", "$.by"),
        ({"by": {1: {}, "2": {}}}, "WRONG_TYPE", "$.by{1}"),
        ({"lines": [{}, {"sku": 1}]}, "WRONG_TYPE", "$.lines[1].sku"),
        ({"color": "BLUE"}, "UNKNOWN_SYMBOL", "$.color"),
        ({"color": 1.5}, "WRONG_TYPE", "$.color"),
        ({"colour": 1}, "UNKNOWN_FIELD", "$"),
        ({"a": True, "b": {}}, "ONEOF_CONFLICT", "$.a"),
    ],
)
def test_a_value_that_is_none_of_the_message_is_refused(value: Any, rule: str, path: str) -> None:
    assert refusal(payload.encode, PROTO_3, value) == (rule, path, None)


def test_what_is_required_must_be_there_to_be_written() -> None:
    assert refusal(payload.encode, NEEDY, {"id": 1, "by": {"k": {}}})[:2] == ("MISSING_FIELD", "$.by{0}.id")
    with pytest.raises(InvalidPayloadError, match="no value with this number"):
        payload.encode(PROTO_2, {"color": 7})


@pytest.mark.parametrize(
    ("value", "content"), [({"id": None, "a": None, "b": {}}, "42 00"), ({"price": -0.0}, "55 00 00 00 80")]
)
def test_absent_and_default_values_are_written_as_java_writes_them(value: Any, content: str) -> None:
    assert payload.encode(PROTO_3, value).payload == bytes.fromhex(content)
    not_a_number = bytes.fromhex("55 01 00 a0 7f")  # its bits stay
    assert payload.encode(PROTO_3, payload.decode(PROTO_3, not_a_number)).payload == not_a_number


def test_extensions_are_unknown_fields_as_they_are_to_the_client() -> None:
    extended = 'extension_range { start: 7 end: 9 } field { name: "id"'
    parsed = schema(ORDER.replace("SYNTAX", "proto2").replace('field { name: "id"', extended))
    assert findings(parsed, "38 01") == [("UNKNOWN_FIELD", "$", 0, True)]


def test_defaults_in_descriptors_are_read_as_java_reads_them() -> None:
    texts = {"INT32": "-0x1F", "INT64": "017", "DOUBLE": "-inf", "BOOL": "TRUE"}
    texts["BYTES"] = "\\\\001a\\\\n\\\\x7f\\\\u00e9"
    fields = "".join(
        f'field {{ name: "f{index}" number: {index} type: TYPE_{kind} label: LABEL_OPTIONAL default_value: "{text}" }}'
        for index, (kind, text) in enumerate(texts.items(), 1)
    )
    parsed = schema(f'package: "p" name: "o.proto" message_type {{ name: "Order" {fields} }}')
    root = payload.codec(parsed).root  # type: ignore[attr-defined]  # the codec of this type
    assert [each.default for each in root.written] == [-31, 15, -math.inf, True, b"\x01a\n\x7f\xc3\xa9"]
