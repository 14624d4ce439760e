"""Bad input, also of clients that bypassed the CRD: refused with its place, never a 500.

The tables of core's parser have each mistake in a schema, tests/cluster/test_bad_input.py a real API server.
"""

import json
from typing import Any

import pytest

from support.kubernetes.admission import TOPIC, World, as_go_writes, new_topic

DEEP = '{"type":"array","items":' * 10_000 + '"string"' + "}" * 10_000


def record(**members: Any) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}], **members})


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{\n "type": "record",\n oops', "SYNTAX at line 3, column 2"),
        ("", "SYNTAX at line 1, column 1"),
        (record(fields=[{"name": "a", "type": "string", "default": 7}]), "INVALID_DEFAULT at $.fields[0].default"),
        (DEEP, "TOO_DEEP at line 1, column"),
        ('{"type":"record","name":"R\\ud800","fields":[]}', "INVALID_NAME at $.name"),  # a lone surrogate
        (record(name="secret " * 10_000), "$.name"),
    ],
    ids=lambda text: text[:40],
)
async def test_a_text_that_is_no_schema_is_refused_with_its_place(world: World, text: str, place: str) -> None:
    reply = await world.create(text)
    assert [cause["field"] for cause in reply.causes] == ["spec.schema"]
    assert place in reply.causes[0]["message"]
    assert place in reply.refusal["message"]
    assert len(reply.text) < 4_000


@pytest.mark.parametrize("topic", ["", "created", f"{TOPIC}-partition-3", "persistent://shop/orders/cre\nated"])
async def test_a_topic_in_another_spelling_is_refused(world: World, topic: str) -> None:
    reply = await world.create(topic=topic)
    assert [cause["field"] for cause in reply.causes] == ["spec.topic"]
    assert reply.rules == ["InvalidTopic"]


@pytest.mark.parametrize("spec", [None, [1]])
async def test_an_object_without_a_spec_is_refused(world: World, spec: Any) -> None:
    assert [cause["field"] for cause in (await world.review(new_topic(spec))).causes] == ["spec"]


async def test_an_old_object_that_bypassed_the_crd_does_not_block_its_repair(world: World) -> None:
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
    old, new = (
        new_topic({"topic": TOPIC, "type": "AVRO", "schema": record(doc="<" * length)}) for length in (250_000, 900_000)
    )
    body = {"request": {"uid": "1", "kind": {"kind": "TopicSchema"}, "object": new, "oldObject": old}}
    escaped = as_go_writes(body)
    assert len(escaped) > 6_500_000
    assert (await world.post(escaped)).rules == ["ObjectTooLarge"]
