"""The conflicts that a policy's status counts: which versions are checked, how much is read, and what a restart leaves.

Passes over a policy at a played API server and a broker in memory.
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
from topicschema.core.history import Origin
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
UNSEEN = Key(TOPIC_SCHEMA.plural, "shop", "unseen")


async def on_record(world: World, name: str, *schemas: Schema) -> None:
    """These are the next versions of the topic, and a pass was over its resource."""
    key = TopicKey("pulsar", Topic("shop", "orders", name))
    stored = await world.ctx.storage.get_history(key)
    history = stored.history
    for schema in schemas:
        history = history.with_version(schema, Origin.BROKER, "2026-11-21T00:00:00Z")
    await world.ctx.storage.put(stored, history, tuple(schema.info for schema in schemas))
    sees(world, name, latest=history.next_version - 1)


def sees(world: World, name: str, strategy: Strategy | None = None, latest: int | None = None) -> None:
    key = TopicKey("pulsar", Topic("shop", "orders", name))
    summary = TopicSummary(str(key.topic), "shop/orders", key, strategy, latest)
    world.ctx.index.update_topic(Key(TOPIC_SCHEMA.plural, "shop", name), summary)


def edit(world: World, **spec: object) -> None:
    """Somebody changes the policy."""

    def edited(wire: dict[str, dict[str, object]]) -> None:
        wire["spec"].update(spec)
        wire["metadata"]["generation"] = int(str(wire["metadata"]["generation"])) + 1

    world.api.change("/namespaceschemapolicies/orders", edited)


async def status(world: World, policies: NamespaceSchemaPolicies) -> NamespaceSchemaPolicyStatus:
    """Return the status after a reconcile."""
    await policies.reconcile(KEY)
    return (await world.ctx.policies.resolve("shop", "shop/orders")).resource.status


def restarted(world: World) -> NamespaceSchemaPolicies:
    """Another controller, which knows of a topic that no pass has reached yet."""
    world.ctx = replace(world.ctx, index=ObjectIndex())
    world.ctx.index.are_topics_listed = True
    world.ctx.index.known[TOPIC_SCHEMA.plural].add(UNSEEN)
    return NamespaceSchemaPolicies(world.ctx, 600.0)


def all_seen(world: World, *names: str) -> None:
    """Passes reach the topics after a restart."""
    for name in names:
        sees(world, name)
    world.ctx.index.remove_topic(UNSEEN)


@pytest.mark.parametrize("is_edit", [True, False], ids=["an edited policy", "other settings of the broker"])
async def test_conflicts_are_found_although_a_controller_ends_after_its_first_reconcile(
    world: World, *, is_edit: bool
) -> None:
    def set_strategy(strategy: str) -> None:
        if is_edit:
            edit(world, schemaCompatibilityStrategy=strategy)
        else:
            world.broker.settings["schema_compatibility_strategy"] = strategy

    set_strategy("ALWAYS_COMPATIBLE")
    await on_record(world, "created", record("id"), record("other"))
    first = await status(world, NamespaceSchemaPolicies(world.ctx, 600.0))
    assert first.history_conflict_count == 0
    set_strategy("FULL")
    unchecked = await status(world, restarted(world))
    assert (unchecked.observed_generation, unchecked.history_check) == (first.observed_generation, None)
    policies = restarted(world)
    await policies.reconcile(KEY)
    all_seen(world, "created")
    done = await status(world, policies)
    assert (done.observed_generation, done.history_conflict_count) == (3 if is_edit else 1, 1)


async def test_a_check_that_is_stopped_in_the_middle_is_done_by_the_next_controller(world: World) -> None:
    edit(world, schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
    names = [f"t{number}" for number in range(6)]
    for name in names:
        await on_record(world, name, record("id"), record("other"))
    await NamespaceSchemaPolicies(world.ctx, 600.0).reconcile(KEY)
    edit(world, schemaCompatibilityStrategy="FULL")
    policies = restarted(world)
    all_seen(world, *names)
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
    all_seen(world, *names)
    done = await status(world, policies)
    assert (done.observed_generation, done.history_conflict_count) == (3, 6)
    assert done.history_check == HistoryCheck(total=6, checked=6)


async def test_conflicts_are_right_though_the_policy_was_edited_while_its_status_was_written(world: World) -> None:
    await on_record(world, "created", record("id"), record("other"))
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    world.api.refusals["PUT /apis/topicschema.io/v1alpha1/namespaces/shop/namespaceschemapolicies"] = 409
    world.api.refusals["PATCH /apis/topicschema.io/v1alpha1/namespaces/shop/namespaceschemapolicies"] = 409
    with pytest.raises(ConflictError):
        await policies.reconcile(KEY)
    world.api.refusals.clear()
    assert (await status(world, policies)).history_conflict_count == 1


async def test_only_the_newest_version_is_checked_and_a_new_one_that_passes_ends_the_conflict(world: World) -> None:
    edit(world, schemaCompatibilityStrategy="BACKWARD")
    await on_record(world, "created", record("id"), record("other"), record("other", "more?"))
    await on_record(world, "refused", record("id"), record("id"), record("other"))
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    found = await status(world, policies)
    assert [(each.name, each.schema_version) for each in found.history_conflicts] == [("refused", 2)]
    await on_record(world, "refused", record("other", "more?"))
    policies = restarted(world)
    all_seen(world, "created")
    sees(world, "refused", latest=3)
    assert (await status(world, policies)).history_conflict_count == 0


async def test_a_topic_that_changes_its_strategy_has_only_its_own_history_read(world: World) -> None:
    for name in ("one", "two", "three"):
        await on_record(world, name, record("id"), record("other"))
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    assert (await status(world, policies)).history_conflict_count == 3
    world.storage.calls.clear()
    sees(world, "two", Strategy.ALWAYS_COMPATIBLE)
    assert [each.name for each in (await status(world, policies)).history_conflicts] == ["one", "three"]
    assert READS & set(world.storage.calls) == {"get_history"}
    assert world.storage.calls.count("get_history") == 1


async def test_a_strategy_that_a_topic_drops_counts_at_the_next_resync(world: World) -> None:
    for name in ("one", "two"):
        await on_record(world, name, record("id"), record("other"))
    sees(world, "two", Strategy.ALWAYS_COMPATIBLE)
    seconds = [0.0]
    world.ctx = replace(world.ctx, clock=lambda: seconds[0])
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    found = []
    for second in (0.0, 599.0, 600.0, 601.0):
        seconds[0] = second
        found.append((await status(world, policies)).history_conflict_count)
        sees(world, "two")
    assert found == [1, 1, 2, 2]
    world.storage.calls.clear()
    await policies.reconcile(KEY)
    assert not READS & set(world.storage.calls)


async def test_where_the_status_lists_not_all_conflicts_others_take_over_from_those_that_are_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_conflicts, "_LISTED", 1)
    for name in ("one", "two"):
        await on_record(world, name, record("id"), record("other"))
    policies = NamespaceSchemaPolicies(world.ctx, 600.0)
    for over, left in ((None, ("one", 2)), ("one", ("two", 1)), ("two", None)):
        if over is not None:
            await on_record(world, over, record("other", "more?"))
        found = await status(world, policies)
        assert (next((each.name for each in found.history_conflicts), None), found.history_conflict_count) == (
            left or (None, 0)
        )


async def test_histories_beyond_the_limit_are_counted_and_not_checked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_conflicts, "_MOST_VERSIONS", 2)
    for number in range(5):
        await on_record(world, f"t{number}", record("id"), record("other"))
    found = await status(world, NamespaceSchemaPolicies(world.ctx, 600.0))
    assert found.history_check == HistoryCheck(total=5, checked=2)
    assert found.history_conflict_count == 2


async def test_histories_are_read_one_by_one(world: World) -> None:
    schemas = [record(f"f{number}?") for number in range(100)]
    for number in range(10):
        await on_record(world, f"t{number}", *schemas)
    world.storage.most.clear()
    await NamespaceSchemaPolicies(world.ctx, 600.0).reconcile(KEY)
    assert world.storage.most["get_history"] == 1


async def test_conflicts_change_with_the_settings_of_the_broker_and_the_strategy_of_the_topic(world: World) -> None:
    await on_record(world, "created", record("id"), record("other"))
    policies = NamespaceSchemaPolicies(world.ctx, 0.0)
    counts = [(await status(world, policies)).history_conflict_count]
    for strategy in ("ALWAYS_COMPATIBLE", "FULL"):
        world.broker.settings["schema_compatibility_strategy"] = strategy
        counts.append((await status(world, policies)).history_conflict_count)
    sees(world, "created", Strategy.ALWAYS_COMPATIBLE)
    counts.append((await status(world, policies)).history_conflict_count)
    assert counts == [1, 0, 1, 0]


@pytest.mark.parametrize("is_holder_first", [True, False])
async def test_the_strategy_of_the_resource_that_holds_the_topic_counts(world: World, *, is_holder_first: bool) -> None:
    await on_record(world, "created", record("id"), record("other"))
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
