"""The settings of a Pulsar namespace: what is asked, what is written and in which order."""

import json
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web

from support.kubernetes.api_server import FakeApiServer
from support.kubernetes.passes import reconcile_context
from support.pulsar.fake_broker import PlayedBroker, TurnedClock, playing
from topicschema.api.brokers import ManagementPolicy, PulsarSpec
from topicschema.api.metadata import Metadata
from topicschema.api.policies import NamespaceSchemaPolicy, NamespaceSchemaPolicySpec, NamespaceSchemaPolicyStatus
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.cluster.client import ApiClient
from topicschema.core.history import Owner
from topicschema.core.remote import NamespaceSettings, Setting
from topicschema.core.schemas import PulsarLine
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.reconcile.brokers import Brokers
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy.namespace_state import NamespaceState, apply_settings
from topicschema.storage.claims import StoredClaim

ORDERS = PulsarNamespaceKey("pulsar", "shop", "orders")
_PATHS = {
    "schemaCompatibilityStrategy": "schema_compatibility_strategy",
    "isAllowAutoUpdateSchema": "is_allow_auto_update_schema",
    "schemaValidationEnforced": "schema_validation_enforced",
}


@dataclass
class PulsarNamespace:
    """What a broker does with the settings of `shop/orders`; `fails` on writes with that status.

    `topics` is None where they may not be listed.
    """

    there: dict[str, Any] = field(default_factory=lambda: {"schema_compatibility_strategy": "UNDEFINED"})
    topics: tuple[str, ...] | None = ()
    fails: int = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/admin/v2")
        if path == "/namespaces/shop/orders":
            return web.json_response(self.there)
        if path.startswith("/namespaces/shop/orders/"):
            if self.fails:
                return web.Response(status=self.fails)
            self.there[_PATHS[path.rpartition("/")[2]]] = json.loads(await request.text())
            return web.Response(status=204)
        if path == "/persistent/shop/orders":
            names = [f"persistent://shop/orders/{name}" for name in self.topics or ()]
            return web.json_response(names, status=403 if self.topics is None else 200)
        if path == "/brokers/version":
            return web.Response(text="4.1.2")
        return web.json_response([] if "/shop/orders" in path else {"isSchemaValidationEnforced": "false"})


@dataclass
class World:
    """A policy, its claim, and its broker."""

    ctx: ReconcileContext
    wire: PlayedBroker
    namespace: PulsarNamespace
    policy: NamespaceSchemaPolicy

    def change(self, **spec: Any) -> None:
        metadata = replace(self.policy.metadata, generation=self.policy.metadata.generation + 1)
        self.policy = replace(self.policy, metadata=metadata, spec=replace(self.policy.spec, **spec))

    async def get(self, declared: Collection[str] | None = ()) -> NamespaceState:
        self.wire.requests.clear()
        state = await apply_settings(self.ctx, self.policy, await self.claim(), declared)
        self.policy = replace(self.policy, status=NamespaceSchemaPolicyStatus(observed=state.observed))
        return state

    async def claim(self) -> StoredClaim:
        return await self.ctx.claims.get_claim(ORDERS)

    @property
    def asked(self) -> list[str]:
        return [each.removeprefix("/admin/v2") for each in (line.partition(" ")[2] for line in self.wire.asked)]

    @property
    def written(self) -> list[str]:
        return [line.rpartition("/")[2] for line in self.wire.asked if not line.startswith("GET")]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock, namespace = TurnedClock(), PulsarNamespace()
    async with FakeApiServer().running() as api, ApiClient(api.connection) as client, playing() as wire:
        wire.answers.append(namespace.answer)
        brokers = Brokers(client, AllowedHosts.parse("127.0.0.1"), lambda: None, clock.as_clock())
        spec = NamespaceSchemaPolicySpec(
            pulsar_cluster="pulsar", pulsar_namespace="shop/orders", pulsar=PulsarSpec(admin_url=wire.url)
        )
        policy = NamespaceSchemaPolicy(metadata=Metadata(name="orders", namespace="shop", uid="1"), spec=spec)
        async with reconcile_context(client, brokers) as ctx:
            await ctx.claims.put_claim(await ctx.claims.get_claim(ORDERS), Owner("shop", "orders", "1"))
            yield World(ctx, wire, namespace, policy)


async def test_without_a_difference_a_reconcile_is_one_request_and_writes_nothing(world: World) -> None:
    await world.get()  # which reads the broker's own settings, too
    state = await world.get()
    assert (state.error, state.difference, state.notes) == (None, "", ())
    assert world.asked == ["/namespaces/shop/orders"]
    assert (await world.claim()).managed == ()
    world.change(pulsar=None, schema_compatibility_strategy=Strategy.FULL)
    assert await world.get() == NamespaceState()
    assert world.asked == []


async def test_what_differs_is_written_once_and_read_back_and_what_was_there_is_on_record(world: World) -> None:
    world.namespace.there["schema_compatibility_strategy"] = "FORWARD"
    world.change(schema_compatibility_strategy=Strategy.FULL, schema_validation_enforced=True)
    state = await world.get()
    assert world.written == ["schemaCompatibilityStrategy", "schemaValidationEnforced"]
    assert world.asked[-1] == "/namespaces/shop/orders"
    assert state.observed is not None
    assert state.observed.schema_compatibility_strategy is Strategy.FULL
    claim = await world.claim()
    assert claim.original == NamespaceSettings(Strategy.FORWARD)
    assert claim.managed == (Setting.STRATEGY, Setting.ENFORCEMENT)
    assert (await world.get()).observed == state.observed
    assert world.written == []
    assert await world.claim() == claim


