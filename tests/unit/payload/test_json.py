"""Plain JSON payloads of Avro-defined schemas: no tagged unions, and the byte and field of all that is wrong."""

import json
import math
from typing import Any

import pytest

from support.payloads import generic_records
from support.payloads.verdicts import findings, reasons, refusal
from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidPayloadError
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.payload import display_json
from topicschema.payload.columnar import validator_for

LINE = {"type": "record", "name": "Line", "fields": [{"name": "price", "type": "int"}]}
NOTE = {"type": "record", "name": "Note", "fields": [{"name": "text", "type": "string"}]}


def schema_of(text: Any) -> Schema:
    return formats.parse(SchemaInfo(SchemaType.JSON, json.dumps(text).encode()))


def record(**fields: Any) -> Schema:
    return schema_of({"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields.items()]})


ORDER = record(
    name=["null", "string"],
    lines={"type": "array", "items": [LINE, NOTE]},
    tags={"type": "map", "values": "long"},
    state={"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]},
    digest={"type": "fixed", "name": "Digest", "size": 2},
    weight="double",
    paid="boolean",
)
TEXT = (
    '{"name":"é","lines":[{"price":1},{"text":"x"}],"tags":{"a":1},'
    '"state":"PAID","digest":"AQI=","weight":1.5,"paid":true}'
)
VALUE = {
    "name": "é",
    "lines": [{"price": 1}, {"text": "x"}],
    "tags": {"a": 1},
    "state": "PAID",
    "digest": b"\x01\x02",
    "weight": 1.5,
    "paid": True,
}


def test_a_unions_value_stands_for_itself() -> None:
    assert payload.decode(ORDER, TEXT.encode()) == VALUE
    assert payload.encode(ORDER, VALUE).payload == TEXT.encode()
    assert payload.validate(ORDER, TEXT.encode()) == ()


def test_null_fields_are_left_out_and_come_back_as_null() -> None:
    schema = record(a=["null", "int"], b="int")
    assert payload.encode(schema, {"a": None, "b": 1}).payload == b'{"b":1}'
    assert payload.decode(schema, b'{"b":1}') == {"a": None, "b": 1}
    assert payload.validate(schema, b'{"b":1}') == ()


def test_nan_and_the_infinities_are_texts() -> None:
    schema = record(a="double", b="float")
    content = b'{"a":"NaN","b":"-Infinity"}'
    value = payload.decode(schema, content)
    assert math.isnan(value["a"])
    assert value["b"] == -math.inf
    assert payload.encode(schema, value).payload == content


def test_a_decimal_may_be_a_number() -> None:
    schema = record(a={"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2})
    assert payload.decode(schema, b'{"a":1.25}') == {"a": 1.25}
    assert payload.decode(schema, b'{"a":"fQ=="}') == {"a": b"}"}


JAVA_TIME = [
    ("int", "date", [19724, [2024, 2, 29], [-5, 1, 1], "2024-01-02"], [[2023, 2, 29], [2024, 1], 1.5, "2024-13-01"]),
    ("int", "time-millis", [[1, 2], [1, 2, 3, 4], "01:02:03.5"], [[1], [24, 0], [1, 2, 3, -1], 1.5, "1:2"]),
    ("long", "time-micros", [[1, 2]], [[1, 60]]),
    ("long", "local-timestamp-millis", [[2024, 1, 2, 3, 4], "2024-01-02T03:04"], [[2024, 1, 2], 1.5, "2024-01-02"]),
    ("long", "timestamp-millis", [5, 1.5, "17.5", "2024-01-02T03:04:05Z"], [1e30, [2024, 1, 2], "2024-01-02", "-5"]),
    ("string", "java.math.BigDecimal", ["1.50", 1.5, 7], [True, []]),
    ("string", "java.lang.String", ["1.50"], [1.5]),
    ("int", "unheard-of", [1], ["1", [1]]),
    ("int", "java.lang.Character", ["a", "\uffff", 0, 0xFFFF], ["", "ab", "😀", 1.5]),
]  # fmt: skip


def of_class(kind: str, name: str) -> Schema:
    """Return a record with one field of that type, which names a Java class or a logical type."""
    return record(a={"type": kind, "java-class" if "." in name else "logicalType": name})


def assert_rules(schema: Schema, content: bytes, rules: list[str]) -> None:
    """Assert that the codec and the compiled validator have these findings, and no others."""
    validator = validator_for(schema.info, schema.info, PulsarVersion.V4_0)
    assert [rule for rule, _, _, _ in findings(schema, content)] == rules
    assert [each for each in reasons(validator, content) if each] == rules


@pytest.mark.parametrize(("kind", "name", "good", "bad"), JAVA_TIME)
def test_values_of_javas_own_classes_are_read_as_jackson_writes_them(
    kind: str, name: str, good: list[Any], bad: list[Any]
) -> None:
    schema = of_class(kind, name)
    for value in (*good, *bad):
        content = json.dumps({"a": value}).encode()
        assert_rules(schema, content, ["WRONG_TYPE"] * (value in bad))
        if value not in bad:
            assert display_json.to_json(schema, payload.decode(schema, content)) == {"a": value}


UUID = "123E4567-e89b-12d3-a456-426614174000"
JAVA_CLASSES = [
    ("string", "uuid", [UUID, f" {UUID}", "", "AAAAAAAAAAAAAAAAAAAA/g=="], [UUID.replace("-", ""), "x", "1-1-1-1-1"]),
    ("string", "java.math.BigDecimal", ["1.5", ".5", "1.", "0.0e1", "1e-2147483647", "null"],
     ["1,5", "0.e1", "NaN", "1e2147483648"]),
    ("string", "java.math.BigInteger", ["-12", 1e3], ["12.5", "1e3", "x"]),
    ("string", "java.net.URI", ["http://[::1]:80/?[", "é", "", "urn:x:["], ["http://x y", "//", "a:", "p[a]", "%4"]),
    ("string", "java.net.URL", [" HTTP://u@x:80/y z", "jar:file:/a!/b", "http://[::1]", "mailto:a", "jrt:", ""],
     ["x", "//x", "url:", "s3://x", "http://x:a", "http://[::z]", "http://x y", "jar:a!/", "jar:file:/a", "mailto:"]),
    ("int", "java.lang.Byte", [-128, 255], [-129, 256]),
    ("int", "java.lang.Short", [-32768, 32767], [-32769, 32768]),
    ("int", "java.lang.Character", [0, 65535], [-1, 65536]),
    ("int", "time-millis", [], [0, 36000]),
    ("long", "time-micros", [], [0]),
    ("long", "local-timestamp-millis", [], [1_700_000_000_000]),
    ("bytes", "decimal", ["fQ==", 1.5], []),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "good", "bad"), JAVA_CLASSES)
def test_a_value_that_java_cannot_read_into_the_class_is_reported(
    kind: str, name: str, good: list[Any], bad: list[Any]
) -> None:
    schema = of_class(kind, name)
    for value in (*good, *bad):
        content = json.dumps({"a": value}).encode()
        assert_rules(schema, content, ["INVALID_FOR_CLASS"] * (value in bad))
        assert generic_records.record(schema, content)["a"] is not None  # AUTO_CONSUME makes no such values


def test_a_date_is_a_number_or_one_of_the_texts_that_jackson_reads() -> None:
    schema = record(a=["null", {"type": "record", "name": "Date", "namespace": "java.util", "fields": []}])
    good = [5, "", "5", "2024-01-02", "2024-01-02T10:00:00.5+01:00", "Tue, 02 Jan 2024 10:00:00 GMT"]
    good += ["tuesday, 2 january 24 1:2:3 CETx", "Tue, 02 Jan 2024 10:00:00 -0100", "Tue, 2 May 24 1:2:3 GMT+1:30"]
    bad = [1.5, True, [5], {}, {"a": 1}, "tues, 2 Jan 2024 1:2:3 GMT", "Tue, 2 foo 2024 1:2:3 GMT"]
    bad += [f"Tue, 2 Jan 2024 1:2:3 {zone}" for zone in ("XYZ", "Z", "AFT", "+2400", "GMT+24:00")]  # AFT: Java 17 only
    bad += ["x", "2024-01-02 10:00:00", "2024-1-2", 2**63, "9" * 19, "Tue, 02 Jan 2024 10:00:00"]
    for value in (*good, *bad):
        results = findings(schema, json.dumps({"a": value}).encode())
        assert [rule for rule, _, _, _ in results] == ["INVALID_FOR_CLASS"] * (value in bad)


def test_a_pair_is_read_into_classes_and_by_auto_consume_into_none() -> None:
    part = record(a={"type": "string", "logicalType": "uuid"}).info
    pair = formats.parse(encode(KeyValue(Part(part), Part(part), Encoding.SEPARATED)))
    content = b'{"a":"x"}'
    results = payload.validate(pair, content, content)
    assert [(each.rule, each.path) for each in results] == [
        ("INVALID_FOR_CLASS", f"$.{side}.a") for side in ("key", "value")
    ]
    assert generic_records.record(pair, content, content).value.key["a"] == "x"


def test_a_map_of_java_is_an_object_whatever_its_keys_are_and_a_char_array_is_a_text() -> None:
    entry = {"type": "record", "name": "org.apache.avro.reflect.PairLongInteger", "fields": LINE["fields"]}
    schema = record(a={"type": "array", "items": entry, "java-class": "java.util.Map"})
    letters = record(a={"type": "array", "items": "int", "java-class": "[C"})
    assert findings(schema, b'{"a":{"1":5}}') == findings(letters, b'{"a":"xy"}') == []
    assert [rule for rule, *_ in findings(schema, b'{"a":5}')] == ["WRONG_TYPE"]
    for content in (b'{"a":[97]}', b'{"a":["x",97]}'):
        assert [(rule, path) for rule, path, *_ in findings(letters, content)] == [("INVALID_FOR_CLASS", "$.a")]


@pytest.mark.parametrize(
    ("kind", "name", "good", "bad"),
    [
        ("string", "java.math.BigDecimal", ["1e2147483647", "-0e-5", "0.0"], ["1e2147483648", "1e-2147483649"]),
        ("string", "java.math.BigInteger", ["1e100000", "1E-100000", "1e400"],
         ["1e100001", "1e-100001", "0e999999999"]),
        ("bytes", "decimal", ["1e400", "0.0"], ["1e2147483648"]),
        ("long", "timestamp-millis", ["0", "0.0", "1e-400"], ["1e-2147483649"]),
    ],
)  # fmt: skip
def test_a_number_has_an_exponent_that_java_reads(kind: str, name: str, good: list[str], bad: list[str]) -> None:
    schema = of_class(kind, name)
    for number in (*good, *bad):
        assert_rules(schema, f'{{"a":{number}}}'.encode(), ["INVALID_FOR_CLASS"] * (number in bad))


@pytest.mark.parametrize(("logical", "value"), [("time-millis", [10, 0]), ("date", 5), ("date", [2024, 1, 2])])
def test_a_value_is_written_in_the_form_that_java_reads(logical: str, value: Any) -> None:
    schema = record(a={"type": "int", "logicalType": logical})
    content = payload.encode(schema, {"a": value}).payload
    assert payload.decode(schema, content) == {"a": value}


def test_a_value_that_java_cannot_read_is_not_written() -> None:
    schema = record(a={"type": "int", "logicalType": "time-millis"})
    with pytest.raises(InvalidPayloadError, match=r"java\.time\.LocalTime") as caught:
        payload.encode(schema, {"a": 36000})
    assert caught.value.rule == "INVALID_FOR_CLASS"


def test_a_class_of_javas_own_that_avro_does_not_know_may_be_anything() -> None:
    schema = record(a=["null", {"type": "record", "name": "Year", "namespace": "java.time", "fields": []}])
    for content in (b'{"a":5}', b'{"a":"x"}', b'{"a":{}}', b'{"a":null}'):
        assert findings(schema, content) == []
    assert payload.decode(schema, b'{"a":5}') == {"a": 5}


@pytest.mark.parametrize(
    ("kind", "content", "finding"),
    [
        ("int", b'{"a":2147483648}', ("OUT_OF_RANGE", "$.a", 5, False)),
        ("int", b'{"a":1.5}', ("WRONG_TYPE", "$.a", 5, False)),
        ("int", b'{"a":true}', ("WRONG_TYPE", "$.a", 5, False)),
        ("string", b'{\n "a": 5}', ("WRONG_TYPE", "$.a", 8, False)),
        ("float", b'{"a":1e39}', ("OUT_OF_RANGE", "$.a", 5, False)),
        ("bytes", b'{"a":"#"}', ("INVALID_BASE64", "$.a", 5, False)),
        ("bytes", b'{"a":1}', ("WRONG_TYPE", "$.a", 5, False)),
        ({"type": "fixed", "name": "F", "size": 1}, b'{"a":"AQI="}', ("OUT_OF_RANGE", "$.a", 5, False)),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b'{"a":"B"}', ("UNKNOWN_SYMBOL", "$.a", 5, False)),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b'{"a":0}', ("ENUM_AS_NUMBER", "$.a", 5, False)),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b'{"a":"0"}', ("ENUM_AS_NUMBER", "$.a", 5, False)),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b'{"a":true}', ("UNKNOWN_SYMBOL", "$.a", 5, False)),
        ({"type": "array", "items": "int"}, b'{"a":{}}', ("WRONG_TYPE", "$.a", 5, False)),
        ({"type": "array", "items": LINE}, b'{"a":[{"price":1},[]]}', ("WRONG_TYPE", "$.a[1]", 18, False)),
        ({"type": "map", "values": "int"}, b'{"a":{"\xc3\xa9":1,"y z":"1"}}', ("WRONG_TYPE", "$.a{1}", 19, False)),
        (["null", "int", LINE], b'{"a":"x"}', ("NO_BRANCH", "$.a", 5, False)),
        (["null", LINE], b'{"a":{"price":"x"}}', ("WRONG_TYPE", "$.a.price", 14, False)),
        ("string", b'{"a":null}', ("UNEXPECTED_NULL", "$.a", 5, True)),
        ("string", b" {}", ("MISSING_FIELD", "$.a", 1, True)),
        ("int", b'{"a":1,"secret":2}', ("UNKNOWN_FIELD", "$", 0, True)),
        ("int", b'{"a":1}x', ("TRAILING_BYTES", "$", 7, False)),
        ("int", b'{"a":}', ("SYNTAX", "$", 5, False)),
        ("int", b'{"a":NaN}', ("SYNTAX", "$", 5, False)),
        ("string", b'{"a":"//\\"/*" /**/}', ("SYNTAX", "$", 14, False)),
        ("string", b'{"a":"\xff"}', ("INVALID_UTF8", "$", 6, False)),
        ("int", b"", ("SYNTAX", "$", 0, False)),
        ("int", b"[" * 5000, ("TOO_DEEP", "$", 1000, False)),
        ("int", b"null", ("UNEXPECTED_NULL", "$", 0, True)),
    ],
)  # fmt: skip
def test_an_invalid_value_is_reported_with_rule_field_and_byte(
    kind: Any, content: bytes, finding: tuple[str, str, int, bool]
) -> None:
    assert findings(record(a=kind), content) == [finding]


