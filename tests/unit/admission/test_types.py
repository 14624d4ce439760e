"""Reviews of schemas that are more than a text: pairs and protobuf's sources."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from support.kubernetes.admission import ID, NOTE, NOTE_WITH_DEFAULT, V0, Reply, World, record_schema

PROTO = 'syntax = "proto3";\npackage shop;\nmessage Order { string id = 1; }\n'


def pair(value: str, key: dict[str, Any] | None = None) -> dict[str, Any]:
    parts = {"key": key or {"type": "STRING"}, "value": {"type": "AVRO", "schema": value}}
    return {"type": "KEY_VALUE", "keyValue": {"encoding": "INLINE", **parts}}


async def create(world: World, **spec: Any) -> Reply:
    return await world.create("", **spec)


async def edit(world: World, before: dict[str, Any], after: dict[str, Any]) -> Reply:
    return await world.edit(world.resource(schema="", **before), **after)


async def test_a_pair_is_judged_part_by_part_and_the_refusal_names_the_part(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    reply = await edit(world, pair(V0), pair(record_schema(ID, NOTE)))
    (cause,) = reply.causes
    assert cause["field"] == "spec.keyValue.value.schema"
    assert cause["message"].startswith("FIELD_WITHOUT_DEFAULT at $.value.fields[1]: ")


async def test_a_pair_that_passes_is_allowed(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    assert (await edit(world, pair(V0), pair(record_schema(ID, NOTE_WITH_DEFAULT)))).is_allowed


async def test_a_part_that_does_not_parse_is_refused_at_its_field(world: World) -> None:
    await world.policy()
    (cause,) = (await create(world, **pair("{"))).causes
    assert cause["field"] == "spec.keyValue.value.schema"
    assert cause["message"].startswith("SYNTAX at $.value: ")


async def test_a_pair_over_the_policy_s_limit_is_refused_at_the_pair(world: World) -> None:
    await world.policy(constraints={"maxSchemaBytes": 10})
    (cause,) = (await create(world, **pair(V0))).causes
    assert cause["field"] == "spec.keyValue"
    assert cause["message"].startswith("SCHEMA_TOO_LARGE: ")


async def test_an_edit_of_the_encoding_alone_is_judged(world: World) -> None:
    await world.policy(constraints={"requiredProperties": ["owner"]})
    before = pair(V0)
    after = {"keyValue": {**before["keyValue"], "encoding": "SEPARATED"}}
    assert (await edit(world, before, after)).rules == ["PROPERTY_MISSING"]


def sources(text: str, message: str = "shop.Order") -> dict[str, Any]:
    return {"type": "PROTOBUF_NATIVE", "protobuf": {"message": message, "files": {"shop/order.proto": text}}}


async def test_sources_are_compiled_and_judged(world: World) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    renamed = PROTO.replace("Order", "Purchase")
    assert (await create(world, **sources(PROTO))).is_allowed
    reply = await edit(world, sources(PROTO), sources(renamed, "shop.Purchase"))
    (cause,) = reply.causes
    assert cause["field"] == "spec.protobuf"
    assert cause["message"].startswith("ROOT_MESSAGE_CHANGED at $.rootMessageTypeName: ")


async def test_sources_that_do_not_compile_are_refused_with_file_line_and_column(world: World) -> None:
    await world.policy()
    (cause,) = (await create(world, **sources(PROTO.replace("string id", "strin id")))).causes
    assert cause["field"] == "spec.protobuf.files[shop/order.proto]"
    assert cause["message"].startswith("INVALID_PROTO at line 3, column ")


async def test_sources_that_do_not_compile_are_refused_without_a_policy_too(world: World) -> None:
    assert (await create(world, **sources("message"))).rules == ["INVALID_PROTO"]


async def test_a_message_that_is_in_no_file_is_refused_at_its_field(world: World) -> None:
    await world.policy()
    (cause,) = (await create(world, **sources(PROTO, "shop.Ordre"))).causes
    assert cause["field"] == "spec.protobuf.message"
    assert "shop.Order" in cause["message"]


async def test_a_string_with_a_charset_is_allowed(world: World) -> None:
    await world.policy()
    assert (await create(world, type="STRING", properties={"__charset": "UTF-8"})).is_allowed


EXAMPLES = Path(__file__).parents[3] / "manifests" / "examples"


async def test_the_examples_are_admitted_without_a_warning(world: World) -> None:
    await world.policy(**yaml.safe_load((EXAMPLES / "namespaceschemapolicy.yaml").read_text())["spec"])
    examples = sorted(EXAMPLES.glob("topicschema*.yaml"))
    assert len(examples) == 3
    for path in examples:
        reply = await world.ask(yaml.safe_load(path.read_text()) | {"kind": "TopicSchema"})
        assert (path.name, reply.is_allowed, reply.warnings) == (path.name, True, [])


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"type": "KEY_VALUE", "keyValue": []}, "spec.keyValue", "must be an object, not a list"),
        ({"type": "KEY_VALUE", "keyValue": {}}, "spec.keyValue.encoding", "is required"),
        ({"type": "KEY_VALUE"}, "spec.schema", "KEY_VALUE_PAYLOAD at $.key"),
        (pair(V0, {"type": "KEY_VALUE"}), "spec.keyValue.key.schema", "NESTED_KEY_VALUE at $.key"),
        (pair(V0, {"type": "AUTO_CONSUME"}), "spec.keyValue.key.schema", "UNSUPPORTED_TYPE at $.key"),
        ({"type": "PROTOBUF_NATIVE", "protobuf": []}, "spec.protobuf", "must be an object, not a list"),
        ({"type": "PROTOBUF_NATIVE", "protobuf": {"message": "A"}}, "spec.protobuf.files", "is required"),
        ({"type": "PROTOBUF_NATIVE", "protobuf": {"message": "A", "files": {}}}, "spec.protobuf", "MISSING_FILE"),
        (
            {"type": "PROTOBUF_NATIVE", "protobuf": {"message": "A", "files": {"../a": ""}}},
            "spec.protobuf.files[../a]",
            "FILE_NAME",
        ),
        ({"type": "PROTOBUF_NATIVE"}, "spec.schema", "SYNTAX at line 1, column 1"),
        ({"type": "BYTES"}, "spec.type", "UNSUPPORTED_TYPE: "),
        ({"type": "NONE"}, "spec.type", "UNSUPPORTED_TYPE: "),
        ({"type": "AUTO_CONSUME"}, "spec.type", "UNSUPPORTED_TYPE: "),
        ({"type": "THRIFT"}, "spec.type", "must be one of"),
    ],
    ids=str,
)
async def test_what_bypassed_the_crd_is_refused_at_its_field(
    world: World, spec: dict[str, Any], field: str, words: str
) -> None:
    await world.policy()
    (cause,) = (await create(world, **spec)).causes
    assert cause["field"] == field
    assert words in cause["message"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (pair("x" * 1_200_000), "spec.keyValue"),
        (sources("x" * 1_200_000), "spec.protobuf"),
    ],
    ids=["a pair", "sources"],
)
async def test_what_is_too_large_is_refused_where_it_is(world: World, spec: dict[str, Any], field: str) -> None:
    (cause,) = (await create(world, **spec)).causes
    assert cause["field"] == field
    assert cause["message"].startswith("ObjectTooLarge: ")
