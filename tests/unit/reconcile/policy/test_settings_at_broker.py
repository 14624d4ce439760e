"""The settings of a Pulsar namespace: the reads and writes of a reconcile, and their order."""

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, replace
from typing import Any

import pytest

from support.kubernetes.topic import ORDERS, open_topic
from support.pulsar.fake_broker import ManualClock
from support.pulsar.schema_service_rest import FakeSchemaBroker
from topicschema.api.brokers import ManagementPolicy
from topicschema.api.metadata import ConditionType
from topicschema.api.policies import DriftPolicy, NamespaceSchemaPolicy, SchemalessTopics, UnmanagedTopicsSpec
from topicschema.api.registries import ObservedPulsar, SchemaRegistry, SchemaRegistrySpec, SchemaRegistryStatus
from topicschema.core.remote import NamespaceSettings, Setting
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy.act import write_settings
from topicschema.reconcile.policy.observe import NamespaceState, observe
from topicschema.reconcile.policy.status import conditions, notes
from topicschema.reconcile.policy.unmanaged_topics import UnmanagedTopics
from topicschema.storage.protocol import StoredClaim


@dataclass
class World:
    """A policy, its claim, its registry, and its broker."""

    ctx: ReconcileContext
    broker: FakeSchemaBroker
    policy: NamespaceSchemaPolicy
    registry: SchemaRegistry

    def change(self, **spec: Any) -> None:
        metadata = replace(self.policy.metadata, generation=self.policy.metadata.generation + 1)
        self.policy = replace(self.policy, metadata=metadata, spec=replace(self.policy.spec, **spec))

    def upgrade(self, release: str) -> None:
        """Let the broker be of that release."""
        observed = replace(self.registry.status.observed or ObservedPulsar(), version=release)
        self.registry = replace(self.registry, status=replace(self.registry.status, observed=observed))

    async def get(self, managed: Collection[str] | None = ()) -> NamespaceState:
        self.broker.requests.clear()
        claim = await self.claim()
        policy = self.policy.at(self.registry)
        state = await observe(self.ctx, policy, self.registry, managed)
        state = await write_settings(self.ctx, policy, claim, state)
        self.policy = replace(policy, status=replace(policy.status, observed=state.observed))
        return state

    def register(self, *topics: str) -> None:
        """Give each topic a schema at the broker."""
        for topic in topics:
            self.broker.schemas.upload(topic, SchemaInfo(SchemaType.STRING))

    async def claim(self) -> StoredClaim:
        return await self.ctx.storage.get_claim(ORDERS)

    @property
    def written(self) -> list[str]:
        return [line.rpartition("/")[2] for line in self.broker.requests if not line.startswith("GET")]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_topic() as world:
        world.broker.settings = {"schema_compatibility_strategy": "UNDEFINED"}
        world.broker.version = "4.1.2"
        policy = (await world.ctx.policies.resolve("shop", "shop/orders")).resource
        yield World(world.ctx, world.broker, policy, await world.ctx.registries.get("pulsar"))


async def test_without_a_difference_a_reconcile_is_one_request_and_writes_nothing(world: World) -> None:
    await world.get()  # which reads the broker's own settings, too
    state = await world.get()
    assert (state.error, state.difference, state.notes) == (None, "", ())
    assert world.broker.requests == ["GET /namespaces/shop/orders"]
    assert (await world.claim()).managed == ()
    world.change(schema_compatibility_strategy=Strategy.FULL)
    world.registry = replace(world.registry, spec=SchemaRegistrySpec())
    assert await world.get() == NamespaceState()
    assert world.broker.requests == []


async def test_a_difference_is_written_once_and_read_back_and_the_original_is_stored(world: World) -> None:
    world.broker.settings["schema_compatibility_strategy"] = "FORWARD"
    world.change(schema_compatibility_strategy=Strategy.FULL, schema_validation_enforced=True)
    state = await world.get()
    assert world.written == ["schemaCompatibilityStrategy", "schemaValidationEnforced"]
    assert world.broker.requests[-1] == "GET /namespaces/shop/orders"
    assert state.observed is not None
    assert state.observed.schema_compatibility_strategy is Strategy.FULL
    claim = await world.claim()
    assert claim.original == NamespaceSettings(Strategy.FORWARD)
    assert claim.managed == (Setting.STRATEGY, Setting.ENFORCEMENT)
    assert (await world.get()).observed == state.observed
    assert world.written == []
    assert await world.claim() == claim
    world.change(schema_compatibility_strategy=Strategy.BACKWARD, is_allow_auto_update_schema=False)
    await world.get()
    assert world.written == ["schemaCompatibilityStrategy", "isAllowAutoUpdateSchema"]
    claim = await world.claim()
    assert (claim.original, set(claim.managed)) == (
        NamespaceSettings(Strategy.FORWARD),
        set(Setting) - {Setting.REPLICATORS},
    )


