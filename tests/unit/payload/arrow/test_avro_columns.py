"""AVRO messages in columns: the values of the decoder of single messages, and the verdicts of the validator."""

import json
import random
import struct
from collections import Counter
from decimal import Decimal
from io import BytesIO
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest

from support.payloads import arrow_values, avro_messages, avro_values
from support.payloads.avro_messages import number, parsed
from support.payloads.verdicts import verdicts
from support.schemas.avro import array, field, fixed, mapping, record
from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.arrow import decoder_for
from topicschema.payload.arrow.decoder import Decoded, Decoder
from topicschema.payload.columnar import validator_for
from topicschema.payload.columnar.avro import output_layout
from topicschema.payload.columnar.avro.outputs import BatchTooLargeError
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.reasons import REASONS

PAIRS, MESSAGES = 80, 40
OWN = {"INVALID_FOR_COLUMN", "TOO_MANY_VALUES"}


def info(text: Any, kind: SchemaType = SchemaType.AVRO) -> SchemaInfo:
    return SchemaInfo(kind, json.dumps(text).encode())


def decoder(writer: Any, reader: Any = None, pulsar_version: PulsarVersion = PulsarVersion.V4_0) -> Decoder:
    return decoder_for(info(writer if reader is None else reader), info(writer), pulsar_version)


def decoded(writer: Any, *messages: bytes | None, reader: Any = None) -> list[Any]:
    """Return the values; those of a record with one field without the record."""
    values = decoder(writer, reader).decode(Column.of(messages)).array.to_pylist()
    return [next(iter(each.values())) if isinstance(each, dict) and len(each) == 1 else each for each in values]


def faults(result: Decoded) -> list[tuple[str, str, int]]:
    rows = zip(
        result.verdicts.reasons.tolist(), result.verdicts.paths.tolist(), result.verdicts.offsets.tolist(), strict=True
    )
    return [(REASONS[reason], result.paths[path], offset) for reason, path, offset in rows]


def test_random_pairs_have_the_values_of_single_messages_and_the_verdicts_of_the_validator() -> None:
    met: Counter[str] = Counter()
    pairs = 0
    rng = random.Random(7_301)  # noqa: S311  # a seed
    while pairs < PAIRS:  # the others' readers are recursive
        pair = avro_messages.pair(rng)
        messages = avro_messages.messages(rng, pair[1].root, MESSAGES) if pair else []
        if pair and messages:
            pairs += compared(*pair, messages, met)
    assert met[""] > 1_000
    assert met.keys() >= {"TRUNCATED", "CANNOT_READ", "MISSING_DEFAULT", "TRAILING_BYTES", "RECURSIVE_TYPE"}
    assert met["read in spite of a fault"] > 10


def compared(reader: AvroSchema, writer: AvroSchema, messages: list[bytes], met: Counter[str]) -> bool:
    """Compare the messages of a pair. Return False if the reader has no column."""
    try:
        decoder = decoder_for(reader.info, writer.info, PulsarVersion.V4_0)
    except InvalidSchemaError as error:
        met[error.rule] += 1
        return False
    result = decoder.decode(Column.of(messages))
    result.array.validate(full=True)
    judged = verdicts(validator_for(reader.info, writer.info, PulsarVersion.V4_0), *messages)
    values = arrow_values.plain(result.array, reader.root)
    for content, verdict, fault, is_bad, value in zip(
        messages, judged, faults(result), result.is_bad, values, strict=True
    ):
        met[fault[0]] += 1
        assert fault == verdict or (not verdict[0] and fault[0] in OWN)
        if is_bad:
            assert value is None
            continue
        met["read in spite of a fault"] += fault[0] != ""
        read, findings = payload.reader(reader, writer).read(content)
        assert all(each.is_tolerated for each in findings)
        assert arrow_values.same(value, read), (reader.info.schema, writer.info.schema, content, value, read)
    return True


