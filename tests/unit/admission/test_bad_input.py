"""What a user, or something that bypassed the CRD, may send: a clear refusal with its place, never a 500."""

import json
from typing import Any

import pytest

from support.kubernetes.admission import TOPIC, World, as_go_writes, new_topic

FIELD = {"name": "a", "type": "string"}


def record(**members: Any) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [FIELD], **members})


DEEP = '{"type":"array","items":' * 10_000 + '"string"' + "}" * 10_000

TEXTS = {
    "no JSON": ("{", "SYNTAX at line 1, column 2"),
    "no JSON in line 3": ('{\n "type": "record",\n oops', "SYNTAX at line 3, column 2"),
    "empty": ("", "SYNTAX at line 1, column 1"),
    "JSON but not Avro": ('{"some": "thing"}', "$"),
    "an unknown type": (record(fields=[{"name": "a", "type": "strin"}]), "$.fields[0].type"),
    "an undefined name": (record(fields=[{"name": "a", "type": "com.shop.Nowhere"}]), "$.fields[0].type"),
    "a union in a union": (record(fields=[{"name": "a", "type": ["null", ["int", "string"]]}]), "$.fields[0].type[1]"),
    "duplicate fields": (record(fields=[FIELD, FIELD]), "$.fields[1]"),
    "a bad default": (record(fields=[{**FIELD, "default": 7}]), "INVALID_DEFAULT at $.fields[0].default"),
    "10,000 levels": (DEEP, "TOO_DEEP at line 1, column"),
    "a number as a name": (record(name=7), "$.name"),
    "a number as a field's name": (record(fields=[{"name": 7, "type": "int"}]), "$.fields[0].name"),
    "a NUL": ('"str\0ing"', "SYNTAX at line 1, column 5"),
    "a NUL, escaped": (record(name="R\0"), "INVALID_NAME at $.name"),
    "what is left of a lone surrogate": (record(name="R\ufffd"), "INVALID_NAME at $.name"),
    "a lone surrogate, escaped": ('{"type":"record","name":"R\\ud800","fields":[]}', "INVALID_NAME at $.name"),
    "a long name": (record(name="secret " * 10_000), "$.name"),
    "fields that are no list": (record(fields={"a": 1}), "$.fields"),
}


@pytest.mark.parametrize("name", TEXTS)
async def test_a_text_that_is_no_schema_is_refused_with_its_place(world: World, name: str) -> None:
    text, place = TEXTS[name]
    reply = await world.create(text)
    assert [cause["field"] for cause in reply.causes] == ["spec.schema"]
    assert place in reply.causes[0]["message"]
    assert place in reply.refusal["message"]
    assert len(reply.text) < 4_000


TOPICS = {
    "a v1 name": "persistent://shop/cluster/orders/created",
    "a short name": "created",
    "a partition": f"{TOPIC}-partition-3",
    "an escaped name": "persistent://shop/orders/a%2Fb",
    "no topic": "",
    "a line break": "persistent://shop/orders/cre\nated",
}


@pytest.mark.parametrize("name", TOPICS)
async def test_a_topic_in_another_spelling_is_refused(world: World, name: str) -> None:
    reply = await world.create(topic=TOPICS[name])
    assert [cause["field"] for cause in reply.causes] == ["spec.topic"]
    assert reply.rules == ["InvalidTopic"]


SPECS: dict[str, tuple[Any, str]] = {
    "no spec": (None, "spec"),
    "a spec that is a list": ([1], "spec"),
    "no topic": ({"type": "AVRO"}, "spec.topic"),
    "a type that is a number": ({"topic": TOPIC, "type": 3}, "spec.type"),
    "a type nobody knows": ({"topic": TOPIC, "type": "THRIFT"}, "spec.type"),
    "a type that is only a client's": ({"topic": TOPIC, "type": "AUTO_CONSUME"}, "spec.type"),
    "a type that blocks the topic": ({"topic": TOPIC, "type": "BYTES"}, "spec.type"),
    "a schema that is an object": ({"topic": TOPIC, "type": "AVRO", "schema": {"type": "string"}}, "spec.schema"),
    "a primitive with a schema": ({"topic": TOPIC, "type": "INT32", "schema": '"int"'}, "spec.schema"),
    "properties with numbers": (
        {"topic": TOPIC, "type": "STRING", "properties": {"owner": 7}},
        "spec.properties[owner]",
    ),
    "a strategy in lower case": (
        {"topic": TOPIC, "type": "STRING", "schemaCompatibilityStrategy": "full"},
        "spec.schemaCompatibilityStrategy",
    ),
    "suspend that is a text": ({"topic": TOPIC, "type": "STRING", "suspend": "yes"}, "spec.suspend"),
}


@pytest.mark.parametrize("name", SPECS)
async def test_an_object_that_bypassed_the_crd_is_refused_at_its_field(world: World, name: str) -> None:
    spec, field = SPECS[name]
    reply = await world.review(new_topic(spec))
    assert [cause["field"] for cause in reply.causes] == [field]


async def test_an_old_object_that_bypassed_the_crd_does_not_stand_in_the_way_of_its_repair(world: World) -> None:
    await world.policy()
    assert (await world.review(new_topic({"topic": TOPIC, "type": "STRING"}), new_topic([1, 2]))).is_allowed


@pytest.mark.parametrize(("filler", "count"), [("x", 1_200_000), ("<", 210_000), ("é", 600_000)])
async def test_an_object_too_large_to_be_stored_is_refused_by_its_encoded_size(
    world: World, filler: str, count: int
) -> None:
    reply = await world.create(record(doc=filler * count))
    assert reply.rules == ["ObjectTooLarge"]
    assert reply.causes[0]["field"] == "spec.schema"


async def test_a_large_schema_within_the_limit_is_judged(world: World) -> None:
    await world.policy()
    assert (await world.create(record(doc="x" * 1_000_000))).is_allowed


async def test_a_review_with_both_objects_at_their_largest_is_read(world: World) -> None:
    old = new_topic({"topic": TOPIC, "type": "AVRO", "schema": record(doc="<" * 250_000)})
    wanted = new_topic({"topic": TOPIC, "type": "AVRO", "schema": record(doc="<" * 900_000)})
    body = {"request": {"uid": "1", "kind": {"kind": "TopicSchema"}, "object": wanted, "oldObject": old}}
    escaped = as_go_writes(body)
    assert len(escaped) > 6_500_000
    assert (await world.post(escaped)).rules == ["ObjectTooLarge"]
