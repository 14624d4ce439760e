"""Validators of columns, beyond the readers of single messages. The property tests compare the two."""

import json
from typing import Any

import numpy as np
import pytest

from support.payloads import orders, protobuf_orders
from support.payloads.verdicts import FITS, losses, reasons, verdicts
from topicschema import payload as single
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import NEWEST, PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.columnar import validator_for
from topicschema.payload.columnar.avro import ProgramValidator
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.json import names

PULSAR_VERSION = PulsarVersion.V4_0
INT = SchemaInfo(SchemaType.INT32)
TEXT = SchemaInfo(SchemaType.STRING)


def record(kind: SchemaType, *fields: dict[str, Any], name: str = "R") -> SchemaInfo:
    return SchemaInfo(kind, json.dumps({"type": "record", "name": name, "fields": fields}).encode())


def test_a_column_over_other_buffers_knows_its_bounds() -> None:
    values = np.frombuffer(b"abcdef", np.uint8)
    column = Column.between(values, np.array([1, 3, 3, 6]), np.array([False, True, False]))
    assert [column[each] for each in range(len(column))] == [b"bc", None, b"def"]
    assert column.lengths.tolist() == [2, 0, 3]
    assert Column.of([b"bc", None, b""]).nulls is not None


TWO, ONE = np.array([0, 1]), np.array([2])


@pytest.mark.parametrize(
    ("starts", "ends", "nulls"),
    [
        *((np.array(each[:-1]), np.array(each[1:]), None) for each in ([0, 7], [-1, 2], [0, 3, 2])),
        (TWO, ONE, None),
        (TWO, TWO, np.array([True])),
    ],
)
def test_offsets_and_nulls_must_match_the_values(starts: Any, ends: Any, nulls: Any) -> None:
    with pytest.raises(ValueError, match="offsets"):
        _ = Column(np.zeros(6, np.uint8), starts, ends, nulls).checked


def test_some_payloads_of_a_column_are_a_column_over_the_same_memory() -> None:
    column = Column.of([b"12", None, b"", b"345"])
    some = column.only(np.array([3, 1]))
    assert [some[each] for each in range(2)] == [b"345", None]
    assert some.values is column.values
    assert [len(column.only(rows)) for rows in (slice(None), np.array([], np.int64), column.lengths > 0)] == [4, 0, 2]


PAIR = encode(KeyValue(Part(INT), Part(TEXT), Encoding.INLINE))
BYTES, NONE = SchemaInfo(SchemaType.BYTES), SchemaInfo(SchemaType.NONE)
AVRO = record(SchemaType.AVRO, {"name": "a", "type": "int"})
DOUBLE = record(SchemaType.JSON, {"name": "a", "type": "double"})
NUMBERS = [b'{"a": 1e400}', b'{"a": -1e309}', b'{"a": 1.7976931348623157e308}', b'{"a": "-Infinity"}']


@pytest.mark.parametrize(
    ("reader", "writer", "payloads", "expected"),
    [
        *((each, each, [], []) for each in (INT, TEXT, orders.json_schema(), orders.protobuf_schema(), PAIR)),
        *((each, each, [None], [""]) for each in (INT, TEXT, orders.json_schema(), orders.protobuf_schema(), PAIR)),
        *((each, None, [b"", b"\xff", None], [""] * 3) for each in (BYTES, NONE)),
        (INT, TEXT, [b"\0\0\0\1"], ["TYPE_CHANGED"]),
        (AVRO, None, [b"\2", None], ["UNKNOWN_WRITER_VERSION", ""]),
        (AVRO, AVRO, [b"\2", b"", b"\2\2"], ["", "TRUNCATED", "TRAILING_BYTES"]),
        (AVRO, SchemaInfo(SchemaType.AVRO, b"{"), [b"\2", None], ["INVALID_WRITER_SCHEMA", ""]),
        (DOUBLE, DOUBLE, NUMBERS, ["OUT_OF_RANGE", "OUT_OF_RANGE", "", ""]),
    ],
)
def test_verdict_depends_on_reader_and_writer(
    reader: SchemaInfo, writer: SchemaInfo | None, payloads: list[bytes | None], expected: list[str]
) -> None:
    assert reasons(validator_for(reader, writer, PULSAR_VERSION), *payloads) == expected


