"""Payloads of primitive types and pairs: the bytes of Pulsar's table, and where a rejection points."""

import math
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from support.payloads.verdicts import findings, refusal
from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidPayloadError, InvalidSchemaError
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.formats.primitives import PrimitiveSchema
from topicschema.core.schemas import PRIMITIVES, Schema, SchemaInfo, SchemaType
from topicschema.payload import Instant, LocalDateTime, Pair


def primitive(kind: str, **properties: str) -> Schema:
    return PrimitiveSchema(SchemaInfo(SchemaType(kind), b"", properties), "")


def pair(key: str, value: str, encoding: Encoding | None = Encoding.INLINE) -> Schema:
    parts = [Part(SchemaInfo(SchemaType(each))) for each in (key, value)]
    return formats.parse(encode(KeyValue(parts[0], parts[1], encoding)))


TABLE: list[tuple[str, Any, str]] = [
    ("BOOLEAN", True, "01"),
    ("INT8", -1, "ff"),
    ("INT16", 258, "0102"),
    ("INT32", -2, "fffffffe"),
    ("INT64", 2**40, "0000010000000000"),
    ("FLOAT", 1.5, "3fc00000"),
    ("DOUBLE", -0.0, "8000000000000000"),
    ("STRING", "é", "c3a9"),
    ("BYTES", b"\x00", "00"),
    ("TIME", 3_600_000, "000000000036ee80"),
    ("TIMESTAMP", -1, "ffffffffffffffff"),
    ("DATE", 0, "0000000000000000"),
    ("INSTANT", Instant(1, 999_999_999), "00000000000000013b9ac9ff"),
    ("LOCAL_DATE", -1, "ffffffffffffffff"),
    ("LOCAL_TIME", 1, "0000000000000001"),
    ("LOCAL_DATE_TIME", LocalDateTime(2, 3), "00000000000000020000000000000003"),
]


def test_the_table_has_every_primitive() -> None:
    assert {SchemaType(kind) for kind, _, _ in TABLE} == PRIMITIVES | {SchemaType.BYTES}