async def test_undefined_unsets_a_strategy_and_is_no_difference_from_none(world: World) -> None:
    world.change(schema_compatibility_strategy=Strategy.UNDEFINED)
    for strategy, written in (("FULL", ["schemaCompatibilityStrategy"]), ("UNDEFINED", [])):
        world.broker.settings["schema_compatibility_strategy"] = strategy
        state = await world.get()
        assert (state.error, world.written) == (None, written)
        assert state.observed is not None
        assert state.observed.schema_compatibility_strategy is None


async def test_the_original_setting_stays_stored_when_a_write_fails_and_others_write(world: World) -> None:
    world.change(schema_compatibility_strategy=Strategy.FULL)
    world.broker.settings_status = 500
    state = await world.get()
    assert state.error is not None
    assert (await world.claim()).original == NamespaceSettings()
    world.broker.settings_status = 200
    world.broker.settings["schema_compatibility_strategy"] = "FORWARD"
    assert (await world.get()).error is None
    claim = await world.claim()
    assert (claim.original, claim.managed) == (NamespaceSettings(), (Setting.STRATEGY,))


async def test_a_lifted_lock_is_a_difference_although_the_topics_cannot_be_listed(world: World) -> None:
    world.change(is_allow_auto_update_schema=False)
    assert (await world.get()).error is None
    world.broker.settings["is_allow_auto_update_schema"] = True
    world.broker.topics = None
    state = await world.get()
    assert (state.error is None, world.written) == (False, [])
    assert state.difference == "isAllowAutoUpdateSchema is true in the Pulsar namespace and false in the policy"


@pytest.mark.parametrize("status", [403, 503])
async def test_a_change_of_others_that_cannot_be_reverted_is_reported(world: World, status: int) -> None:
    world.change(schema_compatibility_strategy=Strategy.FULL, is_allow_auto_update_schema=False)
    assert (await world.get()).error is None
    before = await world.claim()
    world.broker.settings.update(schema_compatibility_strategy="UNDEFINED", is_allow_auto_update_schema=True)
    world.broker.settings_status = status
    for _ in range(2):
        state = await world.get()
        assert state.error is not None
        assert state.error.reason == {403: "BrokerForbidden", 503: "BrokerUnavailable"}[status]
        assert state.difference == (
            "schemaCompatibilityStrategy is not set in the Pulsar namespace and FULL in the policy; "
            "isAllowAutoUpdateSchema is true in the Pulsar namespace and false in the policy"
        )
        assert state.observed is not None
        assert state.observed.schema_compatibility_strategy is None
        assert state.observed.is_allow_auto_update_schema is True
        assert await world.claim() == before


async def test_an_error_leaves_the_observed_settings_of_before(world: World) -> None:
    before = await world.get()
    world.broker.are_settings_shown = False
    world.change(schema_compatibility_strategy=Strategy.FULL)
    state = await world.get()
    assert state.error is not None
    assert (state.error.reason, state.observed) == ("BrokerForbidden", before.observed)


async def test_a_lock_waits_for_topics_also_after_another_client_lifted_it(world: World) -> None:
    world.broker.topics = ("created", "created-billing-DLQ", "billed-partition-0", "billed-partition-1")
    world.register("created-billing-DLQ", "billed", "made")
    world.change(is_allow_auto_update_schema=False, schema_compatibility_strategy=Strategy.FULL)
    all_managed = {"created", "billed", "created-billing-DLQ"}
    steps: tuple[tuple[Collection[str] | None, tuple[str, ...] | None, list[str]], ...] = (
        (None, None, ["schemaCompatibilityStrategy"]),
        ({"created"}, ("billed", "created-billing-DLQ"), []),
        (all_managed, (), ["isAllowAutoUpdateSchema"]),
        ((), (), []),  # and now another client lifts the lock
        (all_managed, ("made",), []),
        ({*all_managed, "made"}, (), ["isAllowAutoUpdateSchema"]),
    )
    for number, (managed, names, written) in enumerate(steps):
        if number == 4:
            world.broker.settings["is_allow_auto_update_schema"] = True
            world.broker.topics = (*all_managed, "made")
        assert (waiting_for(await world.get(managed)), world.written) == (names, written)


def waiting_for(state: NamespaceState) -> tuple[str, ...] | None:
    return None if state.unmanaged is None else tuple(each.topic for each in state.unmanaged.first)