def test_reader_must_be_a_valid_schema() -> None:
    with pytest.raises(InvalidSchemaError):
        validator_for(SchemaInfo(SchemaType.AVRO, b"{"), AVRO, PULSAR_VERSION)


def test_an_unusable_writer_schema_is_no_finding_if_readers_do_not_need_it() -> None:
    schema = record(SchemaType.JSON, {"name": "a", "type": "int"})
    legacy = SchemaInfo(SchemaType.JSON, b'{"type": "object", "properties": {"a": {"type": "integer"}}}')
    assert reasons(validator_for(schema, legacy, PULSAR_VERSION), b'{"a": 1}', b'{"a": "x"}') == ["", "WRONG_TYPE"]
    fields = {"__PARSING_INFO__": '[{"number": 1, "name": "a", "type": "INT32", "label": "LABEL_OPTIONAL"}]'}
    text = record(SchemaType.AVRO).schema
    outer, bare = SchemaInfo(SchemaType.PROTOBUF, text, properties=fields), SchemaInfo(SchemaType.PROTOBUF, text)
    assert reasons(validator_for(outer, bare, PULSAR_VERSION), b"\x08\1", b"\x08") == ["", "TRUNCATED"]
    with pytest.raises(InvalidSchemaError):
        validator_for(bare, outer, PULSAR_VERSION)


def test_of_a_pair_that_cannot_be_used_the_parts_of_avro_alone_are_refused() -> None:
    texts, avro = (record(kind, {"name": "a", "type": "int"}) for kind in (SchemaType.JSON, SchemaType.AVRO))
    broken = [SchemaInfo(each.type, b"{}") for each in (texts, avro)]
    inline = b'\0\0\0\7{"a":1}\0\0\0\1\2'
    reader = encode(KeyValue(Part(texts), Part(avro), Encoding.INLINE))
    cases = ((broken[0], avro, "", "$"), (texts, broken[1], "INVALID_WRITER_SCHEMA", "$.value"))
    for key, value, reason, path in cases:
        validator = validator_for(reader, encode(KeyValue(Part(key), Part(value), Encoding.INLINE)), PULSAR_VERSION)
        assert verdicts(validator, inline)[0][:2] == (reason, path)
    cut = SchemaInfo(SchemaType.KEY_VALUE, b"\0")
    assert reasons(validator_for(reader, cut, PULSAR_VERSION), inline) == ["INVALID_WRITER_SCHEMA"]
    plain = encode(KeyValue(Part(INT), Part(texts), Encoding.INLINE))
    assert reasons(validator_for(plain, cut, PULSAR_VERSION), b'\0\0\0\4\0\0\0\1\0\0\0\7{"a":1}') == [""]


def test_pairs_of_another_encoding_or_with_a_part_of_another_type_are_reported() -> None:
    inline, separated = (encode(KeyValue(Part(INT), Part(TEXT), each)) for each in Encoding)
    assert reasons(validator_for(inline, separated, PULSAR_VERSION), b"") == ["ENCODING_CHANGED"]
    texts = encode(KeyValue(Part(INT), Part(INT), Encoding.INLINE))
    payload = b"\0\0\0\4\0\0\0\1\0\0\0\4\0\0\0\1"
    assert verdicts(validator_for(inline, texts, PULSAR_VERSION), payload) == [("TYPE_CHANGED", "$.value", 12)]


def test_a_reason_of_both_parts_is_tolerated_if_it_is_in_both() -> None:
    of_json = record(SchemaType.JSON, {"name": "a", "type": "int"})
    pair = encode(KeyValue(Part(of_json), Part(INT), Encoding.INLINE))
    reported = validator_for(pair, pair, PULSAR_VERSION).reasons
    assert {reason for reason, is_tolerated in reported.items() if is_tolerated} == {
        "MISSING_FIELD",
        "UNEXPECTED_NULL",
        "UNKNOWN_FIELD",
    }