def test_all_findings_are_reported_without_content_of_the_message() -> None:
    content = b'{"state":"LOST","tags":{"secret":"x"},"lines":[],"digest":"AQI=","weight":1,"paid":0,"mine":1}'
    results = payload.validate(ORDER, content)
    assert [each.rule for each in results] == ["WRONG_TYPE", "UNKNOWN_SYMBOL", "WRONG_TYPE", "UNKNOWN_FIELD"]
    assert [each.path for each in results] == ["$.tags{0}", "$.state", "$.paid", "$"]
    assert not [each for each in results if {"secret", "mine", "LOST"} & set(each.message.split())]
    with pytest.raises(InvalidPayloadError, match="a long"):
        payload.decode(ORDER, content)


def test_tolerated_findings_are_limited_and_fatal_ones_are_always_reported() -> None:
    schema = schema_of({"type": "array", "items": ["null", LINE]})
    many = b"[" + b'{"price":1,"x":1},' * 30
    assert len(payload.validate(schema, many + b"null]")) == 20
    results = payload.validate(schema, many + b'{"price":"x"}]')
    assert [each.is_tolerated for each in results] == [True] * 20 + [False]
    with pytest.raises(InvalidPayloadError):
        payload.decode(schema, many + b'{"price":"x"}]')


@pytest.mark.parametrize(
    ("kind", "value", "rule"),
    [
        ("int", None, "UNEXPECTED_NULL"),
        ("string", 1, "WRONG_TYPE"),
        ("long", 2**63, "OUT_OF_RANGE"),
        ("float", 1e39, "OUT_OF_RANGE"),
        ("bytes", "AQI=", "WRONG_TYPE"),
        (LINE, {}, "MISSING_FIELD"),
        (LINE, {"price": 1, "x": 1}, "UNKNOWN_FIELD"),
        ({"type": "map", "values": "int"}, {1: 1}, "WRONG_TYPE"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(kind: Any, value: Any, rule: str) -> None:
    with pytest.raises(InvalidPayloadError) as caught:
        payload.encode(record(a=kind), {"a": value})
    assert (caught.value.rule, caught.value.offset) == (rule, None)


def test_a_value_nested_deeper_than_readers_go_is_refused() -> None:
    schema = record(a=["null", "R"])
    value: dict[str, Any] = {}
    value["a"] = value
    assert refusal(payload.encode, schema, value)[0] == "TOO_DEEP"