async def test_what_was_found_first_stays_on_record_when_a_write_fails_and_others_write(world: World) -> None:
    world.change(schema_compatibility_strategy=Strategy.FULL)
    world.namespace.fails = 500
    state = await world.get()
    assert state.error is not None
    assert (await world.claim()).original == NamespaceSettings()
    world.namespace.fails = 0
    world.namespace.there["schema_compatibility_strategy"] = "FORWARD"
    assert (await world.get()).error is None
    claim = await world.claim()
    assert (claim.original, claim.managed) == (NamespaceSettings(), (Setting.STRATEGY,))


async def test_a_lifted_lock_is_a_difference_although_the_topics_cannot_be_listed(world: World) -> None:
    world.change(is_allow_auto_update_schema=False)
    assert (await world.get()).error is None
    world.namespace.there["is_allow_auto_update_schema"] = True
    world.namespace.topics = None
    state = await world.get()
    assert (state.error is None, world.written) == (False, [])
    assert state.difference == "isAllowAutoUpdateSchema is true and not false"


@pytest.mark.parametrize("status", [403, 503])
async def test_what_others_changed_and_may_not_be_put_back_is_seen_and_told(world: World, status: int) -> None:
    world.change(schema_compatibility_strategy=Strategy.FULL, is_allow_auto_update_schema=False)
    assert (await world.get()).error is None
    before = await world.claim()
    world.namespace.there.update(schema_compatibility_strategy="UNDEFINED", is_allow_auto_update_schema=True)
    world.namespace.fails = status
    for _ in range(2):
        state = await world.get()
        assert state.error is not None
        assert state.error.reason == {403: "BrokerForbidden", 503: "BrokerUnavailable"}[status]
        assert state.difference == (
            "schemaCompatibilityStrategy is nothing and not FULL; isAllowAutoUpdateSchema is true and not false"
        )
        assert state.observed is not None
        assert (state.observed.schema_compatibility_strategy, state.observed.is_allow_auto_update_schema) == (
            None,
            True,
        )
        assert await world.claim() == before


async def test_an_error_leaves_what_was_seen_before(world: World) -> None:
    before = await world.get()
    world.wire.forgets()
    world.wire.says(404, {"reason": "Namespace does not exist"})
    world.change(schema_compatibility_strategy=Strategy.FULL)
    state = await world.get()
    assert state.error is not None
    assert state.error.reason in {"NamespaceNotFound", "TenantNotFound"}
    assert state.observed == before.observed


async def test_a_lock_waits_for_topics_also_after_another_client_lifted_it(world: World) -> None:
    world.namespace.topics = ("created", "created-billing-DLQ", "billed-partition-0", "billed-partition-1")
    world.change(is_allow_auto_update_schema=False, schema_compatibility_strategy=Strategy.FULL)
    all_declared = {"created", "billed", "created-billing-DLQ"}
    steps: tuple[tuple[Collection[str] | None, tuple[str, ...] | None, list[str]], ...] = (
        (None, None, ["schemaCompatibilityStrategy"]),
        ({"created"}, ("billed", "created-billing-DLQ"), []),
        (all_declared, (), ["isAllowAutoUpdateSchema"]),
        ((), (), []),
    )
    for declared, undeclared, written in steps:
        assert ((await world.get(declared)).undeclared, world.written) == (undeclared, written)
    world.namespace.there["is_allow_auto_update_schema"] = True
    world.namespace.topics = (*all_declared, "made")
    for declared, undeclared, written in (
        (all_declared, ("made",), []),
        ({*all_declared, "made"}, (), ["isAllowAutoUpdateSchema"]),
    ):
        assert ((await world.get(declared)).undeclared, world.written) == (undeclared, written)


async def test_a_lock_that_may_hit_undeclared_topics_asks_for_none(world: World) -> None:
    world.namespace.topics = ("created",)
    world.change(is_allow_auto_update_schema=False, lock_undeclared=True)
    assert (await world.get(declared=None)).undeclared == ()
    assert world.written == ["isAllowAutoUpdateSchema"]
    assert not any(path.startswith("/persistent") for path in world.asked)


async def test_who_only_observes_tells_the_difference_and_writes_nothing_anywhere(world: World) -> None:
    world.change(schema_compatibility_strategy=Strategy.FULL, management_policy=ManagementPolicy.OBSERVE)
    before = await world.claim()
    assert "schemaCompatibilityStrategy is nothing and not FULL" in (await world.get()).difference
    assert world.written == []
    assert await world.claim() == before


@pytest.mark.parametrize("management", ManagementPolicy)
async def test_a_broker_of_another_line_than_the_policy_says_is_told_of(
    world: World, management: ManagementPolicy
) -> None:
    world.change(management_policy=management)
    assert (await world.get()).other_line.startswith("the broker is 4.1.2, brokerProfile.line says 4.0")
    world.change(broker_profile=replace(world.policy.spec.broker_profile, line=PulsarLine.V4_1))
    assert (await world.get()).other_line == ""