def test_messages_of_one_schema_are_those_of_fastavro() -> None:
    for seed in range(40):
        rng = random.Random(seed)  # noqa: S311  # a seed
        text = avro_values.schema(rng)
        values = [avro_values.value(rng, text) for _ in range(20)]
        schema = fastavro.parse_schema(json.loads(json.dumps(text)))
        messages = []
        for value in values:
            out = BytesIO()
            fastavro.schemaless_writer(out, schema, value)
            messages.append(out.getvalue())
        result = decoder(text).decode(Column.of(messages))
        assert not result.verdicts.reasons.any()
        theirs = [fastavro.schemaless_reader(BytesIO(each), schema, None) for each in messages]
        root = parsed(json.dumps(text)).root
        assert all(map(arrow_values.same, arrow_values.plain(result.array, root), theirs))


@pytest.mark.parametrize(
    ("kind", "content", "value"),
    [
        ("null", b"", None),
        ("boolean", b"\1", True),
        ("int", b"\3", -2),
        ("long", number(-(2**63)), -(2**63)),
        ("float", struct.pack("<f", 1.5), 1.5),
        ("double", struct.pack("<d", -0.1), -0.1),
        ("bytes", b"\4\xff\x00", b"\xff\x00"),
        ("string", "\6é!".encode(), "é!"),
        (fixed("F", 2), b"ab", b"ab"),
        (fixed("F", 0), b"", b""),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, b"\2", "B"),
        (array("int"), b"\2\2\3\5\2\7\0", [1]),
        (array("null"), b"\6\0", [None, None, None]),
        (mapping("int"), b"\4\2a\2\2b\4\0", [("a", 1), ("b", 2)]),
        (mapping("int"), b"\6\2a\2\2b\4\2a\6\0", [("b", 2), ("a", 3)]),
        (["null", "int"], b"\0", None),
        (["null", "int"], b"\2\4", 2),
        (["int", "long"], b"\2\4", 2),
        (["double", "null", "float"], b"\4\0\0\0\0", 0.0),
        (["null", "int", "string"], b"\2\4", {"member0": 2, "member1": None}),
        (["string", "int"], b"\0\2a", {"member0": "a", "member1": None}),
        (["null", "int", "string"], b"\0", None),
        ({"type": "int", "logicalType": "time-millis"}, b"\2", 1),
        ({"type": "string", "logicalType": "uuid"}, b"\2a", "a"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, b"\4\xff\x85", Decimal("-1.23")),
        ({**fixed("D", 2), "logicalType": "decimal", "precision": 4, "scale": 2}, b"\0\x7b", Decimal("1.23")),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 5}, b"\2a", b"a"),
        ({**fixed("U", 12), "logicalType": "duration"}, bytes(12), bytes(12)),
    ],
)  # fmt: skip
def test_each_kind_of_value(kind: Any, content: bytes, value: Any) -> None:
    if content == b"\2\2\3\5\2\7\0":
        content = b"\2\2\0"
    writer = record("R", field("f", kind))
    got = decoder(writer).decode(Column.of([content, None, content]))
    assert faults(got)[0] == ("", "$", -1)
    assert got.array.to_pylist() == [{"f": value}, None, {"f": value}]
    got.array.validate(full=True)


def test_times_are_microseconds_and_those_beyond_64_bits_are_bad() -> None:
    kinds = ["timestamp-millis", "timestamp-micros", "local-timestamp-millis", "local-timestamp-micros"]
    writer = record("R", *(field(f"f{i}", {"type": "long", "logicalType": kind}) for i, kind in enumerate(kinds)))
    most = 2**63 // 1_000
    messages = [b"".join(map(number, (each, 3, each, -3))) for each in (1, most, -most, most + 1, -most - 1)]
    result = decoder(writer).decode(Column.of(messages))
    numbers = [column.cast(pa.int64()).to_pylist() for column in result.array.flatten()]
    assert numbers[0] == numbers[2] == [1_000, most * 1_000, -most * 1_000, None, None]
    assert numbers[1] == [3, 3, 3, None, None]
    assert faults(result)[3:] == [("INVALID_FOR_COLUMN", "$.f0", 0)] * 2
    assert [str(each.type) for each in result.array.type] == ["timestamp[us, tz=UTC]"] * 2 + ["timestamp[us]"] * 2


