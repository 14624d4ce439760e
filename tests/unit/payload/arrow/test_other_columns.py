"""JSON, protobuf, pairs and primitives in columns."""

import json
import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from support.payloads import arrow_values, avro_values, orders, primitive_values, protobuf_values
from support.payloads.avro_messages import number
from support.payloads.verdicts import verdicts
from support.schemas.avro import array, enum, field, mapping, record
from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidPayloadError, InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload import Instant, LocalDateTime, Pair, protobuf_native
from topicschema.payload.arrow import decoder_for, factory
from topicschema.payload.arrow.singles import SingleReader
from topicschema.payload.columnar import validator_for
from topicschema.payload.columnar.avro import output_layout
from topicschema.payload.columnar.avro.outputs import BatchTooLargeError
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.reasons import REASONS

VERSION = PulsarVersion.V4_0
TEXT = SchemaInfo(SchemaType.STRING)


def info(text: Any, kind: SchemaType = SchemaType.JSON) -> SchemaInfo:
    return SchemaInfo(kind, json.dumps(text).encode())


def read(schema: SchemaInfo, *messages: bytes | None) -> tuple[list[Any], list[str]]:
    """Return the values and the reasons."""
    result = decoder_for(schema, schema, VERSION).decode(Column.of(messages))
    result.array.validate(full=True)
    return result.array.to_pylist(), [REASONS[each] for each in result.verdicts.reasons]


def test_json_messages_have_the_values_of_single_messages() -> None:
    for seed in range(60):
        rng = random.Random(seed)  # noqa: S311  # a seed
        text = avro_values.schema(rng)
        schema = formats.parse(info(text))
        assert isinstance(schema, AvroSchema)
        messages = []
        for _ in range(10):
            try:
                messages.append(payload.encode(schema, avro_values.value(rng, text)).payload or b"")
            except InvalidPayloadError:
                continue
        messages += [each[:-1] for each in messages[:2]]
        result = decoder_for(schema.info, schema.info, VERSION).decode(Column.of(messages))
        judged = verdicts(validator_for(schema.info, schema.info, VERSION), *messages)
        values = arrow_values.plain(result.array, schema.root)
        assert [REASONS[each] for each in result.verdicts.reasons] == [each[0] for each in judged]
        for content, verdict, value in zip(messages, judged, values, strict=True):
            expected = None if verdict[0] else payload.decode(schema, content)
            assert value is expected or arrow_values.same(value, expected), (text, content)


DATE = {"type": "int", "logicalType": "date"}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
LOCAL = {"type": "long", "logicalType": "local-timestamp-millis"}
NUMBER = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
BIG = {"type": "string", "java-class": "java.math.BigDecimal"}
DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (DATE, "19782", 19_782),
        (DATE, "[2024,2,29]", 19_782),
        (DATE, '"2024-02-29"', 19_782),
        (DATE, "[1970,1,1]", 0),
        (DATE, "[1600,2,29]", -135_081),
        (DATE, "[-1,3,1]", -719_834),
        (MILLIS, "1700000000123", 1_700_000_000_123_000),
        (MILLIS, "1700000000.123456789", 1_700_000_000_123_456),
        (MILLIS, '"2023-11-14T22:13:20.5Z"', 1_700_000_000_500_000),
        (MILLIS, '"2023-11-14T23:13:20+01:00"', 1_700_000_000_000_000),
        (MILLIS, '"1700000000.25"', 1_700_000_000_250_000),
        (MILLIS, "-0.000000001", -1),
        (MILLIS, "9223372036854775807", None),
        (MICROS, "1700000000123456", 1_700_000_000_123_456),
        (LOCAL, "[1970,1,2,3,4,5,6000]", DAY + 11_045_000_006),
        (LOCAL, "[1970,1,1,0,1]", 60_000_000),
        (LOCAL, '"1970-01-01T00:01:00.000001"', 60_000_001),
        ({"type": "int", "logicalType": "time-millis"}, "[10,30]", 37_800_000),
        ({"type": "long", "logicalType": "time-micros"}, "[0,0,1,2000]", 1_000_002),
        (NUMBER, "12.34", Decimal("12.34")),
        (NUMBER, "1e3", Decimal("1000.00")),
        (NUMBER, "7", Decimal("7.00")),
        (NUMBER, '"BNI="', Decimal("12.34")),
        (NUMBER, "12.345", None),
        (NUMBER, "12345.67", None),
        (NUMBER, "12.340000000000000000001", None),
        (BIG, "0.10000000000000000000001", "0.10000000000000000000001"),
        (BIG, "12", "12"),
        (BIG, '"12.5"', "12.5"),
        ("string", '"\\ud800"', None),
        (["null", "int", "string"], '"a"', {"member0": None, "member1": "a"}),
        (["null", enum("E", "A"), array("int")], '"A"', {"member0": "A", "member1": None}),
        (mapping(array("double")), '{"k": [1, 2.5]}', [("k", [1.0, 2.5])]),
    ],
)
def test_values_of_java_classes_in_json(kind: Any, text: str, value: Any) -> None:
    schema = info(record("R", field("f", kind)))
    result = decoder_for(schema, schema, VERSION).decode(Column.of([f'{{"f": {text}}}'.encode()]))
    column = result.array.field(0)
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date(column.type) else pa.int64())
    assert column.to_pylist() == [value]
    assert [REASONS[each] for each in result.verdicts.reasons] == ["" if value is not None else "INVALID_FOR_COLUMN"]
    assert result.paths[result.verdicts.paths[0]] == ("$" if value is not None else "$.f")


