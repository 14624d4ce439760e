"""A TopicSchema under deletionPolicy Delete: what it holds on record, and what its deletion begins with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from support.kubernetes.topic import TOPIC, World, opened
from support.schemas.examples import record
from topicschema.api import FINALIZER
from topicschema.api.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, TOPIC_SCHEMA
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.core import plan
from topicschema.core.history import Counter, History, Origin, Owner
from topicschema.core.schemas import Schema
from topicschema.core.topics import Topic, TopicKey
from topicschema.reconcile.topicschema.deletion import gather_deletion
from topicschema.storage.protocol import Stored

KEY = TopicKey("pulsar", Topic("shop", "orders", TOPIC))
ONE, TWO, OTHER = record("id"), record("id", "a?"), record("other")


@asynccontextmanager
async def in_a_namespace() -> AsyncIterator[World]:
    """A topic in a Kubernetes namespace that is there to stay, as is the CRD."""
    async with opened() as world:
        world.api.put(CUSTOM_RESOURCE_DEFINITION, "", TOPIC_SCHEMA.crd_name, {})
        world.api.put(NAMESPACE, "", "shop", {})
        yield world


def resource(world: World, schema: Schema, **spec: Any) -> dict[str, Any]:
    text = schema.info.schema.decode()
    written = {"topic": f"persistent://{KEY.topic}", "type": schema.info.type.value, "schema": text}
    return world.api.put(TOPIC_SCHEMA, "shop", "created", {"spec": {**written, "deletionPolicy": "Delete", **spec}})


async def holds(
    world: World,
    wire: dict[str, Any],
    *schemas: Schema,
    counted_by: Counter = Counter.OPERATOR,
    others: int = 0,
    uncounted: int = 0,
) -> None:
    """The resource holds the topic, and these are on record, as registered without a broker unless it counted them.

    The first `others` of them came from elsewhere, the last `uncounted` since the broker counted.
    """
    history = History(KEY, counted_by=counted_by).claimed_by(Owner("shop", "created", wire["metadata"]["uid"]))
    for turn, schema in enumerate(schemas):
        origin = Origin.BROKER if turn < others else Origin.SPEC
        history = history.with_version(schema, origin, "2026-11-20T00:00:00Z")
    history = replace(history, uncounted=uncounted)
    await world.ctx.storage.put(Stored(History(KEY)), history, tuple(schema.info for schema in schemas))


def ready_to_go(wire: dict[str, Any]) -> TopicSchema:
    """The resource whose finalizer is there already."""
    return decode(TopicSchema, {**wire, "metadata": {**wire["metadata"], "finalizers": [FINALIZER]}})


def going(wire: dict[str, Any]) -> dict[str, Any]:
    """The resource in its deletion, which began long ago."""
    metadata = {**wire["metadata"], "finalizers": [FINALIZER], "deletionTimestamp": "2026-11-01T00:00:00Z"}
    return {**wire, "metadata": metadata}


async def first(world: World, wire: dict[str, Any]) -> plan.DeletionAction:
    """What a deletion begins with."""
    seen = await gather_deletion(world.ctx, going(wire))
    assert seen is not None
    return seen.planned
