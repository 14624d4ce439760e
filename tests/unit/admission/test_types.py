"""Reviews of pairs, of protobuf's sources, and of types and members that a schema cannot have."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from support.kubernetes.admission import ID, NOTE, NOTE_WITH_DEFAULT, V0, Reply, World, record_schema

FILE = "shop/order.proto"
PROTO = 'syntax = "proto3";\npackage shop;\nmessage Order { string id = 1; }\n'
VALUE = "spec.keyValue.value.schema"
EXAMPLES = Path(__file__).parents[3] / "manifests" / "examples"


def pair(value: str, key: dict[str, Any] | None = None) -> dict[str, Any]:
    parts = {"key": key or {"type": "STRING"}, "value": {"type": "AVRO", "schema": value}}
    return {"type": "KEY_VALUE", "keyValue": {"encoding": "INLINE", **parts}}


def sources(text: str, message: str = "shop.Order") -> dict[str, Any]:
    return native({"message": message, "files": {FILE: text}})


def native(protobuf: Any) -> dict[str, Any]:
    return {"type": "PROTOBUF_NATIVE", "protobuf": protobuf}


async def create(world: World, **spec: Any) -> Reply:
    return await world.create(**{"schema": "", **spec})


async def edit(world: World, before: dict[str, Any], after: dict[str, Any]) -> Reply:
    return await world.edit(world.resource(schema="", **before), **after)


@pytest.mark.parametrize(
    ("before", "after", "field", "words"),
    [
        (pair(V0), pair(record_schema(ID, NOTE)), VALUE, "FIELD_WITHOUT_DEFAULT at $.value.fields[1]: "),
        (pair(V0), pair(record_schema(ID, NOTE_WITH_DEFAULT)), None, ""),
        (
            sources(PROTO),
            sources(PROTO.replace("Order", "Purchase"), "shop.Purchase"),
            "spec.protobuf",
            "ROOT_MESSAGE_CHANGED at $.rootMessageTypeName: ",
        ),
        (sources(PROTO), sources(PROTO + "message More {}"), None, ""),
    ],
)
async def test_parts_and_sources_are_judged(
    world: World, before: dict[str, Any], after: dict[str, Any], field: str | None, words: str
) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    reply = await edit(world, before, after)
    assert reply.is_allowed is (field is None)
    if field is not None:
        (cause,) = reply.causes
        assert cause["field"] == field
        assert cause["message"].startswith(words)


async def test_constraints_of_a_pair_are_checked_for_each_edit_of_it(world: World) -> None:
    await world.policy(constraints={"maxSchemaBytes": 10})
    (cause,) = (await create(world, **pair(V0))).causes
    assert (cause["field"], cause["message"].split(":")[0]) == ("spec.keyValue", "SCHEMA_TOO_LARGE")
    encoding = {"keyValue": {**pair(V0)["keyValue"], "encoding": "SEPARATED"}}
    assert (await edit(world, pair(V0), encoding)).rules == ["SCHEMA_TOO_LARGE"]


async def test_sources_that_do_not_compile_are_refused_without_a_policy_too(world: World) -> None:
    assert (await create(world, **sources("message"))).rules == ["INVALID_PROTO"]


async def test_a_string_with_a_charset_is_allowed(world: World) -> None:
    await world.policy()
    assert (await create(world, type="STRING", properties={"__charset": "UTF-8"})).is_allowed


async def test_the_examples_are_admitted_without_a_warning(world: World) -> None:
    spec = yaml.safe_load((EXAMPLES / "namespaceschemapolicy.yaml").read_text())["spec"]
    await world.policy(**{**spec, "registry": "pulsar"})
    examples = sorted(EXAMPLES.glob("topicschema*.yaml"))
    assert len(examples) == 3
    for path in examples:
        reply = await world.review(yaml.safe_load(path.read_text()) | {"kind": "TopicSchema"})
        assert (path.name, reply.is_allowed, reply.warnings) == (path.name, True, [])


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        (pair("{"), VALUE, "SYNTAX at $.value: "),
        (sources(PROTO.replace("string", "strin")), f"spec.protobuf.files[{FILE}]", "INVALID_PROTO at line 3, column "),
        (sources(PROTO, "shop.Ordre"), "spec.protobuf.message", "shop.Order"),
        (pair("x" * 1_200_000), "spec.keyValue", "ObjectTooLarge: "),
        (sources("x" * 1_200_000), "spec.protobuf", "ObjectTooLarge: "),
        ({"type": "KEY_VALUE", "keyValue": []}, "spec.keyValue", "must be an object, not a list"),
        ({"type": "KEY_VALUE", "keyValue": {}}, "spec.keyValue.encoding", "is required"),
        ({"type": "KEY_VALUE"}, "spec.schema", "KEY_VALUE_PAYLOAD at $.key"),
        (pair(V0, {"type": "KEY_VALUE"}), "spec.keyValue.key.schema", "NESTED_KEY_VALUE at $.key"),
        (pair(V0, {"type": "AUTO_CONSUME"}), "spec.keyValue.key.schema", "UNSUPPORTED_TYPE at $.key"),
        (native([]), "spec.protobuf", "must be an object, not a list"),
        (native({"message": "A"}), "spec.protobuf.files", "is required"),
        (native({"message": "A", "files": {}}), "spec.protobuf", "MISSING_FILE"),
        (native({"message": "A", "files": {"../a": ""}}), "spec.protobuf.files[../a]", "FILE_NAME"),
        (native(None), "spec.schema", "SYNTAX at line 1, column 1"),
        ({"type": "BYTES"}, "spec.type", "UNSUPPORTED_TYPE: "),
        ({"type": "NONE"}, "spec.type", "UNSUPPORTED_TYPE: "),
        ({"type": "AUTO_CONSUME"}, "spec.type", "UNSUPPORTED_TYPE: "),
        ({"type": "THRIFT"}, "spec.type", "must be one of"),
        ({"type": 3}, "spec.type", "must be a text"),
        ({"schema": {"type": "string"}}, "spec.schema", "must be a text"),
        ({"type": "INT32", "schema": '"int"'}, "spec.schema", "PRIMITIVE_HAS_SCHEMA"),
        ({"type": "STRING", "properties": {"owner": 7}}, "spec.properties[owner]", "must be a text"),
        ({"schemaCompatibilityStrategy": "full"}, "spec.schemaCompatibilityStrategy", "write FULL"),
        ({"suspend": "yes"}, "spec.suspend", "must be true or false"),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_an_invalid_schema_or_member_is_refused_at_its_field(
    world: World, spec: dict[str, Any], field: str, words: str
) -> None:
    await world.policy()
    (cause,) = (await create(world, **spec)).causes
    assert cause["field"] == field
    assert words in cause["message"]
