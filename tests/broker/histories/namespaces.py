"""The namespaces of histories: a Kubernetes namespace and a Pulsar namespace for each strategy, with its policy."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from broker.histories.comparison import Comparison, Tally
from broker.histories.generator import History
from broker.histories.operator_side import OperatorSide, operating
from support.pulsar.brokered_namespace import BrokeredShop, broker_shop
from testbed.cluster import Cluster
from testbed.fault_proxy import FaultProxy
from testbed.instances import Instance
from testbed.product import Product
from testbed.pulsar import Pulsar
from topicschema.core.strategies import Strategy

_AT_ONCE: Final = 24


@dataclass(frozen=True, slots=True)
class HistoryRunner:
    """The namespaces by their strategies."""

    sides: dict[Strategy, OperatorSide]

    async def check(self, histories: Sequence[History]) -> Tally:
        """Run all histories, every other one with the webhook's review, and return their results.

        Raise AssertionError if anything differed, or if another reconcile writes something.
        """
        tally, turn = Tally(), asyncio.Semaphore(_AT_ONCE)

        async def one(number: int, history: History) -> None:
            async with turn:
                is_reviewed = number // len(Strategy) % 2 == 0
                side = self.sides[history.strategy]
                await Comparison(side.shop, history, tally).run(side, is_reviewed=is_reviewed)

        async with asyncio.TaskGroup() as group:
            for number, history in enumerate(histories):
                group.create_task(one(number, history))
        tally.check(f"{len(histories)} from {histories[0].name}")
        assert await self._writes_of_repetition(histories) == 0
        return tally

    async def _writes_of_repetition(self, histories: Iterable[History]) -> int:
        """Return the number of writes in a reconcile of each settled topic."""
        running = next(iter(self.sides.values())).running
        before = running.writes
        for history in histories:
            await self.sides[history.strategy].running.settle(history.name)
        return running.writes - before


@asynccontextmanager
async def history_runner(cluster: Cluster, instance: Instance, pulsar: Pulsar) -> AsyncIterator[HistoryRunner]:
    """Yield a runner of namespaces with reconciled policies. Only this process reconciles them."""
    Product.install(instance, cluster).admit_all()
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
        sides = await stack.enter_async_context(operating(list(shops.values())))
        yield HistoryRunner(dict(zip(shops, sides, strict=True)))
