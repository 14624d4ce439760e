"""Controller and webhook with their store in the database.

The controller is killed (SIGKILL) before and after its writes, and started again. Locks on a table block the writes, so
that the places are the same in each run. The flows are those of `faults`, which run side by side.
"""

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from faults.conftest import measure
from faults.flows import BROKEN, FIRST, FLOWS, Flow
from faults.world import World, until
from support.kubernetes.command_user import CommandUser
from support.kubernetes.plain_api import Api, RefusedError
from support.kubernetes.registry_process import run_registry
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.postgresql import PostgreSQL
from testbed.product import NAMESPACE, PATIENT_LEASE, Product
from topicschema.api.store import history_name
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.plugins import StorageUrl
from topicschema.storage.postgresql.database import synchronous

pytestmark = pytest.mark.timeout(600)

CREATE, EDIT, DELETE = "a policy and its first topic", "a next version", "a deletion whose versions are still compared"
BLOCKED = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %s::regclass"


@dataclass(frozen=True, slots=True)
class StoredWorld(World):
    """A world whose record is in the database."""

    url: str = ""

    def history(self) -> dict[str, Any] | None:
        rows = self._rows("SELECT spec FROM topicschema_history WHERE name = %s")
        assert len(rows) <= 1
        return rows[0] if rows else None

    def payloads(self) -> list[dict[str, Any]]:
        return self._rows("SELECT spec FROM topicschema_version WHERE history = %s")

    def _rows(self, query: str) -> list[dict[str, Any]]:
        name = history_name(TopicKey(self.name, Topic.parse(self.topic)))
        with psycopg.connect(self.url, row_factory=dict_row) as connection:
            return connection.execute(query.encode(), [name]).fetchall()