def test_a_json_field_that_the_reader_drops_is_a_loss_where_its_writer_had_it_else_a_finding() -> None:
    writer, reader = orders.json_schema(), orders.json_schema(drops=True)
    payloads = orders.json_payloads(20, bad=0)
    expected = {("FIELD_DROPPED", "$.address.remark"): 20}
    assert losses(validator_for(reader, writer, PULSAR_VERSION), *payloads) == expected
    assert set(reasons(validator_for(reader, None, PULSAR_VERSION), *payloads)) == {"UNKNOWN_FIELD"}


def test_json_numbers_that_a_reader_rounds_are_a_loss() -> None:
    doubles, floats = (record(SchemaType.JSON, {"name": "a", "type": kind}) for kind in ("double", "float"))
    payloads = [b'{"a": %s}' % each for each in (b"9007199254740993", b"0.1", b"16777217", b"1", b'"NaN"')]
    assert losses(validator_for(doubles, doubles, PULSAR_VERSION), *payloads) == {("PRECISION_LOST", "$.a"): 1}
    assert losses(validator_for(floats, floats, PULSAR_VERSION), *payloads) == {("PRECISION_LOST", "$.a"): 2}
    assert losses(validator_for(floats, doubles, PULSAR_VERSION), *payloads) == {("PRECISION_LOST", "$.a"): 3}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": "x", "a": 1}', "DUPLICATE_FIELD"),
        (b'{"a" :{"b": 1}, "a": 1}', "DUPLICATE_FIELD"),
        (b'{"a" :1, "\\u0061": 1}', "DUPLICATE_FIELD"),
        (b'{"a": 1, "of": {"k": "x", "k": 1}}', "DUPLICATE_FIELD"),
        (b'{"a": 1, "of": {"a": 1, "k:": 2, "\\":": 3}}', ""),
    ],
)
def test_a_duplicate_name_is_a_finding_as_jackson_reads_each_of_the_values(content: bytes, reason: str) -> None:
    of = {"name": "of", "type": {"type": "map", "values": "int"}, "default": {}}
    schema = record(SchemaType.JSON, {"name": "a", "type": "int"}, of)
    assert reasons(validator_for(schema, schema, PULSAR_VERSION), content) == [reason]


def test_names_are_counted_in_payloads_alone_wherever_they_lie() -> None:
    contents = [b"%d" % each + b'"k":1, "l" :2, "no:no": ' * each for each in range(40)]
    column = Column.of(contents)
    assert names.most(column).tolist() == [3 * each for each in range(40)]
    assert names.most(column.only(np.array([39, 3, 0, 4]))).tolist() == [117, 9, 0, 12]
    assert names.most(column.only(np.array([0]))).tolist() == [0]
    assert names.most(column.only(slice(0))).tolist() == []


def test_duplicate_names_in_a_skipped_value_are_reported_on_all_levels() -> None:
    writer = record(SchemaType.JSON, {"name": "a", "type": "int"}, {"name": "old", "type": "string"})
    validator = validator_for(record(SchemaType.JSON, {"name": "a", "type": "int"}), writer, PULSAR_VERSION)
    deep = b"[" * 990 + b'{"k": 1, "k": 2}' + b"]" * 990
    assert reasons(validator, b'{"a": 1, "old": %s}' % deep, b'{"a": 1, "old": {"k": 1}}') == ["DUPLICATE_FIELD", ""]


def test_losses_of_json_in_recursive_and_very_deep_messages_are_counted_once_a_message() -> None:
    child = {"name": "child", "type": ["null", "R"]}
    writer = record(SchemaType.JSON, child, {"name": "old", "type": "int"})
    reader = record(SchemaType.JSON, child)
    deep = b'{"child":' * 200 + b'{"old": 1}' + b"}" * 200
    validator = validator_for(reader, writer, PULSAR_VERSION)
    assert losses(validator, b'{"old": 1, "child": {"old": 1, "child": null}}') == {("FIELD_DROPPED", "$.old"): 1}
    assert list(losses(validator, deep).values()) == [1]
    assert reasons(validator, b'{"child":' * 1_200) == ["TOO_DEEP"]


