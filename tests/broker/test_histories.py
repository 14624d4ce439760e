"""The operator's verdict, version and error beside a real broker's: histories by a seed, and recorded cases.

Each history is on two topics at once, one with a TopicSchema and one to which the same schemas are sent by the broker's
own REST: tens of requests a step, so that 45 histories take ten seconds. `make histories` plays many, and all cases
of tests/conformance; a sample has each eighth of its recorded ones.
"""

from collections.abc import AsyncIterator

import pytest

from broker.histories import making
from broker.histories.playing import HistoryField, history_field
from broker.histories.size import AT_ONCE, COUNT, FIRST, IS_SAMPLE
from support.sizes import SEED
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.pulsar import Pulsar
from topicschema.api.schemas import AVAILABLE_TYPES
from topicschema.core.strategies import Strategy

pytestmark = [pytest.mark.timeout(1800), pytest.mark.broker]


@pytest.fixture(scope="module")
async def field(cluster: Cluster, instance: Instance, pulsar: Pulsar) -> AsyncIterator[HistoryField]:
    """Namespaces of all strategies."""
    async with history_field(cluster, instance, pulsar) as field:
        yield field


@pytest.mark.parametrize("first", range(FIRST, COUNT, AT_ONCE), ids=lambda first: f"{SEED}-{first}")
async def test_verdict_version_and_error_are_the_brokers(field: HistoryField, first: int) -> None:
    histories = [making.history(SEED, number) for number in range(first, min(first + AT_ONCE, COUNT))]
    tally = await field.prove(histories)
    if IS_SAMPLE:  # whose histories are the same in every run
        assert {each.strategy for each in histories} == set(Strategy)
        assert {step.type for each in histories for step in each.steps if step is not None} == set(AVAILABLE_TYPES)
        assert {f"answers {status}" for status in (200, 409, 422, 500)} < set(tally.counts)
        assert tally.left_open <= 2  # exactly so at 4.0; a broker of another version ends some histories earlier