def test_the_documented_table_has_the_sizes_of_the_values() -> None:
    page = (Path(__file__).parents[3] / "docs" / "understand-schemas.md").read_text(encoding="utf-8")
    [rows] = re.findall(r"^\| type \| Java \| bytes of a message \|\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    documented = dict[str, int | None]()
    for kinds, sizes in re.findall(r"^\| ([^|]+) \|[^|]+\| ((?:\d+(?:, )?)*)", rows, re.MULTILINE):
        numbers: list[int | None] = [int(size) for size in re.findall(r"\d+", sizes)]
        names = kinds.split(", ")
        documented |= zip(
            names, numbers if len(numbers) == len(names) else (numbers or [None]) * len(names), strict=True
        )
    sizes = {kind: len(content) // 2 for kind, _, content in TABLE}
    assert documented == sizes | {"STRING": None, "BYTES": None}


@pytest.mark.parametrize(("kind", "value", "content"), TABLE)
def test_a_value_has_the_bytes_of_the_table_and_comes_back(kind: str, value: Any, content: str) -> None:
    schema = primitive(kind)
    assert payload.encode(schema, value).payload == bytes.fromhex(content)
    assert payload.decode(schema, bytes.fromhex(content)) == value
    assert payload.validate(schema, bytes.fromhex(content)) == payload.validate(schema, None) == ()
    assert (payload.encode(schema, None).payload, payload.decode(schema, None)) == (None, None)


@pytest.mark.parametrize(("kind", "content"), [(kind, content) for kind, _, content in TABLE if content != "00"])
def test_a_missing_byte_is_reported_at_the_end_of_the_payload(kind: str, content: str) -> None:
    if kind in ("STRING", "BYTES"):
        return
    short = bytes.fromhex(content)[:-1]
    assert findings(primitive(kind), short) == [("TRUNCATED", "$", len(short), False)]
    with pytest.raises(InvalidPayloadError) as caught:
        payload.decode(primitive(kind), short)
    assert (caught.value.rule, caught.value.offset, caught.value.path) == ("TRUNCATED", len(short), "$")


@pytest.mark.parametrize(("kind", "size"), [("INSTANT", 12), ("LOCAL_DATE_TIME", 16), ("INT32", 4), ("BOOLEAN", 1)])
def test_an_extra_byte_is_reported_and_tolerated_if_java_tolerates_it(kind: str, size: int) -> None:
    assert findings(primitive(kind), bytes(size + 1)) == [("TRAILING_BYTES", "$", size, size > 8)]


@pytest.mark.parametrize(
    ("kind", "content", "value", "rule", "offset"),
    [
        ("BOOLEAN", b"\x02", True, "INVALID_BOOLEAN", 0),
        ("INSTANT", struct.pack(">qi", 5, -1), Instant(4, 999_999_999), "OUT_OF_RANGE", 8),
        ("INSTANT", struct.pack(">qi", 5, 10**9), Instant(6, 0), "OUT_OF_RANGE", 8),
    ],
)
def test_a_value_that_java_corrects_is_corrected_and_reported(
    kind: str, content: bytes, value: Any, rule: str, offset: int
) -> None:
    assert payload.decode(primitive(kind), content) == value
    assert findings(primitive(kind), content) == [(rule, "$", offset, True)]


@pytest.mark.parametrize(
    ("kind", "content", "offset"),
    [
        ("LOCAL_DATE", struct.pack(">q", 2**62), 0),
        ("LOCAL_TIME", struct.pack(">q", -1), 0),
        ("LOCAL_DATE_TIME", struct.pack(">qq", 0, 86_400 * 10**9), 8),
        ("LOCAL_DATE_TIME", struct.pack(">qq", 2**62, 0), 0),
        ("INSTANT", struct.pack(">qi", 2**62, 0), 0),
    ],
)
def test_a_time_that_java_has_not_is_refused_with_its_byte(kind: str, content: bytes, offset: int) -> None:
    assert findings(primitive(kind), content) == [("OUT_OF_RANGE", "$", offset, False)]


def test_text_that_is_not_utf_8_is_reported_and_read_as_java_does() -> None:
    assert findings(primitive("STRING"), b"ab\xed\xa0\x80c\xff") == [("INVALID_UTF8", "$", 2, True)]
    assert payload.decode(primitive("STRING"), b"ab\xed\xa0\x80c\xff") == "ab\ufffdc\ufffd"


def test_a_charset_is_followed() -> None:
    schema = primitive("STRING", __charset="UTF-16")
    assert payload.encode(schema, "é").payload == b"\xfe\xff\x00\xe9"
    assert payload.decode(schema, b"\xff\xfe\xe9\x00") == "é"
    assert findings(schema, b"\xfe\xff\xdc\x00") == [("INVALID_TEXT", "$", 2, True)]


def test_a_charset_that_not_every_java_has_is_refused() -> None:
    with pytest.raises(InvalidSchemaError, match="__charset") as caught:
        payload.codec(primitive("STRING", __charset="EBCDIC-XML-US"))
    assert caught.value.rule == "UNKNOWN_CHARSET"


def test_a_float_keeps_the_bits_of_its_nan_and_a_double_does_not() -> None:
    signalling = bytes.fromhex("ffa12345")
    assert payload.encode(primitive("FLOAT"), payload.decode(primitive("FLOAT"), signalling)).payload == signalling
    odd = payload.decode(primitive("DOUBLE"), bytes.fromhex("fff8000000000001"))
    assert math.isnan(odd)
    assert payload.encode(primitive("DOUBLE"), odd).payload == bytes.fromhex("7ff8000000000000")


@pytest.mark.parametrize(
    ("kind", "value", "rule"),
    [
        ("INT8", 128, "OUT_OF_RANGE"),
        ("INT64", 2**63, "OUT_OF_RANGE"),
        ("INT32", True, "WRONG_TYPE"),
        ("INT32", 1.0, "WRONG_TYPE"),
        ("FLOAT", 1e39, "OUT_OF_RANGE"),
        ("DOUBLE", 10**400, "OUT_OF_RANGE"),
        ("DOUBLE", "1", "WRONG_TYPE"),
        ("BOOLEAN", 1, "WRONG_TYPE"),
        ("STRING", b"", "WRONG_TYPE"),
        ("BYTES", "", "WRONG_TYPE"),
        ("INSTANT", 5, "WRONG_TYPE"),
        ("INSTANT", Instant(0, 10**9), "OUT_OF_RANGE"),
        ("LOCAL_DATE_TIME", LocalDateTime(0, -1), "OUT_OF_RANGE"),
        ("LOCAL_DATE_TIME", (0, 0), "WRONG_TYPE"),
    ],
)
def test_a_value_that_is_none_of_the_type_is_refused(kind: str, value: Any, rule: str) -> None:
    assert refusal(payload.encode, primitive(kind), value) == (rule, "$", None)


def test_a_pair_is_inline() -> None:
    schema = pair("STRING", "INT16")
    content = bytes.fromhex("00000001 61 00000002 0102")
    assert payload.encode(schema, Pair("a", 258)) == payload.MessageParts(content)
    assert payload.decode(schema, content) == Pair("a", 258)
    assert payload.decode(schema, bytes.fromhex("ffffffff ffffffff")) == Pair(None, None)


def test_a_separated_key_is_the_messages_own() -> None:
    schema = pair("STRING", "INT16", Encoding.SEPARATED)
    message = payload.encode(schema, Pair("a", 258))
    assert message == payload.MessageParts(b"\x01\x02", b"a")
    assert payload.decode(schema, message.payload, message.key) == Pair("a", 258)
    assert payload.encode(schema, Pair("a", None)) == payload.MessageParts(None, b"a")
    assert findings(schema, b"\x01", b"\xff") == [
        ("INVALID_UTF8", "$.key", 0, True),
        ("TRUNCATED", "$.value", 1, False),
    ]


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        ("", ("TRUNCATED", "$.key", 0, False)),
        ("00000005 61", ("TRUNCATED", "$.key", 4, False)),
        ("fffffffe", ("NEGATIVE_LENGTH", "$.key", 0, False)),
        ("00000001 61 0000", ("TRUNCATED", "$.value", 5, False)),
        ("00000001 61 00000001 01", ("TRUNCATED", "$.value", 10, False)),
        ("00000001 61 00000002 0102 00", ("TRAILING_BYTES", "$", 11, True)),
        ("00000001 ff 00000002 0102", ("INVALID_UTF8", "$.key", 4, True)),
    ],
)
def test_a_pair_that_is_cut_is_refused_at_the_byte_of_the_whole(
    content: str, finding: tuple[str, str, int, bool]
) -> None:
    assert findings(pair("STRING", "INT16"), bytes.fromhex(content)) == [finding]


