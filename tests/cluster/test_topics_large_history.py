"""A topic with very many versions at its broker: few requests, bounded memory, a small status.

A full run takes 5,000, half of a record's limit, for some minutes.
"""

import json
import tracemalloc

import pytest

from support.kubernetes.watched_namespace import text, watch_shop
from support.pulsar.reconciler_process import process
from support.pulsar.schema_service import Entry, PulsarSchemas
from support.pulsar.schema_service_rest import run_schema_broker
from support.sizes import sized
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import Product
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.reconcile.runtime.work_queue import ReconcileResult
from topicschema.storage.kubernetes.storage import KubernetesStorage

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

_VERSIONS = sized(150, 5_000)  # more than a status shows
_TEXT_BYTES = 500  # together less than the operator accepts in one response, and caches of it
_STATUS_BYTES = 64 * 1024
NOW = "2026-11-21T06:00:00Z"


def version(number: int) -> SchemaInfo:
    """Return a schema of half a kilobyte that no other number has."""
    return SchemaInfo(SchemaType.AVRO, text("id", f"f{number}?", doc="x" * _TEXT_BYTES).encode())


async def test_very_many_versions_are_adopted_at_once(cluster: Cluster, instance: Instance, namespace: str) -> None:
    Product.install(instance, cluster).admit_all()
    schemas = PulsarSchemas(lambda: NOW)
    async with run_schema_broker(schemas) as broker, watch_shop(cluster, namespace) as shop, process(shop) as running:
        topic = "created"
        schemas.entries[topic] = tuple(Entry(number, version(number), NOW) for number in range(_VERSIONS))
        shop.shop.apply_registry({"adminURL": broker.url})
        shop.apply(shop.shop.policy(schemaCompatibilityStrategy="FULL"))
        await running.govern()
        shop.put(text("id", "late?"))
        before = running.writes
        tracemalloc.start()
        assert await running.settle() is ReconcileResult.DONE
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        before_it = f"GET schema/{_VERSIONS - 1}"
        assert broker.calls == ["GET schema", "GET metadata", "GET schemas", "POST schema", "GET schema", before_it]
        stored = await KubernetesStorage(shop.shop.client, SYSTEM).get_history(shop.shop.key())
        assert [entry.schema_version for entry in stored.history.entries] == list(range(_VERSIONS + 1))
        status = (await shop.get())["status"]
        assert (status["schemaVersion"], status["versionCount"], len(status["versions"])) == (
            _VERSIONS,
            _VERSIONS + 1,
            100,
        )
        assert len(json.dumps(status)) < _STATUS_BYTES
        # The payloads, the history with them, the claim, our own version with its history, the status.
        assert running.writes - before == _VERSIONS + 1 + 1 + 2 + 1
        broker.calls.clear()
        written = running.writes
        assert await running.settle() is ReconcileResult.DONE
        assert (broker.calls, running.writes) == (["GET schema"], written)
        assert peak < (30 << 20) + 10_000 * _VERSIONS
