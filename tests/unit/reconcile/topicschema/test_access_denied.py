"""Topics and a policy whose broker denies access: each is tried again by back-off, whatever becomes of the others."""

from collections.abc import AsyncIterator

import pytest

from support.kubernetes.passes import run_due
from support.kubernetes.topic import World, opened
from support.schemas.examples import record
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.work_queue import Key, Result, WorkQueue
from topicschema.reconcile.topicschema.reconciler import TopicSchemas

LONGEST = 300.0
RESYNC = 100_000.0
KEYS = (
    *(Key(TOPIC_SCHEMA.plural, "shop", name) for name in "abc"),
    Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders"),
)


class Shop:
    """Three topics of one policy in a work queue, by a clock that only moves to when a key is due."""

    def __init__(self, world: World) -> None:
        self.broker = world.broker
        self.now = 0.0
        self.done: dict[Key, float] = {}
        self.topics, self.policies = TopicSchemas(world.ctx), NamespaceSchemaPolicies(world.ctx, 0.0)
        self.queue = WorkQueue(self._reconcile, RESYNC, clock=lambda: self.now, chance=lambda: 1.0)
        world.ctx.index.are_topics_listed = True
        world.allow_claims()
        schema = record("id").info.schema.decode()
        for key in KEYS[:-1]:
            spec = {"topic": f"persistent://shop/orders/{key.name}", "type": "AVRO", "schema": schema}
            world.api.put(TOPIC_SCHEMA, "shop", key.name, {"spec": spec})

    async def _reconcile(self, key: Key) -> Result:
        kind = self.topics if key.plural == TOPIC_SCHEMA.plural else self.policies
        result = await kind.reconcile(key)
        if result is Result.DONE:
            self.done[key] = self.now
        return result

    async def until(self, time: float) -> None:
        """Reconcile what is due by then."""
        while self.queue.next_due is not None and self.queue.next_due <= time:
            self.now = max(self.now, self.queue.next_due)
            await run_due(self.queue)
        self.now = time


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    async with opened() as world:
        yield Shop(world)


@pytest.mark.parametrize("is_registered", [False, True])
async def test_who_was_denied_access_is_reconciled_within_five_minutes_of_getting_it(
    shop: Shop,
    is_registered: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    shop.broker.is_shut = not is_registered
    for key in KEYS:
        shop.queue.add(key)
    await shop.until(0.0)
    assert set(shop.done) == (set(KEYS) if is_registered else set())
    shop.broker.is_shut = True
    for key in KEYS:
        shop.queue.add(key)
    await shop.until(900.0)
    shop.done.clear()
    shop.broker.is_shut = False
    await shop.until(900.0 + LONGEST)
    assert set(shop.done) == set(KEYS)
