"""The time of a policy's edit: from the apply until the controller has checked the topic's history.

Each policy has one topic with many versions, of 2 kB each. The edits set BACKWARD_TRANSITIVE, so that the newest
version is judged after all others.
"""

import asyncio
import json
import statistics
import time
from collections.abc import Iterator

from benchmarks.rows import Goal, Row, beside, row
from benchmarks.schemas import schema
from benchmarks.stage import Stage, policy, stage
from testbed.product import NAMESPACE as SYSTEM
from topicschema.core import formats
from topicschema.core.history import History, Origin
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import Stored

_FEW, _MANY, _SIZE, _ROUNDS = 200, 1_000, 2_000, 5
_LINEAR = Goal(1.2 * _MANY / _FEW, at_most=True)


def measure() -> Iterator[Row]:
    """Yield the seconds for few versions, and for many beside few."""
    with stage() as on:
        for count in (_FEW, _MANY):
            asyncio.run(_store(on, count))
        on.product.start_controller()
        on.product.start_webhook()
        on.product.admit()
        seconds: dict[int, list[float]] = {_FEW: [], _MANY: []}
        for _ in range(_ROUNDS):
            for count, times in seconds.items():
                _edit(on, count, "BACKWARD")
                times.append(_edit(on, count, "BACKWARD_TRANSITIVE"))
        few, many = (statistics.median(times) for times in seconds.values())
        yield row(f"policy edit, one topic of {_FEW} versions, BACKWARD_TRANSITIVE", few, "s")
        anchor = (f"one topic of {_FEW} versions", few)
        yield beside(f"policy edit, one topic of {_MANY} versions, BACKWARD_TRANSITIVE", many, "s", anchor, _LINEAR)


async def _store(on: Stage, count: int) -> None:
    """Store a history of that many versions, as if the operator had registered them."""
    texts = (schema(_SIZE, revision) for revision in range(count))
    schemas = [formats.parse(SchemaInfo(SchemaType.AVRO, text.encode())) for text in texts]
    history = History(TopicKey("pulsar", Topic("shop", f"orders-{count}", "created")))
    stored = Stored(history)
    for each in schemas:
        history = history.with_version(each, Origin.SPEC, "2026-11-21T05:30:00Z")
    async with on.client() as client:
        await KubernetesStorage(client, SYSTEM).put(stored, history, tuple(each.info for each in schemas))


def _edit(on: Stage, count: int, strategy: str) -> float:
    """Apply the policy of that topic. Return the seconds until its status is that of this edit."""
    namespace = f"bench-{count}"
    items = policy(namespace, f"shop/orders-{count}", schemaCompatibilityStrategy=strategy)
    kubectl = on.plane.cluster.kubectl
    began = time.monotonic()
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(items))
    while time.monotonic() < began + 300:
        wire = on.plane.cluster.get("nsp", "orders", "-n", namespace)
        if wire.get("status", {}).get("observedGeneration") == wire["metadata"]["generation"]:
            return time.monotonic() - began
        time.sleep(0.05)
    raise TimeoutError(on.product.controller.log_tail())
