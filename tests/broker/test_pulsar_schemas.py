"""The fake broker in memory responds as the real one does, whatever happens to a topic.

Each step is four requests to the real one: of 25 histories a strategy `make test` has six.
"""

import itertools
import random

import pytest

from support.kubernetes.watched_namespace import text
from support.pulsar.rest_topic import RestTopic
from support.pulsar.schema_service import PulsarSchemas, RefusedError
from support.sizes import sized
from testbed.pulsar import Pulsar
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

pytestmark = pytest.mark.broker

_TEXTS = (
    ("AVRO", text("id")),
    ("AVRO", text("id", "a?")),
    ("AVRO", text("id", "a?", doc="other")),
    ("AVRO", text("id", "b")),
    ("AVRO", text("id").replace('"type": "string"}', '"type": "string", "default": null}')),
    ("AVRO", "{}"),
    ("JSON", text("id")),
    ("STRING", ""),
    ("STRING", "null"),
    ("INT32", ""),
)
_STEPS = 14
_HISTORIES = sized(6, 25)


def apply_step(topic: RestTopic, memory: PulsarSchemas, dice: random.Random) -> tuple[object, object]:
    """Apply one step to both. Return their responses."""
    step = dice.random()
    if step < 0.08:
        return topic.delete(), memory.soft_delete(topic.name)
    if step < 0.12:
        memory.force_delete(topic.name)
        return topic.delete(force=True), -1
    kind, schema = dice.choice(_TEXTS)
    answer = topic.upload(schema, kind)
    real = answer.json["version"]["version"] if answer.status == 200 else (answer.status,)
    try:
        return real, memory.upload(topic.name, SchemaInfo(SchemaType(kind), schema.encode()))
    except RefusedError as refused:
        return real, (refused.status,)


@pytest.mark.parametrize(
    "strategy", [Strategy.FULL, Strategy.BACKWARD, Strategy.FULL_TRANSITIVE, Strategy.ALWAYS_COMPATIBLE]
)
def test_the_broker_in_memory_answers_as_the_real_one(
    pulsar: Pulsar, pulsar_namespace: str, strategy: Strategy
) -> None:
    pulsar.tell("PUT", f"/namespaces/{pulsar_namespace}/schemaCompatibilityStrategy", strategy.value)
    ticks = itertools.count()
    memory = PulsarSchemas(lambda: str(next(ticks)), strategy)
    for seed in range(_HISTORIES):
        dice, topic = random.Random(seed), RestTopic(pulsar, pulsar_namespace, f"x{seed}")  # noqa: S311 - a dice
        for _ in range(_STEPS):
            real, fake = apply_step(topic, memory, dice)
            assert real == fake, (strategy, seed)
            assert topic.versions() == [version.schema_version for version in memory.served(topic.name)]
            assert tuple(topic.index() or ()) == memory.index(topic.name)