@dataclass(frozen=True, slots=True)
class Rig:
    """The product with its store in the database."""

    api: Api
    product: Product
    url: str

    def replace_controller(self) -> None:
        """Start another controller in place of the killed one, whose Lease is freed."""
        self.api.merge("leases", NAMESPACE, "topicschema-controller", {"spec": {"holderIdentity": ""}})
        self.product.start_controller()

    @contextmanager
    def locked(self, table: str, mode: str) -> Iterator[psycopg.Connection[Any]]:
        """Hold a lock on the table."""
        with psycopg.connect(self.url) as connection:
            connection.execute(f"LOCK TABLE {table} IN {mode} MODE".encode())
            yield connection
            connection.rollback()

    def until_blocked(self, table: str, number: int) -> None:
        """Wait until that many transactions wait for the table."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            until(lambda: connection.execute(BLOCKED, [table]).fetchone() == (number,), f"{number} at {table}")


@pytest.fixture(scope="module")
def rig(cluster: Cluster, instance: Instance, server: PostgreSQL) -> Iterator[Rig]:
    """Yield a controller whose workers are more than the blocked writes, so that no flow waits for one."""
    url = server.url(server.create_database())
    store = {
        "TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE": "postgresql",
        "TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL": url,
        "TOPICSCHEMA_WORKERS": "16",
    }
    with synchronous(StorageUrl(url)):
        pass  # the tables that the first test locks: the controller may create them later
    with Product.controlling(instance, cluster, {**PATIENT_LEASE, **store}) as product:
        yield Rig(Api(cluster), product, url)


@contextmanager
def worlds(rig: Rig, flows: Sequence[Flow]) -> Iterator[list[StoredWorld]]:
    """Yield a world for each flow, in which it has begun."""
    made = [StoredWorld(rig.api, url=rig.url) for _ in flows]
    try:
        side_by_side([flow.before for flow in flows], made)
        yield made
    finally:
        for world in made:
            world.remove()


def side_by_side(steps: Sequence[Any], made: Sequence[StoredWorld]) -> None:
    """Run the step of each flow in its world."""
    with ThreadPoolExecutor(len(made)) as threads:
        list(threads.map(lambda step, world: step(world), steps, made))


def flows_of(*names: str) -> list[Flow]:
    return [flow for flow in FLOWS if flow.name in names]


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("topicschema_claim", (CREATE,)),
        ("topicschema_version", (CREATE, EDIT)),
        ("topicschema_history", (CREATE, EDIT, DELETE)),
    ],
)
def test_killed_before_a_write_nothing_is_lost_or_written_twice(rig: Rig, table: str, names: tuple[str, ...]) -> None:
    flows = flows_of(*names)
    with worlds(rig, flows) as made:
        with rig.locked(table, "EXCLUSIVE"):
            side_by_side([flow.act for flow in flows], made)
            rig.until_blocked(table, len(flows))
            rig.product.controller.kill()
        rig.replace_controller()
        side_by_side([flow.after for flow in flows], made)


def test_killed_after_the_commit_nothing_is_lost_or_written_twice(rig: Rig) -> None:
    """A second lock waits behind the writes. Once they are committed it blocks the next read of the controller."""
    flows, table = flows_of(CREATE, EDIT, DELETE), "topicschema_history"
    with worlds(rig, flows) as made, ThreadPoolExecutor(1) as thread:
        with rig.locked(table, "EXCLUSIVE") as first:
            side_by_side([flow.act for flow in flows], made)
            rig.until_blocked(table, len(flows))
            with psycopg.connect(rig.url) as second:
                locking = thread.submit(second.execute, f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())
                rig.until_blocked(table, len(flows) + 1)
                first.rollback()
                locking.result()
                rig.product.controller.kill()
                second.rollback()
        rig.replace_controller()
        side_by_side([flow.after for flow in flows], made)


def test_while_the_server_is_away_a_resource_waits_with_its_status(rig: Rig, server: PostgreSQL) -> None:
    (flow,) = flows_of(EDIT)
    with worlds(rig, [flow]) as (world,):
        server.program.send(signal.SIGQUIT)
        server.program.wait()
        flow.act(world)
        waiting = 'topicschema_reconcile_total{kind="topicschemas",result="StorageUnavailable"}'
        until(lambda: measure(rig.product.controller_probe, waiting) > 0, "the controller to miss the server")
        conditions = (world.read() or {})["status"]["conditions"]
        assert {each["type"]: each["status"] for each in conditions}["Ready"] == "True"
        server.run()
        flow.after(world)


def test_the_webhook_judges_with_what_the_controller_registered(rig: Rig) -> None:
    (flow,) = flows_of(EDIT)
    rig.product.start_webhook()
    with worlds(rig, [flow]) as (world,):
        rig.product.admit()
        with pytest.raises(RefusedError, match="FIELD_WITHOUT_DEFAULT"):
            world.apply(BROKEN)
        flow.act(world)
        flow.after(world)
        rig.product.admit_all()


def test_the_administrator_reads_versions_from_the_database(rig: Rig, cluster: Cluster) -> None:
    (flow,) = flows_of(EDIT)
    with worlds(rig, [flow]) as (world,):
        flow.act(world)
        flow.after(world)
        admin = CommandUser(cluster.kubeconfig, world.name, TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL=rig.url)
        assert admin.run(f"get {world.name} --version 0 -o text").stdout == f"{FIRST}\n"
        assert [each["name"] for each in admin.json(f"diff {world.topic}")["changes"]] == ["note"]


def test_the_registry_serves_what_the_database_has(rig: Rig, cluster: Cluster) -> None:
    (flow,) = flows_of(CREATE)
    store = {"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE": "postgresql", "TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL": rig.url}
    with worlds(rig, [flow]) as (world,), run_registry(rig.product, store) as client:
        side_by_side([flow.act], [world])
        side_by_side([flow.after], [world])
        tenant, namespace, name = str(Topic.parse(world.topic)).split("/")
        path = f"/{world.name}/admin/v2/schemas/{tenant}/{namespace}"
        assert client.request("GET", f"{path}/{name}/schema").json["version"] == 0
        other = f"{path}/other/schema"
        for number in (0, 2):
            uploaded = client.request("POST", other, {"type": "INT32", "schema": ""})
            assert uploaded.json == {"version": {"version": number}}, uploaded
            assert client.request("DELETE", other).json == {"version": number + 1}
