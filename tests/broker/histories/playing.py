"""Where histories are played: a Kubernetes namespace and a Pulsar namespace for each strategy, with its policy."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from broker.histories.making import History
from broker.histories.operator_side import OperatorSide, operating
from broker.histories.play import Match, Tally
from support.pulsar.brokered_namespace import BrokeredShop, broker_shop
from testbed.cluster import Cluster
from testbed.fault_proxy import FaultProxy
from testbed.instances import Instance
from testbed.product import Product
from testbed.pulsar import Pulsar
from topicschema.core.strategies import Strategy

_AT_ONCE: Final = 24


@dataclass(frozen=True, slots=True)
class HistoryField:
    """The namespaces by their strategies."""

    sides: dict[Strategy, OperatorSide]

    async def play(self, histories: Iterable[History]) -> Tally:
        """What came of all of them, every other one reviewed by the webhook."""
        tally, turn = Tally(), asyncio.Semaphore(_AT_ONCE)

        async def one(number: int, history: History) -> None:
            async with turn:
                is_reviewed = number // len(Strategy) % 2 == 0
                side = self.sides[history.strategy]
                await Match(side.shop, history, tally).play(side, is_reviewed=is_reviewed)

        async with asyncio.TaskGroup() as group:
            for number, history in enumerate(histories):
                group.create_task(one(number, history))
        return tally

    async def prove(self, histories: Sequence[History]) -> Tally:
        """What came of them; AssertionError where anything differed, or where a second pass has work left."""
        tally = await self.play(histories)
        tally.prove(f"{len(histories)} from {histories[0].name}")
        assert await self._written_again(histories) == 0
        return tally

    async def _written_again(self, histories: Iterable[History]) -> int:
        """How much is written in a pass over each, all of which are settled."""
        running = next(iter(self.sides.values())).running
        before = running.writes
        for history in histories:
            await self.sides[history.strategy].running.settle(history.name)
        return running.writes - before


@asynccontextmanager
async def governed(cluster: Cluster, pulsar: Pulsar) -> AsyncIterator[dict[Strategy, BrokeredShop]]:
    """The namespaces, each with a policy that somebody is yet to put in force."""
    run = secrets.token_hex(3)
    async with AsyncExitStack() as stack:
        proxy = stack.enter_context(FaultProxy.before(pulsar))
        shops: dict[Strategy, BrokeredShop] = {}
        for strategy in Strategy:
            name = f"t-{run}-{strategy.lower().replace('_', '-')}"
            cluster.kubectl("create", "namespace", name)
            stack.callback(cluster.kubectl, "delete", "namespace", name, "--wait=false")
            shop = shops[strategy] = await stack.enter_async_context(broker_shop(proxy, cluster, name))
            shop.create_namespace()
            shop.govern({"adminURL": pulsar.admin_url}, schemaCompatibilityStrategy=strategy.value)
        yield shops


@asynccontextmanager
async def history_field(cluster: Cluster, instance: Instance, pulsar: Pulsar) -> AsyncIterator[HistoryField]:
    """The namespaces, with their policies in force and passes in this process; nobody else looks after them."""
    Product.install(instance, cluster).admit_all()
    async with governed(cluster, pulsar) as shops, operating(list(shops.values())) as sides:
        yield HistoryField(dict(zip(shops, sides, strict=True)))