async def test_a_lock_does_not_wait_for_exempt_and_schemaless_topics_unless_they_block(world: World) -> None:
    world.broker.topics = ("created", "created-DLQ", "bytes", "deleted")
    world.register("created-DLQ", "deleted")
    world.broker.schemas.soft_delete("deleted")
    for blocks, names, written in (
        (SchemalessTopics.BLOCK, [("bytes", "Schemaless"), ("deleted", "HasSchema")], []),
        (SchemalessTopics.IGNORE, [("deleted", "HasSchema")], []),
    ):
        spec = UnmanagedTopicsSpec(exempt=("*-DLQ",), schemaless=blocks)
        world.change(is_allow_auto_update_schema=False, unmanaged_topics=spec)
        state = await world.get({"created"})
        assert state.unmanaged is not None
        assert [(each.topic, each.reason) for each in state.unmanaged.first] == names
        assert (state.unmanaged.count, world.written) == (len(names), written)
    world.change(unmanaged_topics=UnmanagedTopicsSpec(exempt=("*-DLQ", "del*")))
    assert (await world.get({"created"})).unmanaged == UnmanagedTopics()
    assert world.written == ["isAllowAutoUpdateSchema"]


async def test_a_lock_that_waits_reads_the_schemas_of_topics_until_it_can_list_twenty(world: World) -> None:
    names = [f"t{number:03}" for number in range(100)]
    world.broker.topics = tuple(names)
    world.register(*names[10:])
    world.change(is_allow_auto_update_schema=False)
    state = await world.get(())
    assert state.unmanaged is not None
    assert (state.unmanaged.count, waiting_for(state)) == (90, tuple(names[10:30]))
    reads = [line.rpartition("/")[2] for line in world.broker.requests]
    assert (reads.count("metadata"), reads.count("stats"), world.written) == (30, 20, [])


async def test_a_lock_that_waits_lists_the_producers_of_its_topics_if_the_broker_shows_them(world: World) -> None:
    world.broker.topics = ("billed",)
    world.register("billed")
    shown = [{"producerName": f"p{n}" + "x" * 300, "clientVersion": "go", "address": "/10.0.0.3:1"} for n in range(7)]
    world.broker.producers = {"billed": shown}
    world.change(is_allow_auto_update_schema=False)
    state = await world.get(())
    assert state.unmanaged is not None
    (topic,) = state.unmanaged.first
    assert (topic.producer_count, len(topic.producers)) == (7, 5)
    assert (topic.producers[0].name[:3], len(topic.producers[0].name)) == ("p0x", 256)
    assert (topic.producers[0].client_version, topic.producers[0].address) == ("go", "/10.0.0.3:1")
    world.broker.producers = None
    state = await world.get(())
    assert waiting_for(state) == ("billed",)
    assert (state.error, state.unmanaged is not None and state.unmanaged.first[0].producer_count) == (None, 0)


async def test_a_lock_that_waits_for_no_topic_lists_none(world: World) -> None:
    world.broker.topics = ("created",)
    world.register("created")
    world.change(is_allow_auto_update_schema=False, unmanaged_topics=UnmanagedTopicsSpec(exempt=("*",)))
    assert waiting_for(await world.get(managed=None)) == ()
    assert world.written == ["isAllowAutoUpdateSchema"]
    assert not any("/persistent" in each for each in world.broker.requests)


async def test_a_setting_that_others_change_again_and_again_is_contested_until_time_or_an_edit(world: World) -> None:
    clock = ManualClock(0.0)
    world.ctx = replace(world.ctx, clock=lambda: clock.time)
    world.change(schema_compatibility_strategy=Strategy.FULL)
    both = "schemaCompatibilityStrategy is BACKWARD in the Pulsar namespace and FULL in the policy"

    async def overwritten() -> tuple[str, list[str]]:
        world.broker.settings["schema_compatibility_strategy"] = "BACKWARD"
        return (await world.get()).contested, world.written

    written = ("", ["schemaCompatibilityStrategy"])
    assert await overwritten() == written  # the first write is no correction
    for clock.time, expected in (
        (0.0, written),
        (1.0, written),
        (2.0, (both, [])),
        (599.0, (both, [])),
        (600.0, written),
    ):
        assert await overwritten() == expected
    for clock.time in (601.0, 602.0):
        await overwritten()
    assert await overwritten() == (both, [])
    world.change(schema_validation_enforced=True)
    assert await overwritten() == ("", ["schemaCompatibilityStrategy", "schemaValidationEnforced"])
    for _ in range(3):
        last = await overwritten()
    assert last == (both, [])
    world.broker.settings["schema_validation_enforced"] = False
    assert await overwritten() == (both, ["schemaValidationEnforced"])  # all else is written
    world.broker.settings["schema_compatibility_strategy"] = "FULL"
    state = await world.get()
    assert (state.contested, state.difference) == ("", "")


