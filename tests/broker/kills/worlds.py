"""A Kubernetes namespace, a Pulsar namespace and a proxy for one run of a flow, and the checks of its end."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from broker.kills.flows import Flow
from broker.kills.hold import Hold, Place
from support.kubernetes.watched_namespace import CONTROLLER, conditions, record_key, wait_for
from support.pulsar.brokered_namespace import proxied_shop
from support.pulsar.brokered_topic import BrokeredTopic
from testbed import audit
from testbed.cluster import Cluster
from testbed.fault_proxy import FaultProxy
from testbed.product import NAMESPACE as SYSTEM
from testbed.pulsar import Pulsar
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.cluster.errors import NotFoundError
from topicschema.storage.kubernetes.storage import KubernetesStorage

_QUIET_SECONDS = 0.7
_TIMEOUT_SECONDS = 200.0  # of a busy machine


@dataclass(frozen=True, slots=True)
class World:
    """One run of a flow. Its proxy is its alone, and so are the calls there."""

    flow: Flow
    topic: BrokeredTopic

    @property
    def proxy(self) -> FaultProxy:
        return self.topic.shop.proxy

    def hold(self, place: Place) -> Hold:
        """Hold that call from now on."""
        hold = Hold(place, self.topic.shop.pulsar_namespace, self.flow.fault)
        self.proxy.fault = hold
        return hold

    def recover(self) -> None:
        """End the hold."""
        self.proxy.clear()
        self.proxy.fault = self.flow.fault

    def places(self) -> list[Place]:
        """Return the places before and after each call since the last `recover`."""
        namespace = self.topic.shop.pulsar_namespace
        return [Place.of(call, namespace, is_before=before) for call in self.proxy.calls for before in (True, False)]

    async def prepare(self) -> None:
        """Make the state before the flow, and wait until nothing is under way."""
        await self.flow.before(self.topic)
        await self.quiet()
        self.recover()

    async def quiet(self) -> None:
        """Return once the broker has got no request for a while."""
        count = -1
        while count != len(self.proxy.calls):
            count = len(self.proxy.calls)
            await asyncio.sleep(_QUIET_SECONDS)

    async def check(self) -> None:
        """Check that broker and record agree in the end, with the flow's result."""
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while (difference := await self._difference()) and time.monotonic() < deadline:  # noqa: ASYNC110 - a poll
            await asyncio.sleep(0.3)
        assert difference == "", difference
        index, versions = self.topic.rest.index(), self.flow.end[1]
        assert index is not None
        assert index == list(range(len(index))), f"a number is there of no flow: {index}"
        assert not versions or index[-1] == versions[-1]
        await self.quiet()

    async def _difference(self) -> str:
        """Return the difference from the expected state, in few words."""
        try:
            reasons = await self._reasons()
            assert reasons == f"policy Active, topic {self.flow.end[0]}", reasons
            assert await self.topic.assert_recorded() == self.flow.end[1]
            await self._contents_agree()
            await self.flow.after(self.topic)
        except AssertionError as error:
            return f"{error!r:.1000}"
        return ""

    async def _reasons(self) -> str:
        """Return Ready's reasons of the current generations, and the messages of unexpected ones."""
        watched, reasons = self.topic.shop.watched, []
        for kind, name, label in ((NAMESPACE_SCHEMA_POLICY, "orders", "policy"), (TOPIC_SCHEMA, "created", "topic")):
            try:
                wire = await watched.get(name, kind)
            except NotFoundError:
                reasons.append(f"{label} ")
                continue
            ready = conditions(wire.get("status", {})).get("Ready", {})
            is_newest = ready.get("observedGeneration") == wire["metadata"]["generation"]
            reason = ready["reason"] if is_newest else f"of another generation, {ready}"
            is_expected = reason in ("Active", self.flow.end[0])
            reasons.append(f"{label} {reason}" if is_expected else f"{label} {reason}: {ready.get('message')}")
        return ", ".join(reasons)

    async def _contents_agree(self) -> None:
        """Compare payload by payload. A broker rewrites pairs."""
        key = record_key(self.topic.shop.watched, self.topic.name)
        storage = KubernetesStorage(self.topic.shop.watched.shop.client, SYSTEM)
        history = (await storage.get_history(key)).history
        for entry in history.active_versions:
            recorded = await storage.get(key, history.incarnation, entry)
            stored = self.topic.rest.read(entry.schema_version).json
            assert (recorded.type.value, recorded.properties) == (stored["type"], stored["properties"])
            assert recorded.type.value == "KEY_VALUE" or recorded.schema.decode() == stored["data"]


async def check_no_writes(made: list[World]) -> None:
    """Check that another reconcile writes nothing, neither here nor there: of all worlds, at once.

    A schema that the broker refuses is tried again at each.
    """
    settled = [world for world in made if world.flow.end[0] not in {"", "RefusedByBroker"}]
    log = settled[0].topic.shop.watched.shop.cluster.audit_log
    assert log is not None
    since = audit.settled(log, counts=_writes)
    for world in settled:
        world.proxy.calls.clear()
        shop = world.topic.shop.watched
        edit = {"metadata": {"annotations": {"topicschema.io/test": str(since)}}}
        await shop.shop.client.patch(TOPIC_SCHEMA, shop.namespace, world.topic.name, edit)

    async def begun() -> dict[str, str]:
        requests = audit.requests(log, since, CONTROLLER)
        gets = [one for one in reversed(requests) if (one.verb, one.resource) == ("get", TOPIC_SCHEMA.plural)]
        return {one.namespace: one.at for one in gets}

    namespaces = {world.topic.shop.watched.namespace for world in settled}
    began = await wait_for(begun, lambda current: namespaces <= set(current))
    await each(settled, World.quiet)
    audit.settled(log, counts=_writes)
    for world in settled:
        shop = world.topic.shop.watched
        written = shop._written(since, TOPIC_SCHEMA, began[shop.namespace]) + list(map(str, world.proxy.writes))
        assert written == [], (world.flow.name, written)


def _writes(request: audit.Request) -> bool:
    return request.user == CONTROLLER and request.is_write and request.resource != "leases"


@asynccontextmanager
async def worlds(cluster: Cluster, pulsar: Pulsar, flows: Sequence[Flow]) -> AsyncIterator[list[World]]:
    """Yield a world for each of the flows, with the state before it."""
    names = [f"t-{secrets.token_hex(4)}" for _ in flows]
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]
    cluster.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": namespaces}))
    try:
        async with AsyncExitStack() as stack:
            opened = [_world(cluster, pulsar, flow, name) for flow, name in zip(flows, names, strict=True)]
            made = [await stack.enter_async_context(world) for world in opened]
            await each(made, World.prepare)
            yield made
    finally:
        cluster.try_kubectl("delete", "namespace", "--wait=false", *names)


async def each(made: list[World], do: Callable[[World], Awaitable[None]]) -> None:
    """Run it in all of them at once. Raise AssertionError that names the failing flows."""
    results = await asyncio.gather(*map(do, made), return_exceptions=True)
    failed = [
        f"{world.flow.name}: {result!r:.2000}"
        for world, result in zip(made, results, strict=True)
        if isinstance(result, Exception)
    ]
    assert failed == [], failed


@asynccontextmanager
async def _world(cluster: Cluster, pulsar: Pulsar, flow: Flow, namespace: str) -> AsyncIterator[World]:
    async with proxied_shop(pulsar, cluster, namespace) as shop:
        yield World(flow, BrokeredTopic(shop))
