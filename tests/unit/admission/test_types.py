"""Reviews of schemas that are more than a text: pairs, protobuf's sources, and a broker of another line."""

from typing import Any

from admission_world import ID, NOTE, NOTE_WITH_DEFAULT, V0, Reply, World, record_schema

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
