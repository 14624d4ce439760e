"""Generic records: what a consumer with AUTO_CONSUME has of every type."""

import json

import pytest

from support.payloads.protobuf_orders import PROTO_3
from support.payloads.verdicts import FITS, refusal, verdicts
from topicschema.core import formats
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.formats.primitives import PrimitiveSchema
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.payload import Pair, columnar, generic
from topicschema.payload.avro.read_offset import READ_OFFSET
from topicschema.payload.generic import GenericRecord

RECORD = b'{"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}, {"name": "s", "type": "string"}]}'


def avro(kind: str = "AVRO", text: bytes = RECORD, **properties: str) -> Schema:
    return formats.parse(SchemaInfo(SchemaType(kind), text, properties))


def test_a_struct_is_a_record_with_fields_and_the_version_of_the_message() -> None:
    found = generic.record(avro(), b"\x02\x02a", schema_version=3)
    assert found == GenericRecord(SchemaType.AVRO, 3, ("n", "s"), {"n": 1, "s": "a"})
    assert found["s"] == "a"
    with pytest.raises(KeyError):
        found["t"]


def test_a_protobuf_record_has_its_fields_in_the_order_of_the_file() -> None:
    field = {"type": "INT32", "label": "LABEL_OPTIONAL"}
    told = json.dumps([{"number": 2, "name": "b", **field}, {"number": 1, "name": "a", **field}])
    assert generic.record(avro("PROTOBUF", __PARSING_INFO__=told), b"\x08\x05").fields == ("b", "a")
    assert generic.record(avro("JSON"), b'{"s": "a", "n": 1}').fields == ("n", "s")
    record = generic.record(PROTO_3, b"\x08\x05")
    assert (record.fields[:2], record["id"], record["note"]) == (("id", "note"), 5, None)


def test_all_else_stands_for_itself() -> None:
    assert generic.record(avro(text=b'"long"'), b"\x02") == GenericRecord(SchemaType.AVRO, None, (), 1)
    charset = PrimitiveSchema(SchemaInfo(SchemaType.STRING, b"", {"__charset": "UTF-16"}), "")
    assert generic.record(charset, b"\xc3\xa9").value == "é"
    assert generic.record(PrimitiveSchema(SchemaInfo(SchemaType.BYTES), ""), None).value is None


def test_a_pair_has_records_for_parts_and_a_separated_key_is_the_messages_own() -> None:
    parts = Part(SchemaInfo(SchemaType.STRING)), Part(SchemaInfo(SchemaType.AVRO, RECORD))
    schema = formats.parse(encode(KeyValue(*parts, Encoding.SEPARATED)))
    found = generic.record(schema, b"\x02\x02a", b"k", schema_version=1)
    assert found.value == Pair("k", GenericRecord(SchemaType.AVRO, 1, ("n", "s"), {"n": 1, "s": "a"}))
    assert found.fields == ()


def test_the_bytes_that_another_system_put_before_an_avro_message_are_skipped() -> None:
    schema = avro(__AVRO_READ_OFFSET__="5")
    assert generic.record(schema, b"\0\0\0\0\7\x02\x02a").value == {"n": 1, "s": "a"}
    assert refusal(generic.record, schema, b"\0\0\0\0\7\x02\x04a") == ("TRUNCATED", "$.s", 7)
    assert refusal(generic.record, avro(__AVRO_READ_OFFSET__="five"), b"") == ("READ_OFFSET", "", None)


@pytest.mark.parametrize(("key", "value"), [("5", "5"), ("5", "0"), ("0", "5")])
@pytest.mark.parametrize("encoding", Encoding)
def test_the_parts_of_a_pair_have_bytes_of_another_system_by_their_own_properties(
    key: str, value: str, encoding: Encoding
) -> None:
    first, second = (Part(SchemaInfo(SchemaType.AVRO, RECORD, {READ_OFFSET: each})) for each in (key, value))
    schema = formats.parse(encode(KeyValue(first, second, encoding)))
    of_key, of_value = (bytes(int(each)) + b"\x02\x02a" for each in (key, value))
    inline = b"".join(len(each).to_bytes(4) + each for each in (of_key, of_value))
    content = (of_value, of_key) if encoding is Encoding.SEPARATED else (inline, None)
    found = generic.record(schema, *content).value
    assert [each.value for each in found] == [{"n": 1, "s": "a"}] * 2
    validator = columnar.validator_for(schema.info, schema.info, PulsarVersion.V4_0)
    assert verdicts(validator, content[0], keys=[content[1]]) == [FITS]
