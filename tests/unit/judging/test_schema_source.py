"""From a resource's spec to what a broker stores: texts, pairs, and protobuf's sources."""

from dataclasses import replace
from typing import Any

import pytest

from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.api.wire import decode
from topicschema.core import formats
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import key_value
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.judging.schema_source import field_of, info_of, sources_of, with_spec_field
from topicschema.protoc import ProtobufSources, compile_envelope
from unit.judging.conftest import JudgeOf

ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}'
PROTO = 'syntax = "proto3";\npackage shop;\nmessage Order { string id = 1; }\n'
SOURCES = {"message": "shop.Order", "files": {"shop/order.proto": PROTO}}


def spec(kind: str, **members: Any) -> TopicSchemaSpec:
    return decode(TopicSchemaSpec, {"topic": "persistent://shop/orders/created", "type": kind, **members})


def pair(key: Any = None, value: Any = None, **members: Any) -> TopicSchemaSpec:
    key, value = key or {"type": "STRING"}, value or {"type": "AVRO", "schema": ORDER, "name": "Order"}
    return spec("KEY_VALUE", keyValue={"encoding": "SEPARATED", "key": key, "value": value}, **members)


def test_a_text_is_read_byte_for_byte_with_its_properties() -> None:
    info = info_of(spec("JSON", schema=f" {ORDER}\n", properties={"owner": "a"}))
    assert info == SchemaInfo(SchemaType.JSON, f" {ORDER}\n".encode(), {"owner": "a"})


def test_a_pair_is_what_an_upload_over_rest_stores() -> None:
    info = info_of(pair(properties={"owner": "team-a"}))
    assert info.schema == key_value.payload_of(f'{{"key": "", "value": {ORDER}}}')
    assert info.properties == {
        "owner": "team-a",
        "key.schema.name": "",
        "key.schema.type": "STRING",
        "key.schema.properties": "{}",
        "value.schema.name": "Order",
        "value.schema.type": "AVRO",
        "value.schema.properties": "{}",
        "kv.encoding.type": "SEPARATED",
    }


@pytest.mark.parametrize(
    "part",
    [
        {"type": "STRING", "properties": {"__charset": "UTF-16"}},
        {"type": "STRING", "schema": "null"},
        {"type": "BYTES"},
        {"type": "INT64", "name": "Long"},
        {"type": "JSON", "schema": ORDER},
        {"type": "PROTOBUF", "schema": ORDER},
    ],
    ids=str,
)
def test_a_part_of_each_sort_is_read_back_unchanged(part: dict[str, Any]) -> None:
    parsed = formats.parse(info_of(pair(key=part)))
    read = key_value.decode(parsed.info).key
    assert (read.name, read.info.type.value) == (part.get("name", ""), part["type"])
    assert read.info.properties == part.get("properties", {})
    assert read.info.schema == key_value.compacted(part.get("schema", ""))


async def test_the_envelope_is_that_of_the_pulsar_versions_client(judge_of: JudgeOf) -> None:
    file = 'syntax = "proto3"; import "google/protobuf/api.proto"; message A { google.protobuf.Api api = 1; }'
    judge, sources = judge_of(), spec("PROTOBUF_NATIVE", protobuf={"message": "A", "files": {"a.proto": file}})
    for version in (PulsarVersion.V4_0, PulsarVersion.V5_0):
        expected = compile_envelope(ProtobufSources("A", {"a.proto": file}), pulsar_version=version)
        assert (await judge.schema_of(sources, version, None)).info.schema == expected
    assert expected != compile_envelope(ProtobufSources("A", {"a.proto": file}))


async def test_sources_become_their_envelope_which_may_be_a_part(judge_of: JudgeOf) -> None:
    judge, sources = judge_of(), spec("PROTOBUF_NATIVE", protobuf=SOURCES, properties={"owner": "a"})
    info = (await judge.schema_of(sources, PulsarVersion.V4_0, None)).info
    assert info.schema.startswith(b'{"fileDescriptorSet":')
    assert info.properties == {"owner": "a"}
    value = {"type": "PROTOBUF_NATIVE", "schema": info.schema.decode()}
    assert (await judge.schema_of(pair(value=value), PulsarVersion.V4_0, None)).info.type is SchemaType.KEY_VALUE


def test_spacing_in_a_part_makes_no_other_schema() -> None:
    spaced = pair(value={"type": "AVRO", "schema": ORDER.replace(" ", "\n  "), "name": "Order"})
    assert info_of(spaced) == info_of(pair())


def test_an_invalid_pair_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        info_of(pair(value={"type": "AVRO", "schema": '{\n "type": oops'}))
    assert caught.value.sentence.startswith("SYNTAX at $.value: ")
    assert "(line 2, column 10 of the value's schema)" in caught.value.sentence
    with pytest.raises(InvalidSchemaError, match="byte 0"):
        formats.parse(info_of(spec("KEY_VALUE")))


def test_only_protobuf_s_own_type_has_sources() -> None:
    assert sources_of(spec("PROTOBUF_NATIVE", protobuf=SOURCES)) is not None
    assert sources_of(spec("PROTOBUF_NATIVE", schema="{}")) is None
    assert sources_of(spec("AVRO", protobuf=SOURCES)) is None


def test_a_finding_about_the_text_of_a_pair_is_about_the_field_of_the_pair() -> None:
    large = Incompatibility("SCHEMA_TOO_LARGE", "spec.schema", "m")
    assert with_spec_field(large, pair()).path == "spec.keyValue"
    assert with_spec_field(large, spec("AVRO")) == large
    assert with_spec_field(replace(large, path="spec.type"), pair()).path == "spec.type"


@pytest.mark.parametrize(
    ("of", "path", "field"),
    [
        (spec("AVRO"), "$.fields[0]", "spec.schema"),
        (spec("PROTOBUF_NATIVE"), "$.rootMessageTypeName", "spec.schema"),
        (pair(), "$.key", "spec.keyValue.key.schema"),
        (pair(), "$.value.fields[2].type", "spec.keyValue.value.schema"),
        (pair(), "$", "spec.keyValue"),
        (spec("PROTOBUF_NATIVE", protobuf=SOURCES), "$.message", "spec.protobuf.message"),
        (spec("PROTOBUF_NATIVE", protobuf=SOURCES), '$.files["shop/order.proto"]', "spec.protobuf.files"),
        (spec("PROTOBUF_NATIVE", protobuf=SOURCES), "$.files", "spec.protobuf"),
        (spec("PROTOBUF_NATIVE", protobuf=SOURCES), "$.rootMessageTypeName", "spec.protobuf"),
    ],
)
def test_a_place_in_the_schema_is_a_field_of_the_resource(of: TopicSchemaSpec, path: str, field: str) -> None:
    assert field_of(of, path).startswith(field)
