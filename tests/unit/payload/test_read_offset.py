"""Bytes of another system before AVRO messages (`__AVRO_READ_OFFSET__`)."""

import pytest

from support.payloads.verdicts import FITS, refusal, verdicts
from topicschema import payload
from topicschema.core import formats
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.payload import columnar
from topicschema.payload.avro.read_offset import READ_OFFSET

RECORD = b'{"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}, {"name": "s", "type": "string"}]}'


def avro(offset: str) -> Schema:
    return formats.parse(SchemaInfo(SchemaType.AVRO, RECORD, {READ_OFFSET: offset}))


def test_the_bytes_that_another_system_put_before_an_avro_message_are_skipped() -> None:
    schema = avro("5")
    assert payload.decode(schema, b"\0\0\0\0\7\x02\x02a") == {"n": 1, "s": "a"}
    assert refusal(payload.decode, schema, b"\0\0\0\0\7\x02\x04a") == ("TRUNCATED", "$.s", 7)
    assert refusal(payload.decode, avro("five"), b"") == ("READ_OFFSET", "", None)


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
    found = payload.decode(schema, *content)
    assert [*found] == [{"n": 1, "s": "a"}] * 2
    validator = columnar.validator_for(schema.info, schema.info, PulsarVersion.V4_0)
    assert verdicts(validator, content[0], keys=[content[1]]) == [FITS]
