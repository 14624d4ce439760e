"""Protobuf payloads beside google.protobuf: each reads what the other writes, and nothing raises but our own errors."""

import base64
import json
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given, settings
from hypothesis import strategies as st

from support.payloads import protobuf_values
from support.schemas.avro_schemas import seeded
from topicschema import payload
from topicschema.core.errors import InvalidPayloadError
from topicschema.core.formats.protobuf_native import ProtobufNativeSchema
from topicschema.payload import display_json
from topicschema.payload.protobuf_native import of

SEEDS = st.integers(0, 2**32)


def message_class(schema: ProtobufNativeSchema) -> Any:
    """Return the class that google.protobuf makes of the envelope."""
    envelope = json.loads(schema.info.schema)
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(base64.b64decode(envelope["fileDescriptorSet"])).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(envelope["rootMessageTypeName"]))


@settings(deadline=None)
@given(SEEDS)
def test_google_reads_what_we_write_and_we_read_what_it_writes(seed: int) -> None:
    rng = seeded(seed)
    schema = protobuf_values.schema(rng)
    if next(iter(schema.descriptors.files.values())).syntax not in ("proto2", "proto3"):
        return  # it supports more of editions than Pulsar's client does
    value = protobuf_values.value(rng, of(schema).root)
    content = payload.encode(schema, value).payload or b""
    theirs = message_class(schema).FromString(content).SerializeToString(deterministic=True)
    plan = of(schema).root
    ours, back = payload.decode(schema, content), payload.decode(schema, theirs)
    assert shown(protobuf_values.shown(plan, back)) == shown(protobuf_values.shown(plan, ours))
    assert len(theirs) == len(content)


def shown(value: Any) -> str:
    """Return the value as a text that ignores the order of a map's entries."""
    if isinstance(value, list):
        return repr(sorted(map(shown, value)))
    return repr(value)


@settings(deadline=None)
@given(SEEDS, st.binary(max_size=40))
def test_no_bytes_raise_anything_but_our_own_errors(seed: int, content: bytes) -> None:
    rng = seeded(seed)
    schema = protobuf_values.schema(rng)
    for each in (content, protobuf_values.broken(rng, protobuf_values.odd(rng, of(schema).root))):
        findings = payload.validate(schema, each)
        assert all(0 <= finding.offset <= len(each) for finding in findings)
        try:
            value = payload.decode(schema, each)
        except InvalidPayloadError:
            assert not all(finding.is_tolerated for finding in findings)
        else:
            assert display_json.of_json(schema, display_json.to_json(schema, value)).keys() == value.keys()
