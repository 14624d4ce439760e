"""The conflicts that a policy's status counts: which versions are checked, how much is read, and after a restart.

A policy is reconciled at a fake API server and a broker in memory.
"""

import asyncio
from dataclasses import replace

import pytest

from support.kubernetes.stores import on_both_stores
from support.kubernetes.topic import World
from support.schemas.examples import record
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.api.policies import HistoryCheck, NamespaceSchemaPolicyStatus
from topicschema.cluster.errors import ConflictError
from topicschema.core.schemas import Schema
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic, TopicKey
from topicschema.reconcile.policy import history_conflicts
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.object_index import ObjectIndex, TopicSummary
from topicschema.reconcile.runtime.work_queue import Key

pytestmark = on_both_stores

KEY = Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders")
READS = {"get_history", "list_topics"}
PENDING = Key(TOPIC_SCHEMA.plural, "shop", "pending")


def topic_key(name: str) -> TopicKey:
    return TopicKey("pulsar", Topic("shop", "orders", name))


async def store_versions(world: World, name: str, *schemas: Schema) -> None:
    """Store these versions, by default two of which the second conflicts, and index the topic's resource."""
    history = await world.store_versions(*(schemas or (record("id"), record("other"))), key=topic_key(name))
    index_topic(world, name, latest=history.next_version - 1)


def index_topic(world: World, name: str, strategy: Strategy | None = None, latest: int | None = None) -> None:
    """Index the topic, as a reconcile of its resource does."""
    key = topic_key(name)
    summary = TopicSummary(str(key.topic), "shop/orders", key, strategy, latest)
    world.ctx.index.update_topic(Key(TOPIC_SCHEMA.plural, "shop", name), summary)


async def status(world: World, policies: NamespaceSchemaPolicies) -> NamespaceSchemaPolicyStatus:
    """Return the status after a reconcile."""
    await policies.reconcile(KEY)
    return (await world.ctx.policies.resolve("shop", "shop/orders")).resource.status


def restarted(world: World) -> NamespaceSchemaPolicies:
    """Return another controller, which has not reconciled all topics yet."""
    world.ctx = replace(world.ctx, index=ObjectIndex())
    world.ctx.index.are_topics_listed = True
    world.ctx.index.known[TOPIC_SCHEMA.plural].add(PENDING)
    return NamespaceSchemaPolicies(world.ctx, 600.0)


def index_all(world: World, *names: str) -> None:
    """Index all topics after a restart."""
    for name in names:
        index_topic(world, name)
    world.ctx.index.remove_topic(PENDING)


@pytest.mark.parametrize("is_edit", [True, False], ids=["an edited policy", "other settings of the broker"])
async def test_conflicts_are_counted_although_a_controller_ends_after_its_first_reconcile(
    world: World, *, is_edit: bool
) -> None:
    def set_strategy(strategy: str) -> None:
        if is_edit:
            world.set_policy(schemaCompatibilityStrategy=strategy)
        else:
            world.broker.settings["schema_compatibility_strategy"] = strategy

    set_strategy("ALWAYS_COMPATIBLE")
    await store_versions(world, "created")
    first = await status(world, NamespaceSchemaPolicies(world.ctx, 600.0))
    assert first.history_conflict_count == 0
    set_strategy("FULL")
    unchecked = await status(world, restarted(world))
    assert (unchecked.observed_generation, unchecked.history_check) == (first.observed_generation, None)
    policies = restarted(world)
    await policies.reconcile(KEY)
    index_all(world, "created")
    done = await status(world, policies)
    assert (done.observed_generation, done.history_conflict_count) == (3 if is_edit else 1, 1)