def test_json_orders_with_a_field_that_only_the_writer_has() -> None:
    messages = orders.json_payloads(300, bad=0.2)
    reader, writer = orders.json_schema(drops=True), orders.json_schema()
    result = decoder_for(reader, writer, VERSION).decode(Column.of(messages))
    judged = verdicts(validator_for(reader, writer, VERSION), *messages)
    schema = formats.parse(reader)
    values = arrow_values.plain(result.array, schema.root)  # type: ignore[attr-defined]  # JSON has one
    for content, is_bad, value in zip(messages, result.is_bad, values, strict=True):
        read, findings = payload.reader(schema).read(content)
        if {each.rule for each in findings} == {"MISSING_FIELD"}:
            read = {name: read.get(name) for name in value}
        assert value is None if is_bad else arrow_values.same(value, read)
    assert sum(bool(each[0]) for each in judged) > 10


def test_protobuf_orders() -> None:
    messages = [*orders.protobuf_payloads(300, bad=0.2), b"", None]
    reader, writer = orders.protobuf_schema(drops=True), orders.protobuf_schema()
    result = decoder_for(reader, writer, VERSION).decode(Column.of(messages))
    judged = verdicts(validator_for(reader, writer, VERSION), *messages)
    schema = formats.parse(reader)
    for content, is_bad, value in zip(messages, result.is_bad, result.array.to_pylist(), strict=True):
        if is_bad or content is None:
            assert value is None
            continue
        expected = payload.reader(schema).read(content)[0]
        assert {**value, "tags": dict(value["tags"])} == {**EMPTY, **expected, "lines": lines(expected)} | {
            "address": None if "address" not in expected else value["address"]
        }
    assert sum(bool(each[0]) for each in judged) > 10


EMPTY: dict[str, Any] = {
    "id": 0, "customer": "", "total": 0.0, "state": "NEW", "placed": 0, "coupon": "", "gift": False, "lines": [],
    "tags": {}, "address": None, "signature": b"", "ratings": [],
}  # fmt: skip


def lines(order: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"sku": "", "quantity": 0, "price": 0.0, **each} for each in order.get("lines", [])]


def test_protobuf_messages_have_the_values_that_the_codec_reads() -> None:
    met: Counter[str] = Counter()
    for seed in range(400):
        rng = random.Random(seed)  # noqa: S311  # a seed
        schema = protobuf_values.schema(rng)
        plan = protobuf_native.plan_of(schema)
        messages = [payload.encode(schema, protobuf_values.value(rng, plan)).payload or b"" for _ in range(6)]
        messages += [protobuf_values.broken(rng, each) for each in messages]
        messages += [protobuf_values.odd(rng, plan) for _ in range(3)]
        try:
            decoder = decoder_for(schema.info, schema.info, VERSION)
        except InvalidSchemaError as error:
            met[error.rule] += 1
            continue
        result = decoder.decode(Column.of(messages))
        shape = factory.shape_of(schema.info, VERSION)
        reader = SingleReader(shape, payload.codec(schema).read)
        expected, faults = reader.read(Column.of(messages), None, result.is_bad)
        assert faults == []
        assert arrow_values.in_order(result.array.to_pylist()) == arrow_values.in_order(expected.to_pylist())
        met.update(REASONS[each] for each in result.verdicts.reasons)
        met["read in spite of a fault"] += int(((result.verdicts.reasons != 0) & ~result.is_bad).sum())
    assert met[""] > 1_000
    assert met["read in spite of a fault"] > 100
    assert met["RECURSIVE_TYPE"] < 300