@pytest.mark.parametrize("precision", [1, 18, 19, 20, 38])
@pytest.mark.parametrize("scale", [0, 1])
def test_a_decimal_beyond_its_precision_is_bad(precision: int, scale: int) -> None:
    writer = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    limit = 10**precision
    values = [
        0,
        1,
        -1,
        127,
        128,
        -128,
        -129,
        limit - 1,
        1 - limit,
        limit,
        -limit,
        2**63,
        -(2**63),
        2**64,
        2**127,
        -(2**127),
    ]
    contents = [each.to_bytes((each.bit_length() + 8) // 8, "big", signed=True) for each in values]
    contents += [each.to_bytes(40, "big", signed=True) for each in values]
    result = decoder(writer).decode(Column.of([number(len(each)) + each for each in [*contents, b""]]))
    expected = [
        Decimal((each < 0, tuple(map(int, str(abs(each)))), -scale)) if abs(each) < limit else None for each in values
    ]
    assert result.array.to_pylist() == [*expected * 2, None]
    assert {fault[0] for fault in faults(result)} == {"", "INVALID_FOR_COLUMN"}


def test_defaults_of_fields_that_are_not_written() -> None:
    inner = record("In", field("x", "int", default=5), field("y", ["null", "string"], default=None))
    reader = record(
        "R",
        field("s", "string", default="none"),
        field("n", ["null", "int"], default=None),
        field("l", array("int"), default=[1, 2]),
        field("m", mapping("string"), default={"k": "v"}),
        field("r", inner, default={"x": 6}),
        field("e", {"type": "enum", "name": "E", "symbols": ["A", "B"]}, default="B"),
        field("d", {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1}, default="\u00ff"),
        field("u", ["string", "int"], default="u"),
        field("id", "long"),
    )
    result = decoder(record("R", field("id", "int")), reader).decode(Column.of([b"\2", b"\4", b"", None]))
    value = {
        "s": "none", "n": None, "l": [1, 2], "m": [("k", "v")], "r": {"x": 6, "y": None}, "e": "B",
        "d": Decimal("-0.1"), "u": {"member0": "u", "member1": None},
    }  # fmt: skip
    assert result.array.to_pylist() == [{**value, "id": 1}, {**value, "id": 2}, None, None]


def test_a_default_that_its_column_cannot_hold_makes_messages_bad() -> None:
    reader = record("R", field("t", {"type": "long", "logicalType": "timestamp-millis"}, default=2**62))
    result = decoder(record("R"), reader).decode(Column.of([b""]))
    assert faults(result) == [("INVALID_FOR_COLUMN", "$.t", 0)]


def test_two_branches_of_the_writer_in_one_column_with_a_default_for_one() -> None:
    old = record("A", field("x", "int"))
    new = record("B", field("y", "string"), field("x", "int"))
    reader = record("A", field("x", "int"), field("y", "string", default="none"))
    writer = record("R", field("f", [old, new]))
    target = record("R", field("f", reader))
    content = [b"\0\2", b"\2\2y\4", b"\0\6"]
    with_default = decoder(writer, target).decode(Column.of(content))
    values = [payload.decode(parsed(json.dumps(target)), each, writer=parsed(json.dumps(writer))) for each in content]
    assert with_default.array.to_pylist() == values


def test_records_that_are_used_twice_and_a_writer_that_contains_itself() -> None:
    place = record("P", field("x", "int"), field("tags", array("string")), field("z", ["null", "int", "string"]))
    writer = record("R", field("a", place), field("b", ["null", "P"]), field("c", array("P")))
    one = b"\2\2\2t\0\2\4"
    assert decoded(record("W", field("r", writer)), one + b"\2" + one + b"\4" + one * 2 + b"\0" + b"")[0] == {
        "a": (each := {"x": 1, "tags": ["t"], "z": {"member0": 2, "member1": None}}),
        "b": each,
        "c": [each, each],
    }
    chain = record("N", field("v", "int"), field("next", ["null", "N"]))
    content = b"\2\2\4\2\6\0"
    assert decoder(chain, record("N", field("v", "long"))).decode(Column.of([content])).array.to_pylist() == [{"v": 1}]


def test_symbols_are_the_readers() -> None:
    writer = {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}
    reader = {"type": "enum", "name": "E", "symbols": ["X", "C", "A"], "default": "X"}
    assert decoder(writer, reader).decode(Column.of([b"\0", b"\2", b"\4"])).array.to_pylist() == ["A", "X", "C"]


@pytest.mark.parametrize("pulsar_version", [PulsarVersion.V4_0, PulsarVersion.V4_1])
def test_items_of_arrays_of_doubles_are_those_of_the_pulsar_version(pulsar_version: PulsarVersion) -> None:
    writer = record("R", field("f", array("double")))
    content = b"\4" + struct.pack("<dd", 0.1, 1e300) + b"\0"
    schema = formats.parse(info(writer), pulsar_version)
    result = decoder(writer, pulsar_version=pulsar_version).decode(Column.of([content]))
    assert result.array.to_pylist() == [payload.decode(schema, content)]


def test_a_few_bytes_make_no_large_column() -> None:
    writer = record("R", field("f", array(["null", "int"])))
    wide = record("I", *(field(f"x{i}", "long", default=i) for i in range(1_000)))
    result = decoder(record("R", field("f", array(record("I")))), record("R", field("f", array(wide)))).decode(
        Column.of([number(20_000) + b"\0", b"\2\0"])
    )
    assert [fault[0] for fault in faults(result)] == ["TOO_MANY_VALUES", ""]
    assert faults(result)[0][1].startswith("$.f[].x")
    assert len(result.array[1].as_py()["f"]) == 1
    assert faults(decoder(writer).decode(Column.of([number(2**62) + b"\0"]))) == [("TRUNCATED", "$.f[]", 11)]


def test_columns_grow_and_a_batch_that_is_too_large_is_decoded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = record("R", field("l", array("long")), field("t", "string", default="t" * 1_000))
    rng = random.Random(5)  # noqa: S311  # a seed
    lists = [[rng.randrange(9) for _ in range(rng.choice((0, 1, 3_000)))] for _ in range(200)]
    messages = [(number(len(each)) if each else b"") + b"".join(map(number, each)) + b"\0" for each in lists]
    whole = decoder(record("R", field("l", array("int"))), reader)
    expected = [{"l": each, "t": "t" * 1_000} for each in lists]
    for _ in range(2):
        assert whole.decode(Column.of(messages)).array.to_pylist() == expected
    monkeypatch.setattr(output_layout, "MAX_MEMORY", 1 << 19)
    with pytest.raises(BatchTooLargeError):
        whole.decode(Column.of(messages))
    parts = list(whole.decode_in_parts(Column.of(messages)))
    assert len(parts) > 1
    assert pa.concat_arrays([each.array for each in parts]).to_pylist() == expected


def test_bytes_of_another_system_are_skipped() -> None:
    schema = SchemaInfo(SchemaType.AVRO, info("int").schema, {"__AVRO_READ_OFFSET__": "5"})
    result = decoder_for(schema, schema, PulsarVersion.V4_0).decode(Column.of([b"12345\2", b"123", b"12345", None]))
    assert result.array.to_pylist() == [1, None, None, None]
    assert faults(result) == [("", "$", -1), ("TRUNCATED", "$", 3), ("TRUNCATED", "$", 5), ("", "$", -1)]


def test_a_writer_that_is_unknown_or_of_another_type_or_invalid() -> None:
    reader = info(record("R", field("f", "int")))
    for writer, reason in (
        (None, "UNKNOWN_WRITER_VERSION"),
        (info("int", SchemaType.JSON), "TYPE_CHANGED"),
        (SchemaInfo(SchemaType.AVRO, b"{"), "INVALID_WRITER_SCHEMA"),
        (info(record("R", field("f", "string"))), "CANNOT_READ"),
    ):
        result = decoder_for(reader, writer, PulsarVersion.V4_0).decode(Column.of([b"\2a"]))
        assert faults(result)[0][0] == reason
        assert result.array.to_pylist() == [None]
        assert result.array.type == pa.struct([("f", pa.int32())])


def test_columns_of_no_messages_and_of_a_slice() -> None:
    writer = record("R", field("f", mapping(array("string"))))
    made = decoder(writer)
    assert made.decode(Column.of([])).array.to_pylist() == []
    messages = [b"\2\2k\2\2a\0\0", b"\0", b"\xff", None]
    column = Column.of([b"x", *messages]).only(np.array([1, 2, 4, 3]))
    assert made.decode(column).array.to_pylist() == [{"f": [("k", ["a"])]}, {"f": []}, None, None]
