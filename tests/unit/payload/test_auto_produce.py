"""The messages of a producer with AUTO_PRODUCE that consumers fail on, and those that it refuses."""

import json

import pytest

from support.payloads.protobuf_orders import PROTO_3
from topicschema import payload
from topicschema.core import formats
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.formats.primitives import PrimitiveSchema
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.payload import auto_produce

RECORD = b'{"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]}'


def schema(kind: str, text: bytes = b"", **properties: str) -> Schema:
    info = SchemaInfo(SchemaType(kind), text, properties)
    return formats.parse(info) if text else PrimitiveSchema(info, "")


def pair(encoding: Encoding) -> Schema:
    parts = [Part(SchemaInfo(kind)) for kind in (SchemaType.INT8, SchemaType.INT16)]
    return formats.parse(encode(KeyValue(parts[0], parts[1], encoding)))


@pytest.mark.parametrize(
    ("parsed", "content", "is_sent", "is_valid"),
    [
        (schema("INT16"), b"\x00\x01", True, True),
        (schema("INT16"), b"\x00", False, False),
        (schema("BYTES"), b"\xff", True, True),
        (schema("STRING", __charset="UTF-16"), b"\xd8", True, True),
        (schema("AVRO", RECORD), b"\x02", True, True),
        (schema("AVRO", RECORD), b"\x02\x02", True, True),
        (schema("AVRO", RECORD), b"", False, False),
        (schema("AVRO", RECORD), b"\xff\xff\xff\xff\x7f", True, False),
        (schema("JSON", RECORD), b'{"n": "x"}', True, False),
        (schema("JSON", RECORD), b"[] and more", True, False),
        (schema("JSON", RECORD), b"1 and more", True, False),
        (schema("JSON", RECORD), b"1and more", False, False),
        (schema("JSON", RECORD), b"", True, False),
        (schema("JSON", RECORD), b"{", False, False),
        (schema("PROTOBUF", RECORD), b"\x02", True, None),
        (schema("PROTOBUF", RECORD), b"", False, None),
        (PROTO_3, b"\x08\x01", True, True),
        (PROTO_3, b"\x00", False, False),
        (pair(Encoding.INLINE), b"\0\0\0\1\1\0\0\0\2\1\1", True, True),
        (pair(Encoding.INLINE), b"\1\1", False, False),
        (pair(Encoding.SEPARATED), b"\1\1", True, True),
        (pair(Encoding.SEPARATED), b"\1", False, False),
    ],
)
def test_it_looks_less_closely_than_a_consumer(
    parsed: Schema, content: bytes, *, is_sent: bool, is_valid: bool | None
) -> None:
    assert (auto_produce.refusals(parsed, content) == ()) is is_sent
    if is_valid is not None:
        findings = payload.validate(parsed, content, b"\1")
        assert all(each.is_tolerated for each in findings) is is_valid


def test_a_refusal_has_path_offset_and_message() -> None:
    [finding] = auto_produce.refusals(pair(Encoding.INLINE), b"\0\0\0\1\1\0\0\0\1\1")
    assert (finding.rule, finding.path, finding.offset) == ("TRUNCATED", "$.value", 10)
    assert json.dumps(finding.message)