def test_a_refused_part_names_its_side() -> None:
    with pytest.raises(InvalidPayloadError) as caught:
        payload.encode(pair("STRING", "INT16"), Pair("a", 2**15))
    assert caught.value.sentence.startswith("OUT_OF_RANGE at $.value: an INT16 is between -32,768 and 32,767")


def test_parts_may_be_records_and_findings_lead_into_them() -> None:
    text = b'{"type":"record","name":"R","fields":[{"name":"price","type":"int"}]}'
    parts = Part(SchemaInfo(SchemaType.AVRO, text)), Part(SchemaInfo(SchemaType.JSON, text))
    schema = formats.parse(encode(KeyValue(*parts)))
    content = bytes.fromhex("00000001 02 0000000b") + b'{"price":7}'
    assert payload.decode(schema, content) == Pair({"price": 1}, {"price": 7})
    assert payload.encode(schema, Pair({"price": 1}, {"price": 7})).payload == content
    wrong = bytes.fromhex("00000001 80 0000000c") + b'{"price":""}'
    assert findings(schema, wrong) == [("TRUNCATED", "$.key.price", 4, False)]
    wrong = bytes.fromhex("00000001 02 0000000c") + b'{"price":""}'
    assert findings(schema, wrong) == [("WRONG_TYPE", "$.value.price", 18, False)]


def test_an_encoding_that_no_client_knows_has_no_payloads() -> None:
    info = encode(KeyValue(Part(SchemaInfo(SchemaType.STRING)), Part(SchemaInfo(SchemaType.STRING))))
    odd = SchemaInfo(info.type, info.schema, {**info.properties, "kv.encoding.type": "BESIDE"})
    assert refusal(payload.codec, formats.parse(odd))[0] == "UNKNOWN_ENCODING"