AVRO = info(record("A", field("x", "long"), field("y", "string", default="y")), SchemaType.AVRO)
OLD = info(record("A", field("x", "int")), SchemaType.AVRO)


def pair(key: SchemaInfo, value: SchemaInfo, encoding: Encoding) -> SchemaInfo:
    return encode(KeyValue(Part(key), Part(value), encoding))


def test_inline_pairs() -> None:
    reader, writer = (pair(each, TEXT, Encoding.INLINE) for each in (AVRO, OLD))

    def message(key: bytes | None, value: bytes | None) -> bytes:
        return b"".join(
            b"\xff\xff\xff\xff" if part is None else len(part).to_bytes(4, "big") + part for part in (key, value)
        )

    messages = [message(b"\2", b"v"), message(None, b"w"), message(b"\4", None), message(b"", b"v"), b"\0", None]
    messages += [message(b"\2", b"v") + b"x", message(b"\2", b"\xff")]
    result = decoder_for(reader, writer, VERSION).decode(Column.of(messages))
    assert result.array.to_pylist() == [
        {"key": {"x": 1, "y": "y"}, "value": "v"},
        {"key": None, "value": "w"},
        {"key": {"x": 2, "y": "y"}, "value": None},
        *[None] * 3,
        {"key": {"x": 1, "y": "y"}, "value": "v"},
        {"key": {"x": 1, "y": "y"}, "value": "\ufffd"},
    ]
    judged = verdicts(validator_for(reader, writer, VERSION), *messages)
    assert [result.paths[each] for each in result.verdicts.paths] == [each[1] for each in judged]
    assert [REASONS[each] for each in result.verdicts.reasons] == [each[0] for each in judged]
    result.array.validate(full=True)


def test_separated_pairs_and_what_a_part_cannot_hold() -> None:
    late = info(record("L", field("t", MILLIS)), SchemaType.AVRO)
    schema = pair(TEXT, late, Encoding.SEPARATED)
    decoder = decoder_for(schema, schema, VERSION)
    payloads, keys = [number(1), number(2**62), None, b""], [b"k", b"l", None, b"m"]
    result = decoder.decode(Column.of(payloads), Column.of(keys))
    assert [
        each["value"] if each else None
        for each in result.array.cast(
            pa.struct([("key", pa.string()), ("value", pa.struct([("t", pa.timestamp("us"))]))])
        ).to_pylist()
    ][1:] == [None] * 3
    assert result.array.field(0).to_pylist()[0] == "k"
    assert result.array.is_valid().to_pylist() == [True, False, True, False]
    assert result.paths[result.verdicts.paths[1]] == "$.value.t"
    assert REASONS[result.verdicts.reasons[1]] == "INVALID_FOR_COLUMN"
    assert decoder.decode(Column.of([number(1)])).array.field(0).to_pylist() == [None]


@pytest.mark.parametrize(
    "schema", [each for each in primitive_values.INFOS if each.type is not SchemaType.BYTES], ids=str
)
def test_primitives(schema: SchemaInfo) -> None:
    rng = random.Random(schema.type.value)  # noqa: S311  # a seed
    parsed = formats.parse(schema)
    messages = [payload.encode(parsed, primitive_values.value(rng, schema)).payload for _ in range(60)]
    result = decoder_for(schema, schema, VERSION).decode(Column.of(messages))
    judged = verdicts(validator_for(schema, schema, VERSION), *messages)
    array = result.array
    if pa.types.is_temporal(array.type):
        array = array.cast(pa.int32() if pa.types.is_date(array.type) else pa.int64())
    for content, verdict, reason, value in zip(
        messages, judged, result.verdicts.reasons, array.to_pylist(), strict=True
    ):
        expected = None if content is None or verdict[0] else in_column(schema, payload.decode(parsed, content))
        assert value == expected or (value != value and expected != expected)  # noqa: PLR0124  # NaN
        assert REASONS[reason] == verdict[0] or (not verdict[0] and REASONS[reason] == "INVALID_FOR_COLUMN")
        assert value is not None or content is None or REASONS[reason]


