"""Payloads of other formats are named in the finding that ends the reading."""

import base64
import bz2
import json
import zlib

import pytest

from support.payloads.protobuf_orders import PROTO_3
from topicschema import payload
from topicschema.core import formats
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

FIELDS = [{"name": "probe", "type": "string"}, {"name": "celsius", "type": "double"}]
TEXT = json.dumps({"type": "record", "name": "Reading", "fields": FIELDS}).encode()
AVRO = formats.parse(SchemaInfo(SchemaType.AVRO, TEXT))
JSON = formats.parse(SchemaInfo(SchemaType.JSON, TEXT))
INT = SchemaInfo(SchemaType.INT32)
RAW = payload.encode(AVRO, {"probe": "T-7", "celsius": 21.5}).payload or b""
PLAIN = b'{"probe":"T-7","celsius":21.5}'
CONFLUENT = "a message of Confluent's schema registry (00, then a schema id of 4 bytes)"


def named(schema: Schema, content: bytes, key: bytes | None = None) -> list[str]:
    """Return the formats that the findings name."""
    parts = [each.message.partition("; these bytes begin like ") for each in payload.validate(schema, content, key)]
    return [name for _, sign, name in parts if sign]


@pytest.mark.parametrize(
    ("schema", "content", "name"),
    [
        (AVRO, b"\0\0\0\0\x2a" + RAW, CONFLUENT),
        (AVRO, b"\0\x12\0\0\x2a" + RAW, CONFLUENT),
        (AVRO, b"\0\0\0\0\x2a\x80\x80", CONFLUENT),
        (JSON, b"\0\0\0\0\x2a" + PLAIN, CONFLUENT),
        (PROTO_3, b"\0\0\0\0\x2a\0\x08\x01", CONFLUENT),
        (AVRO, b"\xc3\x01" + bytes(8) + RAW, "Avro's single-object encoding"),
        (AVRO, b"Obj\1" + bytes(20), "an Avro container file"),
        (AVRO, zlib.compress(RAW, wbits=31), "data compressed by gzip"),
        (JSON, bz2.compress(PLAIN), "data compressed by bzip2"),
        (AVRO, b"\x28\xb5\x2f\xfd" + RAW, "data compressed by Zstandard"),
        (AVRO, PLAIN, "JSON text"),
        (PROTO_3, b' [{"id": 1}]', "JSON text"),
        (AVRO, b'{"probe":"\xc3\xa9"}', "JSON text"),
        (AVRO, base64.b64encode(RAW), "base64 text"),
        (AVRO, RAW.hex().encode() + b"\n", "hexadecimal text"),
        (JSON, json.dumps(PLAIN.decode()).encode(), "JSON that is encoded twice"),
        (formats.parse(INT), b"PAR1" + RAW, "a Parquet file"),
    ],
)
def test_the_finding_names_the_format_that_the_bytes_begin_like(schema: Schema, content: bytes, name: str) -> None:
    [format_name] = named(schema, content)
    assert format_name.startswith(name)


@pytest.mark.parametrize(
    ("schema", "content"),
    [
        *((AVRO, each) for each in (RAW, RAW * 2, RAW[:5], b"", b"\0", b"\0\0\0\0\x2a\0\0\0\0\0\0\0", b"\x7b\x22")),
        *((JSON, each) for each in (PLAIN[:9], b'"text"', b"5")),
        *((formats.parse(INT), each) for each in (b"\0\0\0\0\x2a\0\0\0\1", b"{}{}x")),
        (formats.parse(SchemaInfo(SchemaType.INT64)), b"aaaa"),
    ],
)
def test_other_bytes_are_named_like_nothing(schema: Schema, content: bytes) -> None:
    assert named(schema, content) == []


@pytest.mark.parametrize("encoding", Encoding)
def test_the_framing_of_each_part_of_a_pair_is_checked(encoding: Encoding) -> None:
    schema = formats.parse(encode(KeyValue(Part(INT), Part(AVRO.info), encoding)))
    key, value = bytes(4), b"\0\0\0\0\x2a" + RAW
    inline = b"".join(len(each).to_bytes(4) + each for each in (key, value))
    content = (value, key) if encoding is Encoding.SEPARATED else (inline, None)
    assert named(schema, *content) == [CONFLUENT]
    assert payload.reader(schema).format_of(*content) == CONFLUENT
    assert named(schema, b"\0") == []
