"""The elector on a real API server: the leader, the waiting one, and the lease; test_lease_silence has silence."""

import asyncio
from datetime import datetime, timedelta

import pytest

from support.kubernetes.electors import FOR_EVER, NAME, TIMEOUT_SECONDS, TIMES, candidates, log_of
from support.kubernetes.watched_namespace import wait_for
from testbed.cluster import Cluster
from topicschema.api.kinds import LEASE, Object
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.cluster.errors import NotFoundError, NotLeadingError
from topicschema.cluster.lease import Elector


@pytest.fixture
def connection(cluster: Cluster) -> ApiConnection:
    return ApiConnection.load(str(cluster.kubeconfig))


async def lease(client: ApiClient, namespace: str) -> Object:
    return (await client.get(LEASE, namespace, NAME))["spec"]


async def test_a_missing_lease_is_created(client: ApiClient, connection: ApiConnection, namespace: str) -> None:
    with pytest.raises(NotFoundError):
        await client.get(LEASE, namespace, NAME)
    async with candidates(namespace, FOR_EVER, a=connection) as made:
        spec = await lease(client, namespace)
        assert spec["holderIdentity"] == made["a"].elector.identity
        assert spec["leaseDurationSeconds"] == 6000
        assert spec["leaseTransitions"] == 0
        assert len(spec["renewTime"]) == len("2026-11-21T05:30:00.000000Z")


async def test_the_next_one_starts_at_once_when_the_work_has_ended(
    client: ApiClient, connection: ApiConnection, namespace: str
) -> None:
    async with candidates(namespace, FOR_EVER, a=connection, b=connection) as made:
        made["a"].done.set()
        await log_of(made).until(lambda log: log == ["a begins", "a ends", "b begins"])
        await made["a"].running
        assert not made["a"].elector.is_leading
        assert made["b"].elector.is_leading
        spec = await lease(client, namespace)
        assert spec["holderIdentity"] == made["b"].elector.identity
        assert spec["leaseTransitions"] == 1


async def test_the_next_one_starts_at_once_when_the_leader_is_cancelled_and_its_work_has_ended(
    connection: ApiConnection, namespace: str
) -> None:
    async with candidates(namespace, FOR_EVER, a=connection, b=connection) as made:
        made["a"].may_end.clear()
        made["a"].running.cancel()
        await made["a"].ending.wait()
        made["a"].running.cancel()  # a second cancellation does not skip the work, either
        await wait_for_renewals(made["b"].elector)
        assert log_of(made).log == ["a begins"]
        made["a"].may_end.set()
        await log_of(made).until(lambda log: log == ["a begins", "a ends", "b begins"])


async def test_work_that_fails_is_raised_and_frees_the_lease(
    client: ApiClient, connection: ApiConnection, namespace: str
) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    elector = Elector(client, namespace, NAME, "a", FOR_EVER)
    with pytest.raises(ZeroDivisionError):
        await elector.run(fail)
    assert (await lease(client, namespace)).get("holderIdentity", "") == ""
    with pytest.raises(NotLeadingError):
        elector.assert_leading()


async def wait_for_renewals(elector: Elector) -> None:
    """Return when the elector has observed three changes of the lease."""
    versions = set()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while len(versions) < 4:
            versions.add(elector._observed.resource_version)
            await asyncio.sleep(0.01)


async def test_a_leader_renews_and_two_of_one_name_are_two(
    client: ApiClient, connection: ApiConnection, namespace: str
) -> None:
    async with candidates(namespace, FOR_EVER, a=connection) as made:
        twin = Elector(client, namespace, NAME, "a", FOR_EVER)
        twins_turn = asyncio.create_task(twin.run(made["a"]._work))
        await wait_for_renewals(twin)
        assert log_of(made).log == ["a begins"]
        assert not twin.is_leading
        twins_turn.cancel()


async def test_a_lease_that_is_renewed_lasts_longer_than_it_would_without(
    client: ApiClient, connection: ApiConnection, namespace: str
) -> None:
    async with candidates(namespace, TIMES, a=connection, b=connection) as made:
        first = datetime.fromisoformat((await lease(client, namespace))["renewTime"])

        async def renewed() -> datetime:
            return datetime.fromisoformat((await lease(client, namespace))["renewTime"])

        await wait_for(renewed, lambda at: at > first + timedelta(seconds=TIMES.duration))
        assert log_of(made).is_exclusive()  # where the machine stood still, it may have been lost


async def test_a_leader_whose_lease_another_takes_stops(
    client: ApiClient, connection: ApiConnection, namespace: str
) -> None:
    async with candidates(namespace, TIMES, a=connection) as made:
        await client.patch(LEASE, namespace, NAME, {"spec": {"holderIdentity": "another"}})
        # The other never renews: the lease is acquired again, by one whose work had ended.
        await log_of(made).until(lambda log: log[:3] == ["a begins", "a ends", "a begins"])


async def test_a_leader_whose_lease_is_deleted_stops_before_it_takes_a_new_one(
    client: ApiClient, connection: ApiConnection, namespace: str
) -> None:
    async with candidates(namespace, FOR_EVER, a=connection, b=connection) as made:

        async def has_observed_a_holder() -> bool:
            return bool(made["b"].elector._observed.holder)

        await wait_for(has_observed_a_holder, bool)  # an elector without this takes a missing lease for a free one
        await client.delete(LEASE, namespace, NAME)
        await log_of(made).until(lambda log: log == ["a begins", "a ends", "a begins"])
        assert (await lease(client, namespace))["leaseTransitions"] == 0
