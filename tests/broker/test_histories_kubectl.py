"""Histories applied by kubectl itself, to the webhook and the controller as processes, beside the broker's own REST.

Its set-up starts a controller and a webhook as processes.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from broker.histories import generator
from broker.histories.comparison import Comparison, Tally
from broker.histories.kubectl_side import KubectlSide
from broker.histories.namespaces import governed
from support.pulsar.brokered_namespace import RESYNC
from support.sizes import IS_FULL, SEED, sized
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product
from testbed.pulsar import Pulsar

pytestmark = [pytest.mark.timeout(600), pytest.mark.broker]

HISTORIES, STEPS = sized(9, 20), sized(3, 4)


@pytest.fixture(scope="module")
def product(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """Run controller and webhook. Settled topics are not reconciled again, or they would take the broker's time."""
    environment = {**PATIENT_LEASE, **RESYNC, "TOPICSCHEMA_RESYNC_PERIOD": "600"}
    with Product.working(instance, cluster, environment) as installed:
        yield installed


@pytest.fixture
async def side(product: Product, cluster: Cluster, pulsar: Pulsar) -> AsyncIterator[KubectlSide]:
    """Yield namespaces of all strategies, with their policies Ready."""
    async with governed(cluster, pulsar) as shops:
        for shop in shops.values():
            await shop.policy_ready("Active")
        yield KubectlSide(cluster, shops)


def histories() -> list[generator.History]:
    """Return histories without deletions, which the controller would notice at any time."""
    made = [generator.history(f"kubectl {SEED}", number) for number in range(HISTORIES)]
    return [replace(each, steps=tuple(step for step in each.steps if step is not None)[:STEPS]) for each in made]


async def test_a_schema_by_kubectl_has_the_result_of_one_sent_to_the_broker(side: KubectlSide) -> None:
    tally, made = Tally(), histories()
    for number in range(STEPS):
        edits = {
            each.name: (each, info) for each in made for info in each.steps[number : number + 1] if info is not None
        }
        answers = await side.apply(edits) if edits else {}
        for name, ours in answers.items():
            history, info = edits[name]
            comparison = Comparison(side.shops[history.strategy], history, tally)
            if not await comparison.agrees(number, ours, info):
                made.remove(history)
    tally.check("kubectl")
    assert len(made) == HISTORIES
    if not IS_FULL:  # whose histories are the same in every run
        assert {"answers 200", "answers 409"} < set(tally.counts), tally.counts
