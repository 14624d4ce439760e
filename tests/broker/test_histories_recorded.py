"""Every case of tests/conformance beside a real broker: verdict, version and error of the operator are the broker's."""

from collections.abc import AsyncIterator, Callable, Iterable

import pytest

from broker.histories import recorded
from broker.histories.making import History
from broker.histories.playing import HistoryField, history_field
from broker.histories.size import COUNT, IS_LONG
from demo.errors import DemoError
from differential import seeds
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.pulsar import Pulsar

pytestmark = [pytest.mark.timeout(1800), pytest.mark.broker]


@pytest.fixture(scope="module")
async def field(cluster: Cluster, instance: Instance, pulsar: Pulsar) -> AsyncIterator[HistoryField]:
    """Namespaces of all strategies."""
    async with history_field(cluster, instance, pulsar) as field:
        yield field


@pytest.mark.parametrize(
    ("made", "count"), [(recorded.edge_cases, 200), (recorded.texts, 61), (recorded.equalities, 24)]
)
async def test_a_recorded_case_ends_at_the_operator_as_at_the_broker(
    field: HistoryField, made: Callable[[], Iterable[History]], count: int
) -> None:
    histories = list(made())
    assert len(histories) == count
    await field.prove(histories)


async def test_recorded_pairs_end_at_the_operator_as_at_the_broker(field: HistoryField) -> None:
    """All of them in a long run, otherwise some, by the seed."""
    pairs = list(recorded.random_pairs())
    start = 0 if IS_LONG else int(seeds.FRESH.encode().hex(), 16) % (len(pairs) // COUNT)
    await field.prove(pairs if IS_LONG else pairs[start :: len(pairs) // COUNT])


async def test_real_releases_of_protobuf_end_at_the_operator_as_at_the_broker(field: HistoryField) -> None:
    try:
        releases = list(recorded.protobuf_releases())
    except DemoError as error:
        pytest.skip(f"real histories of protobuf: {error}")
    await field.prove(releases)