@pytest.mark.parametrize("kind", [SchemaType.BYTES, SchemaType.NONE])
def test_any_bytes(kind: SchemaType) -> None:
    assert read(SchemaInfo(kind), b"\xff", b"", None) == ([b"\xff", b"", None], [""] * 3)


def in_column(schema: SchemaInfo, value: Any) -> Any:
    """Return what the column has, None for what it cannot hold."""
    limit = 2**31 if schema.type is SchemaType.LOCAL_DATE else 2**63
    if schema.type in (SchemaType.DATE, SchemaType.TIMESTAMP):
        value *= 1_000
    if isinstance(value, Instant):
        value = value.second * 1_000_000 + value.nano // 1_000
    if isinstance(value, LocalDateTime):
        value = value.day * DAY + value.nano // 1_000
    assert not isinstance(value, Pair)
    return None if isinstance(value, int) and not -limit <= value < limit else value


def test_messages_of_an_unknown_version_are_read_by_the_readers_schema() -> None:
    schema = info(record("R", field("f", "int")))
    result = decoder_for(schema, None, VERSION).decode(Column.of([b'{"f": 1}', b'{"f": 1, "g": 2}']))
    assert result.array.to_pylist() == [{"f": 1}, {"f": 1}]
    assert read(schema, b'{"f": 7}', b"{}", None) == ([{"f": 7}, {"f": None}, None], ["", "MISSING_FIELD", ""])


COLOR = enum("E", "x")
CHOSEN = {"f": {"member0": None, "member1": "x"}}


@pytest.mark.parametrize(
    ("schema", "content", "value"),
    [
        (SchemaInfo(SchemaType.BOOLEAN), b"\x07", True),
        (SchemaInfo(SchemaType.BOOLEAN), b"\1\1", None),
        (SchemaInfo(SchemaType.LOCAL_DATE_TIME), bytes(17), 0),
        (SchemaInfo(SchemaType.INSTANT), bytes(8) + b"\x7f\xff\xff\xff", 2_147_483),
        (info(record("R", field("f", "boolean")), SchemaType.AVRO), b"\x07", {"f": False}),
        (info(record("R", field("f", ["int", COLOR])), SchemaType.AVRO), b"\2\0?", CHOSEN),
        (info(record("R", field("f", ["string", COLOR])), SchemaType.AVRO), b"\2\0?", None),
        (info(record("R", field("f", ["null", mapping("int")]))), b'{"f": {"k": null}, "g": 1}', {"f": [("k", None)]}),
        (info(record("R", field("f", "int"))), b'{"f": 1, "f": 2}', None),
    ],
)  # fmt: skip
def test_a_message_that_java_tolerates_has_the_value_that_java_reads(
    schema: SchemaInfo, content: bytes, value: Any
) -> None:
    result = decoder_for(schema, schema, VERSION).decode(Column.of([content]))
    array = result.array.cast(pa.int64()) if pa.types.is_temporal(result.array.type) else result.array
    assert array.to_pylist() == [value]
    assert result.is_bad.tolist() == [value is None]
    assert result.verdicts.reasons[0] != 0


def test_a_few_bytes_of_json_make_no_large_column(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = record("I", *(field(f"x{number}", ["null", "long"], default=None) for number in range(1_000)))
    schema = info(record("R", field("f", array(wide))))
    decoder = decoder_for(schema, schema, VERSION)
    messages = [b'{"f": [' + b",".join([b"{}"] * count) + b"]}" for count in (2, 2_000, 3)]
    result = decoder.decode(Column.of(messages))
    assert [REASONS[each] for each in result.verdicts.reasons] == ["", "TOO_MANY_VALUES", ""]
    assert result.paths[result.verdicts.paths[1]] == "$.f"
    sizes = [each and len(each["f"]) for each in result.array.to_pylist()]
    assert sizes == [2, None, 3]
    monkeypatch.setattr(output_layout, "MAX_MEMORY", 40_000)
    with pytest.raises(BatchTooLargeError):
        decoder.decode(Column.of(messages))
    parts = list(decoder.decode_in_parts(Column.of(messages)))
    assert [each and len(each["f"]) for part in parts for each in part.array.to_pylist()] == sizes
