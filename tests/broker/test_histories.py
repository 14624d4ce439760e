"""The operator's verdict, version and error beside a real broker's: random histories by a seed.

Each history is on two topics at once, one with a TopicSchema and one that gets the same schemas by the broker's own
REST. These are tens of requests a step, so that the 45 histories of `make test`, which stay the same, take ten seconds.
`make histories` sets another number than the 2,000 of a full run. TOPICSCHEMA_SEED repeats a full run, and
TOPICSCHEMA_TEST_FIRST continues an interrupted one.
"""

import os
from collections.abc import AsyncIterator

import pytest

from broker.histories import generator
from broker.histories.namespaces import HistoryRunner, history_runner
from support.sizes import IS_FULL, SEED, sized
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.pulsar import Pulsar
from topicschema.api.schemas import AVAILABLE_TYPES
from topicschema.core.strategies import Strategy

pytestmark = [pytest.mark.timeout(1800), pytest.mark.broker]

REQUESTED = os.environ.get("TOPICSCHEMA_TEST_BROKER_HISTORIES")
COUNT = int(REQUESTED or sized(45, 2000))
AT_ONCE = min(COUNT, 100)
FIRST = int(os.environ.get("TOPICSCHEMA_TEST_FIRST") or 0)


@pytest.fixture(scope="module")
async def runner(cluster: Cluster, instance: Instance, pulsar: Pulsar) -> AsyncIterator[HistoryRunner]:
    """Yield namespaces of all strategies."""
    async with history_runner(cluster, instance, pulsar) as runner:
        yield runner


@pytest.mark.parametrize("first", range(FIRST, COUNT, AT_ONCE), ids=lambda first: f"{SEED}-{first}")
async def test_verdict_version_and_error_are_the_brokers(runner: HistoryRunner, first: int) -> None:
    histories = [generator.history(SEED, number) for number in range(first, min(first + AT_ONCE, COUNT))]
    tally = await runner.check(histories)
    if not (IS_FULL or REQUESTED):  # whose histories are the same in every run
        assert {each.strategy for each in histories} == set(Strategy)
        assert {step.type for each in histories for step in each.steps if step is not None} == set(AVAILABLE_TYPES)
        assert {f"answers {status}" for status in (200, 409, 422, 500)} < set(tally.counts)
        assert tally.left_open <= 2  # exactly so at 4.0; a broker of another version ends some histories earlier