async def test_rare_changes_of_others_are_corrected_for_ever(world: World) -> None:
    clock = ManualClock(0.0)
    world.ctx = replace(world.ctx, clock=lambda: clock.time)
    world.change(schema_compatibility_strategy=Strategy.FULL)
    for number in range(8):
        clock.time = number * 301.0
        world.broker.settings["schema_compatibility_strategy"] = "BACKWARD"
        assert (await world.get()).contested == ""
        assert world.written == ["schemaCompatibilityStrategy"]


async def test_a_policy_that_reports_drift_never_writes_settings(world: World) -> None:
    world.change(
        schema_compatibility_strategy=Strategy.FULL, is_allow_auto_update_schema=False, drift_policy=DriftPolicy.REPORT
    )
    before = await world.claim()
    assert "schemaCompatibilityStrategy is not set in the Pulsar namespace" in (await world.get()).difference
    assert world.written == []
    assert await world.claim() == before


async def test_a_policy_that_only_observes_reports_the_difference_and_writes_nothing(world: World) -> None:
    world.change(schema_compatibility_strategy=Strategy.FULL, management_policy=ManagementPolicy.OBSERVE)
    before = await world.claim()
    assert "schemaCompatibilityStrategy is not set in the Pulsar namespace" in (await world.get()).difference
    assert world.written == []
    assert await world.claim() == before


@pytest.mark.parametrize("own", ["UNDEFINED", "FULL"])
async def test_without_the_brokers_settings_and_a_strategy_the_policy_cannot_judge(world: World, own: str) -> None:
    world.broker.are_own_settings_shown = False
    world.broker.settings["schema_compatibility_strategy"] = own
    error = (await world.get()).judging_error
    assert (error is None) == (own == "FULL")
    world.change(schema_compatibility_strategy=Strategy.BACKWARD)
    assert error is None or error.reason == "StrategyUnknown"
    assert (await world.get()).judging_error is None


async def test_without_any_version_the_policy_cannot_judge(world: World) -> None:
    registry, world.registry = world.registry, replace(world.registry, status=SchemaRegistryStatus())
    error = (await world.get()).judging_error
    assert error is not None
    assert (error.reason, "set spec.pulsar.version of the registry" in error.message) == ("PulsarVersionUnknown", True)
    world.registry = registry
    assert (await world.get()).judging_error is None


@pytest.mark.parametrize(("release", "is_warned"), [("4.2.4", True), ("5.0.0-M1", False)])
async def test_a_lock_of_a_replicated_namespace_is_set_with_a_warning_where_replicators_are_refused(
    world: World, release: str, *, is_warned: bool
) -> None:
    world.broker.settings["replication_clusters"] = ["west", "east"]
    world.upgrade(release)
    assert (await world.get()).warning == ""
    world.change(is_allow_auto_update_schema=False)
    state = await world.get()
    assert world.written == ["isAllowAutoUpdateSchema"]
    assert bool(state.warning) is is_warned
    assert state.observed is not None
    assert state.observed.replication_clusters == ("east", "west")
    in_sync = {each.type: each.message for each in conditions(world.policy, state)}[ConditionType.IN_SYNC]
    assert ("is replicated" in in_sync) is is_warned
    assert [note.reason for note in notes(state)] == (["ReplicationAtRisk"] if is_warned else [])


async def test_a_lock_of_replicators_is_written_with_the_lock_and_only_where_the_broker_has_it(world: World) -> None:
    world.broker.settings |= {"replication_clusters": ["west", "east"], "is_allow_auto_update_schema": True}
    world.upgrade("4.2.4")
    world.change(is_allow_auto_update_schema=False, is_allow_auto_update_schema_with_replicator=False)
    assert (await world.get()).difference == ""
    assert "is_allow_auto_update_schema_with_replicator" not in world.broker.settings
    world.upgrade("5.0.0-M1")
    for allows in (False, True):
        world.change(is_allow_auto_update_schema_with_replicator=allows)
        state = await world.get()
        assert world.written == ["isAllowAutoUpdateSchema"], "one call writes both"
        assert world.broker.settings["is_allow_auto_update_schema_with_replicator"] is allows
        assert world.broker.settings["is_allow_auto_update_schema"] is False
        assert bool(state.warning) is not allows
        assert (await world.get()).observed == state.observed
        assert world.written == []
    assert Setting.REPLICATORS in (await world.claim()).managed
