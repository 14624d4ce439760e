"""The operator's verdict, version and error beside a real broker's: random histories, by a seed.

Each history is on two topics at once, one with a TopicSchema and one to which the same schemas are sent by the broker's
own REST. `make histories` plays many.
"""

from collections.abc import AsyncIterator

import pytest

from broker.histories import making
from broker.histories.playing import HistoryField, history_field
from broker.histories.size import COUNT, FIRST, USUAL
from differential import seeds
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.pulsar import Pulsar
from topicschema.api.schemas import AVAILABLE_TYPES
from topicschema.core.strategies import Strategy

pytestmark = [pytest.mark.timeout(900), pytest.mark.broker]


@pytest.fixture(scope="module")
async def field(cluster: Cluster, instance: Instance, pulsar: Pulsar) -> AsyncIterator[HistoryField]:
    """Namespaces of all strategies."""
    async with history_field(cluster, instance, pulsar) as field:
        yield field


@pytest.mark.parametrize("first", range(FIRST, COUNT, USUAL), ids=lambda first: f"{seeds.FRESH}-{first}")
async def test_verdict_version_and_error_are_the_brokers(field: HistoryField, first: int) -> None:
    histories = [making.history(seeds.FRESH, number) for number in range(first, min(first + USUAL, COUNT))]
    tally = await field.prove(histories)
    if len(histories) == USUAL:
        assert {each.strategy for each in histories} == set(Strategy)
        assert {step.type for each in histories for step in each.steps if step is not None} == set(AVAILABLE_TYPES)
        assert {f"answers {status}" for status in (200, 409, 422, 500)} < set(tally.counts)