async def test_a_check_that_is_stopped_in_the_middle_is_done_by_the_next_controller(world: World) -> None:
    world.set_policy(schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
    names = [f"t{number}" for number in range(6)]
    for name in names:
        await store_versions(world, name)
    await NamespaceSchemaPolicies(world.ctx, 600.0).reconcile(KEY)
    world.set_policy(schemaCompatibilityStrategy="FULL")
    policies = restarted(world)
    index_all(world, *names)
    world.storage.calls.clear()
    running = asyncio.create_task(policies.reconcile(KEY))
    while world.storage.calls.count("get_history") < 3:
        assert not running.done()
        world.storage.was_called.clear()
        await world.storage.was_called.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert running.cancelled()
    policies = restarted(world)
    assert (await status(world, policies)).observed_generation == 2
    index_all(world, *names)
    done = await status(world, policies)
    assert (done.observed_generation, done.history_conflict_count) == (3, 6)
    assert done.history_check == HistoryCheck(total=6, checked=6)


async def test_conflicts_are_right_though_the_policy_was_edited_while_its_status_was_written(world: World) -> None:
    await store_versions(world, "created")
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    world.api.refusals["PUT /apis/topicschema.io/v1alpha1/namespaces/shop/namespaceschemapolicies"] = 409
    world.api.refusals["PATCH /apis/topicschema.io/v1alpha1/namespaces/shop/namespaceschemapolicies"] = 409
    with pytest.raises(ConflictError):
        await policies.reconcile(KEY)
    world.api.refusals.clear()
    assert (await status(world, policies)).history_conflict_count == 1


async def test_only_the_newest_version_is_checked_and_a_new_one_that_passes_ends_the_conflict(world: World) -> None:
    world.set_policy(schemaCompatibilityStrategy="BACKWARD")
    await store_versions(world, "created", record("id"), record("other"), record("other", "more?"))
    await store_versions(world, "refused", record("id"), record("id"), record("other"))
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    first = await status(world, policies)
    assert [(each.name, each.schema_version) for each in first.history_conflicts] == [("refused", 2)]
    await store_versions(world, "refused", record("other", "more?"))
    policies = restarted(world)
    index_all(world, "created")
    index_topic(world, "refused", latest=3)
    assert (await status(world, policies)).history_conflict_count == 0


async def test_a_topic_that_changes_its_strategy_has_only_its_own_history_read(world: World) -> None:
    for name in ("one", "two", "three"):
        await store_versions(world, name)
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    assert (await status(world, policies)).history_conflict_count == 3
    world.storage.calls.clear()
    index_topic(world, "two", Strategy.ALWAYS_COMPATIBLE)
    assert [each.name for each in (await status(world, policies)).history_conflicts] == ["one", "three"]
    assert READS & set(world.storage.calls) == {"get_history"}
    assert world.storage.calls.count("get_history") == 1


async def test_a_strategy_that_a_topic_drops_counts_at_the_next_resync(world: World) -> None:
    for name in ("one", "two"):
        await store_versions(world, name)
    index_topic(world, "two", Strategy.ALWAYS_COMPATIBLE)
    seconds = [0.0]
    world.ctx = replace(world.ctx, clock=lambda: seconds[0])
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    counts = []
    for second in (0.0, 599.0, 600.0, 601.0):
        seconds[0] = second
        counts.append((await status(world, policies)).history_conflict_count)
        index_topic(world, "two")
    assert counts == [1, 1, 2, 2]
    world.storage.calls.clear()
    await policies.reconcile(KEY)
    assert not READS & set(world.storage.calls)


async def test_a_status_with_too_many_conflicts_lists_others_when_some_are_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_conflicts, "_LISTED", 1)
    for name in ("one", "two"):
        await store_versions(world, name)
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    for over, left in ((None, (["one"], 2)), ("one", (["two"], 1)), ("two", ([], 0))):
        if over is not None:
            await store_versions(world, over, record("other", "more?"))
        current = await status(world, policies)
        names = [each.name for each in current.history_conflicts]
        assert (names, current.history_conflict_count) == left


async def test_histories_beyond_the_limit_are_counted_and_not_checked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_conflicts, "_MOST_VERSIONS", 2)
    for number in range(5):
        await store_versions(world, f"t{number}")
    current = await status(world, NamespaceSchemaPolicies(world.ctx, 600.0))
    assert (current.history_check, current.history_conflict_count) == (HistoryCheck(total=5, checked=2), 2)


async def test_histories_are_read_one_by_one(world: World) -> None:
    schemas = [record(f"f{number}?") for number in range(100)]
    for number in range(10):
        await store_versions(world, f"t{number}", *schemas)
    world.storage.most.clear()
    await NamespaceSchemaPolicies(world.ctx, 600.0).reconcile(KEY)
    assert world.storage.most["get_history"] == 1


async def test_conflicts_change_with_the_settings_of_the_broker_and_the_strategy_of_the_topic(world: World) -> None:
    await store_versions(world, "created")
    policies = NamespaceSchemaPolicies(world.ctx, 0.0)
    counts = [(await status(world, policies)).history_conflict_count]
    for strategy in ("ALWAYS_COMPATIBLE", "FULL"):
        world.broker.settings["schema_compatibility_strategy"] = strategy
        counts.append((await status(world, policies)).history_conflict_count)
    index_topic(world, "created", Strategy.ALWAYS_COMPATIBLE)
    counts.append((await status(world, policies)).history_conflict_count)
    assert counts == [1, 0, 1, 0]


@pytest.mark.parametrize("is_holder_first", [True, False])
async def test_the_strategy_of_the_resource_that_holds_the_topic_counts(world: World, *, is_holder_first: bool) -> None:
    await store_versions(world, "created")
    holder = world.ctx.index.summary(Key(TOPIC_SCHEMA.plural, "shop", "created"))
    assert holder is not None
    summaries = {
        "created": replace(holder, strategy=Strategy.ALWAYS_COMPATIBLE),
        "second": replace(holder, lost_claim=True),
    }
    for name in sorted(summaries, reverse=not is_holder_first):
        world.ctx.index.update_topic(Key(TOPIC_SCHEMA.plural, "shop", name), summaries[name])
    policies = NamespaceSchemaPolicies(world.ctx, 0.0)
    assert (await status(world, policies)).history_conflict_count == 0
    world.ctx.index.remove_topic(Key(TOPIC_SCHEMA.plural, "shop", "created"))
    for strategy, count in ((None, 1), (Strategy.ALWAYS_COMPATIBLE, 0)):
        second = replace(holder, strategy=strategy)
        world.ctx.index.update_topic(Key(TOPIC_SCHEMA.plural, "shop", "second"), second)
        assert (await status(world, policies)).history_conflict_count == count
