"""`topicschema storage bench` with a real API server and a real PostgreSQL: it measures, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys

import psycopg

from faults.world import until
from postgresql.conftest import open_storage
from support.kubernetes.registries import registry
from testbed import install
from testbed.cluster import Cluster
from testbed.product import NAMESPACE as SYSTEM
from topicschema.cli.storage_bench import REGISTRY
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.postgresql.storage import PostgresStorage
from topicschema.testing.storage_contract import append, text

OWN = TopicKey("prod", Topic("shop", "orders", "created"))
LEFT = TopicKey(REGISTRY, Topic("topicschema", "storage-bench", "topic-0"))
BLOCKED = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'topicschema_version'::regclass"


def start(cluster: Cluster, *options: str, url: str = "") -> "subprocess.Popen[str]":
    variables = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    if url:
        variables |= {
            "TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE": "postgresql",
            "TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL": url,
        }
    command = [sys.executable, "-m", "topicschema", "storage", "bench", *options]
    return subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(cluster: Cluster, *options: str, url: str = "") -> tuple[int, str, str]:
    with start(cluster, *options, url=url) as process:
        output, errors = process.communicate()
    return process.returncode, output, errors


def names(url: str) -> list[str]:
    """Return the names of all histories and payloads in the database."""
    with psycopg.connect(url) as connection:
        query = "SELECT name FROM topicschema_history UNION ALL SELECT name FROM topicschema_version ORDER BY name"
        return [name for (name,) in connection.execute(query)]


def test_it_measures_kubernetes_as_the_controller_and_leaves_nothing(cleared: Cluster) -> None:
    with install.guards(cleared):
        code, output, errors = run(cleared, "-o", "json")
    assert (code, errors) == (0, "")
    result = json.loads(output)
    assert result["storage"] == "kubernetes"
    assert [each["operation"] for each in result["operations"]] == ["put", "get", "history"]
    for each in result["operations"]:
        assert each["perSecond"] > 0
        assert 0 < each["p50Milliseconds"] <= each["p99Milliseconds"]
    assert not cleared.kubectl("get", "schemahistories,schemaversions", "-n", SYSTEM, "-o", "name")


async def test_topics_of_the_registry_are_not_touched_unless_they_are_to_be_removed(
    cleared: Cluster, storage: PostgresStorage, schema_url: str
) -> None:
    await append(storage, OWN, text("one"))
    before = names(schema_url)
    code, output, _ = run(cleared, url=schema_url)
    assert (code, output.splitlines()[0]) == (0, "postgresql: 8 topics at once, 25 versions of 2,000 bytes each")
    assert names(schema_url) == before

    await append(storage, LEFT, text("one"))
    occupied = names(schema_url)
    code, output, errors = run(cleared, url=schema_url)
    assert (code, output, "storage bench --remove" in errors) == (1, "", True), errors
    assert names(schema_url) == occupied
    cleared.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(registry(REGISTRY)))
    code, _, errors = run(cleared, "--remove", url=schema_url)
    assert (code, "there is a SchemaRegistry" in errors) == (1, True), errors
    cleared.kubectl("delete", "schemaregistry", REGISTRY)
    assert names(schema_url) == occupied
    assert run(cleared, "--remove", url=schema_url) == (0, "removed 1 topics\n", "")
    assert names(schema_url) == before


async def test_a_signal_ends_it_after_the_removal(cleared: Cluster, schema_url: str) -> None:
    storage = open_storage(schema_url)  # creates the tables
    await storage.get_history(OWN)
    await storage.aclose()
    with psycopg.connect(schema_url) as lock, start(cleared, url=schema_url) as process:
        lock.execute("LOCK TABLE topicschema_version IN EXCLUSIVE MODE")
        with psycopg.connect(schema_url, autocommit=True) as connection:
            until(lambda: connection.execute(BLOCKED).fetchone() == (8,), "a blocked write of each topic")
        process.send_signal(signal.SIGINT)
        lock.rollback()
        output, errors = process.communicate()
    assert (process.returncode, output, errors) == (-signal.SIGINT, "", "")
    assert names(schema_url) == []