def test_a_protobuf_field_that_the_reader_drops_is_a_loss_where_its_writer_had_it_else_a_finding() -> None:
    writer, reader = orders.protobuf_schema(), orders.protobuf_schema(drops=True)
    payloads = orders.protobuf_payloads(20, bad=0)
    expected = {("FIELD_DROPPED", "$.address.remark"): 20}
    assert losses(validator_for(reader, writer, PULSAR_VERSION), *payloads) == expected
    assert {path for _, path, _ in verdicts(validator_for(reader, None, PULSAR_VERSION), *payloads)} == {"$.address"}


def test_a_number_that_its_writer_left_to_extensions_is_a_loss_else_a_finding() -> None:
    ranges = "extension_range { start: 100 end: 200 } extension_range { start: 20 end: 30 }"
    proto = protobuf_orders.ORDER.replace("SYNTAX", "proto2")
    writer = protobuf_orders.schema(proto.replace('{ name: "Order"', f'{{ name: "Order" {ranges}', 1)).info
    validator = validator_for(writer, writer, PULSAR_VERSION)
    contents = [bytes.fromhex(each) for each in ("a0 06 05", "a0 01 05 a0 06 05", "f0 01 05", "c0 0c 05")]
    assert reasons(validator, *contents) == ["", "", "UNKNOWN_FIELD", "UNKNOWN_FIELD"]
    assert losses(validator, *contents[:2]) == {("FIELD_DROPPED", "$.[extensions]"): 2}
    assert reasons(validator_for(writer, None, PULSAR_VERSION), contents[0]) == ["UNKNOWN_FIELD"]


def test_a_group_of_protobuf_is_passed_by() -> None:
    fields = [
        {"number": number, "name": name, "type": "GROUP", "label": f"LABEL_{label}"}
        for number, name, label in ((2, "g", "OPTIONAL"), (3, "h", "REPEATED"), (4, "i", "REQUIRED"))
    ]
    text = record(SchemaType.AVRO).schema
    schema = SchemaInfo(SchemaType.PROTOBUF, text, properties={"__PARSING_INFO__": json.dumps(fields)})
    contents = [bytes.fromhex(each) for each in ("13 08 01 14", "1b 1c 1b 1c", "10 01", "13 08 01", "2b 2c")]
    expected = ["", "", "WRONG_WIRE_TYPE", "TRUNCATED", "UNKNOWN_FIELD"]
    assert reasons(validator_for(schema, schema, PULSAR_VERSION), *contents) == expected
    parsed = formats.parse(schema)
    assert [[each.rule for each in single.validate(parsed, content)] for content in contents] == [
        [reason] * bool(reason) for reason in expected
    ]
    assert single.decode(parsed, contents[0]) == {}


def test_an_entry_without_a_value_lacks_what_its_message_requires() -> None:
    schema = protobuf_orders.NEEDY.info
    validator = validator_for(schema, schema, PULSAR_VERSION)
    contents = ["08 01 2a 03 0a 01 6b", "08 01 2a 05 0a 01 6b 12 00", "08 01 2a 07 0a 01 6b 12 02 08 01", "08 01"]
    assert reasons(validator, *map(bytes.fromhex, contents)) == ["MISSING_FIELD", "MISSING_FIELD", "", ""]


def compiled(kind: str, pulsar_version: PulsarVersion = PULSAR_VERSION) -> ProgramValidator:
    """Return the validator of an int for a reader with that type."""
    reader, writer = (record(SchemaType.AVRO, {"name": "a", "type": each}) for each in (kind, "int"))
    validator = validator_for(reader, writer, pulsar_version)
    assert isinstance(validator, ProgramValidator)
    return validator


