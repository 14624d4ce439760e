"""The elector on a real API server: who begins, who waits, and how the lease looks; silence is in the file beside."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from support.kubernetes.electors import NAME, PATIENCE, TIMES, Candidate, Office, candidates, office_of
from support.kubernetes.watched_namespace import until
from testbed.cluster import Cluster
from topicschema.api.kinds import LEASE
from topicschema.cluster.client import ApiClient, Object
from topicschema.cluster.connection import Connection
from topicschema.cluster.errors import NotFoundError, NotLeadingError
from topicschema.cluster.lease import Elector, LeaseTimes

FOR_EVER = LeaseTimes(duration=6000.0, renew_deadline=4000.0, retry=0.1)


@pytest.fixture
def connection(cluster: Cluster) -> Connection:
    return Connection.load(str(cluster.kubeconfig))


@pytest.fixture
async def client(connection: Connection) -> AsyncIterator[ApiClient]:
    async with ApiClient(connection) as client:
        yield client


async def lease(client: ApiClient, namespace: str) -> Object:
    return (await client.get(LEASE, namespace, NAME))["spec"]


async def test_a_missing_lease_is_created(client: ApiClient, connection: Connection, namespace: str) -> None:
    with pytest.raises(NotFoundError):
        await client.get(LEASE, namespace, NAME)
    async with candidates(namespace, TIMES, a=connection) as made:
        spec = await lease(client, namespace)
        assert spec["holderIdentity"] == made["a"].elector.identity
        assert spec["leaseDurationSeconds"] == 3
        assert spec["leaseTransitions"] == 0
        assert len(spec["renewTime"]) == len("2026-11-21T05:30:00.000000Z")


async def test_the_next_one_starts_at_once_when_the_work_has_ended(
    client: ApiClient, connection: Connection, namespace: str
) -> None:
    async with candidates(namespace, FOR_EVER, a=connection, b=connection) as made:
        made["a"].done.set()
        await office_of(made).until(lambda log: log == ["a begins", "a ends", "b begins"])
        await made["a"].running
        assert not made["a"].elector.is_leading
        assert made["b"].elector.is_leading
        spec = await lease(client, namespace)
        assert spec["holderIdentity"] == made["b"].elector.identity
        assert spec["leaseTransitions"] == 1


async def test_the_next_one_starts_at_once_when_the_leader_is_cancelled_and_its_work_has_ended(
    connection: Connection, namespace: str
) -> None:
    async with candidates(namespace, FOR_EVER, a=connection, b=connection) as made:
        made["a"].running.cancel()
        await asyncio.sleep(0.05)
        assert office_of(made).log == ["a begins"]
        made["a"].running.cancel()  # who is in a hurry does not get past the work either
        await office_of(made).until(lambda log: log == ["a begins", "a ends", "b begins"])


async def test_a_lease_is_free_after_its_leader_was_cancelled(
    client: ApiClient, connection: Connection, namespace: str
) -> None:
    async with candidates(namespace, FOR_EVER, a=connection) as made:
        made["a"].running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await made["a"].running
        assert office_of(made).log == ["a begins", "a ends"]
        assert (await lease(client, namespace)).get("holderIdentity", "") == ""


async def test_work_that_fails_is_raised_and_frees_the_lease(
    client: ApiClient, connection: Connection, namespace: str
) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    elector = Elector(client, namespace, NAME, "a", FOR_EVER)
    with pytest.raises(ZeroDivisionError):
        await elector.run(fail)
    assert (await lease(client, namespace)).get("holderIdentity", "") == ""
    with pytest.raises(NotLeadingError):
        elector.assert_leading()


async def test_a_leader_renews_and_two_of_one_name_are_two(
    client: ApiClient, connection: Connection, namespace: str
) -> None:
    async with candidates(namespace, TIMES, a=connection) as made:
        twin = Elector(client, namespace, NAME, "a", TIMES)
        twins_turn = asyncio.create_task(twin.run(made["a"]._work))
        first = await lease(client, namespace)
        async with asyncio.timeout(PATIENCE):
            while (await lease(client, namespace))["renewTime"] == first["renewTime"]:
                pass
        await asyncio.sleep(TIMES.duration * 1.5)
        assert office_of(made).log == ["a begins"]
        assert not twin.is_leading
        twins_turn.cancel()


async def test_a_leader_whose_lease_is_given_to_another_stops(
    client: ApiClient, connection: Connection, namespace: str
) -> None:
    async with candidates(namespace, TIMES, a=connection) as made:
        await client.patch(LEASE, namespace, NAME, {"spec": {"holderIdentity": "somebody"}})
        await office_of(made).until(lambda log: log == ["a begins", "a ends"])
        assert not made["a"].elector.is_leading
        await office_of(made).until(lambda log: log == ["a begins", "a ends", "a begins"])  # somebody never renews


async def test_a_leader_whose_lease_is_deleted_stops_before_it_takes_a_new_one(
    client: ApiClient, connection: Connection, namespace: str
) -> None:
    async with candidates(namespace, TIMES, a=connection, b=connection) as made:

        async def has_seen_it_held() -> bool:
            return bool(made["b"].elector._seen.holder)

        await until(has_seen_it_held, bool)  # who never saw the lease held takes it for free when it is missing
        await client.delete(LEASE, namespace, NAME)
        await office_of(made).until(lambda log: log[:2] == ["a begins", "a ends"] and len(log) > 2)
        assert (await lease(client, namespace))["leaseTransitions"] == 0


_LEADER = """
import asyncio, sys
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import Connection
from topicschema.cluster.lease import Elector, LeaseTimes

async def work():
    print("leading", flush=True)
    await asyncio.sleep(600)

async def main():
    async with ApiClient(Connection.load(sys.argv[1])) as client:
        await Elector(client, sys.argv[2], sys.argv[3], "killed", LeaseTimes(3.0, 2.0, 0.2)).run(work)

asyncio.run(main())
"""


@pytest.fixture
def leader_process(cluster: Cluster, namespace: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", _LEADER, str(cluster.kubeconfig), namespace, NAME]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "leading\n"
        yield process
        process.kill()


async def test_after_a_leader_was_killed_the_next_one_waits_for_its_lease_to_end(
    client: ApiClient, namespace: str, leader_process: "subprocess.Popen[str]"
) -> None:
    office = Office()
    follower = Candidate(office, "b", Elector(client, namespace, NAME, "b", TIMES))
    async with asyncio.timeout(PATIENCE):
        while not follower.elector._seen.holder.startswith("killed"):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    leader_process.send_signal(signal.SIGKILL)
    leader_process.wait()
    last_renewal_seen = follower.elector._seen.at
    await office.until(lambda log: log == ["b begins"])
    assert time.monotonic() > last_renewal_seen + TIMES.duration
    assert (await lease(client, namespace))["leaseTransitions"] == 1
    follower.running.cancel()