def test_equal_schemas_share_a_program_but_no_paths() -> None:
    one, same = compiled("int"), compiled("int")
    assert one.program is same.program
    assert one.paths is not same.paths
    assert one.program not in {compiled("long").program, compiled("int", NEWEST).program}


def test_a_message_that_does_not_fit_loses_nothing() -> None:
    for writer, reader, payload in (
        (orders.protobuf_schema(), orders.protobuf_schema(drops=True), b"\x52\x02\x22\x00\xff"),
        (orders.json_schema(), orders.json_schema(drops=True), b'{"address": {"remark": ""}}'),
    ):
        assert losses(validator_for(reader, writer, PULSAR_VERSION), payload) == {}
        assert reasons(validator_for(reader, writer, PULSAR_VERSION), payload) != [""]


def offset(text: str, **more: Any) -> SchemaInfo:
    fields = [{"name": "n", "type": "int"}, *more.pop("fields", ())]
    text_of = json.dumps({"type": "record", "name": "R", "fields": fields, **more})
    return SchemaInfo(SchemaType.AVRO, text_of.encode(), {"__AVRO_READ_OFFSET__": text})


def test_a_property_of_the_writers_version_is_the_number_of_skipped_bytes_of_another_system() -> None:
    later = {"name": "later", "type": "int", "default": 7}
    messages = (b"12345\x02", None, b"1234", b"12345", b"12345\x80", b"")
    cut = [("TRUNCATED", *each) for each in (("$", 4), ("$.n", 5), ("$.n", 5), ("$", 0))]
    expected = [FITS, FITS, *cut]
    for reader in (offset("5"), offset("0"), offset("3", fields=[later])):
        assert verdicts(validator_for(reader, offset("5"), PULSAR_VERSION), *messages) == expected
    for each, (reason, path, byte) in zip(messages, expected, strict=True):
        results = single.validate(formats.parse(offset("5")), each)
        assert [(one.rule, one.path, one.offset) for one in results] == ([(reason, path, byte)] if reason else [])


def test_a_drop_is_not_counted_for_messages_that_are_too_short_for_their_bytes_of_another_system() -> None:
    writer = offset("2", fields=[{"name": "gone", "type": "null"}])
    assert losses(validator_for(offset("0"), writer, PULSAR_VERSION), b"", b"12", b"12\x02") == {
        ("FIELD_DROPPED", "$.gone"): 1
    }


@pytest.mark.parametrize(
    ("stated", "attribute", "skipped"),
    [
        *(("5", None, 5), ("+5", None, 5), ("-5", None, 0), ("05", None, 5), ("five", None, None), ("", None, None)),
        *(("2147483648", None, None), (" 5", None, None), ("9" * 5000, None, None)),
        *(("5", "5", 5), ("0", "5", None), ("5", 5, None), ("0", "0", 0), ("x", "x", None)),
    ],
)
def test_the_number_of_bytes_of_another_system_is_read_as_by_the_client(
    stated: str, attribute: object, skipped: int | None
) -> None:
    info = offset(stated, **({} if attribute is None else {"__AVRO_READ_OFFSET__": attribute}))
    if skipped is None:
        with pytest.raises(InvalidSchemaError) as caught:
            single.codec(formats.parse(info))
        assert caught.value.rule == "READ_OFFSET"
        with pytest.raises(InvalidSchemaError):
            validator_for(info, info, PULSAR_VERSION)
        assert reasons(validator_for(offset("0"), info, PULSAR_VERSION), b"\2") == ["INVALID_WRITER_SCHEMA"]
    else:
        assert single.decode(formats.parse(info), bytes(skipped) + b"\2") == {"n": 1}


def test_only_avro_messages_have_bytes_of_another_system() -> None:
    info = SchemaInfo(SchemaType.JSON, offset("5").schema, {"__AVRO_READ_OFFSET__": "five"})
    assert single.decode(formats.parse(info), b'{"n": 1}') == {"n": 1}
    assert reasons(validator_for(info, info, PULSAR_VERSION), b'{"n": 1}') == [""]
