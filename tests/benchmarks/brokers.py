"""Requests to a real broker and their times: adoption, rest, an edit, and an edit while another broker is silent.

All requests go through a proxy that counts, the anchors' too. A broker gets at most 20 requests a second after a burst
of 40: that bounds how fast many topics are adopted, and edits are measured at less than that.
"""

import asyncio
import datetime as dt
import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from benchmarks.rows import Goal, Row, beside, bounded, row
from benchmarks.schemas import schema
from benchmarks.stage import NAMESPACE, Stage, create, policy, stage, topic_schema
from support.pulsar.rest_topic import RestTopic
from testbed import audit, broker_faults, brokers
from testbed.calls import Call
from testbed.fault_proxy import FaultProxy
from testbed.product import NAMESPACE as SYSTEM
from testbed.progress import Progress
from testbed.pulsar import Pulsar
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.cluster.client import ApiClient

_TOPICS = 2_000
_SIZE, _EDITS, _ROUNDS = 2_000, 40, 3
_PACE = 20.0
_OF_TOPIC = re.compile("/(schemas|(non-)?persistent)/[^/]+/[^/]+/[^/]+/")  # its settings, too; no list of topics
_ILL, _ILL_TOPICS = "bench-ill", 20
_BULK, _BULK_TOPICS = "bench-bulk", 300
_BULK_SECONDS = 600
_CLIENTS = 6
_BESIDE_OTHERS = 3_000
_USER = f"system:serviceaccount:{SYSTEM}:topicschema-controller"
_FLOOR = Goal(1.1, at_most=True)
_BESIDE_SILENCE = Goal(1.25, at_most=True)


def measure() -> Iterator[Row]:
    """Yield rows of adoption, rest, an edit, and an edit beside a silent broker and beside many edits of others."""
    brokers.prepare(Progress())
    period = 2 * _TOPICS / _PACE
    with stage({"TOPICSCHEMA_RESYNC_PERIOD": str(period)}) as on:
        pulsar = brokers.start(on.plane.instance)
        with FaultProxy.before(pulsar) as proxy, FaultProxy.before(pulsar) as other:
            yield from _adoption(on, proxy)
            yield from _rest(proxy, period)
            on.product.start_webhook()
            on.product.admit()
            yield from asyncio.run(_edits(on, proxy))
            yield from asyncio.run(_beside_silence(on, proxy, other))
            yield from asyncio.run(_beside_bulk(on, proxy))


def _adoption(on: Stage, proxy: FaultProxy) -> Iterator[Row]:
    """Measure topics that the broker has with one version each, from the controller's start until all are settled."""
    pulsar = proxy.upstream
    _make_namespaces(pulsar, "orders", "ill", "bulk")
    _govern(on, NAMESPACE, "orders", proxy)
    names = create(on, "adopt", _TOPICS, _SIZE)
    text = schema(_SIZE)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: RestTopic(pulsar, "shop/orders", name).upload_version(text), names))
    log = on.plane.cluster.audit_log
    if log is None:
        raise RuntimeError("the stage's API server keeps no audit log")
    since, began = audit.settled(log), dt.datetime.now(dt.UTC)
    on.product.start_controller()
    on.wait_until_ready(_TOPICS, 600 + _TOPICS)
    audit.settled(log)
    last = max(one.at for one in audit.writes(log, since, _USER) if one.resource == TOPIC_SCHEMA.plural)
    seconds = (dt.datetime.fromisoformat(last) - began).total_seconds()
    floor = (_TOPICS - 40) / _PACE
    yield beside(f"{_TOPICS} topics adopted", seconds, "s", ("one request each at 20 a second", floor))
    requests = sum(map(_is_of_topic, proxy.calls))
    yield bounded("requests to adopt a topic with one version", requests / _TOPICS, "", 3)
    yield bounded("uploads while adopting", sum(call.is_write and _is_of_topic(call) for call in proxy.calls), "", 0)


def _rest(proxy: FaultProxy, period: float) -> Iterator[Row]:
    """Measure the requests when nothing changes, once the reconciles have spread."""
    time.sleep(1.25 * period)
    proxy.clear()
    window = max(30.0, period / 2)
    time.sleep(window)
    calls = list(proxy.calls)
    floor = _TOPICS * 60 / period
    anchor = ("one GET for each topic and period", floor)
    yield beside(f"requests a minute at rest, period {period:g} s", len(calls) * 60 / window, "1/min", anchor, _FLOOR)
    kinds = Counter(_kind(call) for call in calls)
    fetches = kinds["GET schema"] or 1
    yield bounded("requests for each fetch of a topic", sum(_is_of_topic(call) for call in calls) / fetches, "", 1)


def _kind(call: Call) -> str:
    return f"{call.method} {call.path.rpartition('/')[2]}"


def _is_of_topic(call: Call) -> bool:
    return _OF_TOPIC.search(call.path) is not None


@dataclass(frozen=True, slots=True)
class _Editor:
    """An editor, which applies schemas and returns the milliseconds until they are Ready.

    It reads the object every `poll` seconds. Many editors at once must not load the API server by that.
    """

    client: ApiClient
    namespace: str = NAMESPACE
    pulsar_namespace: str = "shop/orders"
    poll: float = 0.005

    async def edit(self, name: str, text: str, seconds: float = 120) -> float:
        wire = self.topic(name, text)
        began = time.perf_counter()
        wire = await self.client.apply(TOPIC_SCHEMA, self.namespace, name, wire, field_manager="bench")
        generation = wire["metadata"]["generation"]
        async with asyncio.timeout(seconds):
            while True:
                wire = await self.client.get(TOPIC_SCHEMA, self.namespace, name)
                if _is_ready(wire, generation):
                    return (time.perf_counter() - began) * 1000
                await asyncio.sleep(self.poll)

    async def put(self, name: str, text: str) -> None:
        """Apply, and do not wait."""
        await self.client.apply(TOPIC_SCHEMA, self.namespace, name, self.topic(name, text), field_manager="bench")

    def topic(self, name: str, text: str) -> dict[str, Any]:
        wire = topic_schema(name, text)
        spec = {**wire["spec"], "topic": f"persistent://{self.pulsar_namespace}/{name}"}
        return {**wire, "metadata": {"name": name, "namespace": self.namespace}, "spec": spec}


def _is_ready(wire: dict[str, Any], generation: int) -> bool:
    conditions = (each for each in wire.get("status", {}).get("conditions", ()) if each["type"] == "Ready")
    return any(each["status"] == "True" and each["observedGeneration"] == generation for each in conditions)


async def _edits(on: Stage, proxy: FaultProxy) -> list[Row]:
    """Measure edits by the operator and bare uploads in turn, both of topics with as many versions."""
    bare, ours, requests = [], [], []
    through = Pulsar(proxy.url, "")
    anchor = RestTopic(through, "shop/orders", "bare")
    async with on.client() as client:
        editor = _Editor(client)
        for revision in range(_EDITS + 2):
            text = schema(_SIZE, revision)
            bare.append(await _time(partial(anchor.upload_version, text)))
            proxy.clear()
            ours.append(await editor.edit("edited", text))
            requests.append(sum("/edited/" in call.path for call in proxy.calls))
            await asyncio.sleep(0.3)  # less than the pace
    plain, governed = statistics.median(bare[2:]), statistics.median(ours[2:])
    return [
        beside(f"apply to Ready at a broker, median of {_EDITS}", governed, "ms", ("the bare upload", plain)),
        row("added by the operator to an upload, median", governed - plain, "ms"),
        bounded("requests for an edit", statistics.median(requests[2:]), "", 4),
    ]


async def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    await asyncio.to_thread(work)
    return (time.perf_counter() - began) * 1000


async def _beside_silence(on: Stage, proxy: FaultProxy, other: FaultProxy) -> list[Row]:
    """Measure edits while another broker responds, and while it is silent and all its topics were edited; in turn."""
    _govern(on, _ILL, "ill", other)
    names = [f"ill-{number}" for number in range(_ILL_TOPICS)]
    calm: list[float] = []
    beside_ill: list[float] = []
    async with on.client() as client:
        editor, ill = _Editor(client), _Editor(client, _ILL, "shop/ill")
        for name in names:
            await ill.edit(name, schema(_SIZE))
        revision = 1000
        for _ in range(_ROUNDS):
            for times, is_silent in ((calm, False), (beside_ill, True)):
                if is_silent:
                    other.fault = broker_faults.silence(600)
                    for name in names:
                        await ill.put(name, schema(_SIZE, revision))
                    await asyncio.sleep(2)
                for _ in range(_EDITS // _ROUNDS):
                    revision += 1
                    times.append(await editor.edit(f"calm-{revision % 2}", schema(_SIZE, revision)))
                    await asyncio.sleep(0.3)
                if is_silent:
                    other.fault = broker_faults.forward
                    other.cut()
                    await asyncio.gather(*(ill.edit(name, schema(_SIZE, revision)) for name in names))
    proxy.clear()
    median = statistics.median
    anchor = ("while it answers", median(calm))
    return [beside("apply to Ready while another broker is silent", median(beside_ill), "ms", anchor, _BESIDE_SILENCE)]


async def _beside_bulk(on: Stage, proxy: FaultProxy) -> list[Row]:
    """Measure edits under one policy while another one, at the same broker, gets many TopicSchemas, and then edits."""
    _govern(on, _BULK, "bulk", proxy)
    async with on.client() as client:
        editor, bulk = _Editor(client), _Editor(client, _BULK, "shop/bulk", 1.0)
        revisions = count(2_000)
        others = asyncio.gather(
            *(bulk.edit(f"bulk-{number}", schema(_SIZE), _BULK_SECONDS) for number in range(_BULK_TOPICS))
        )
        beside_applies = await _edit_until(lambda _edits: others.done(), editor, revisions)
        await others
        edits = [asyncio.create_task(_edit_without_end(bulk, number)) for number in range(_CLIENTS)]
        beside_edits = await _edit_until(lambda edits: edits >= _EDITS, editor, revisions)
        for each in edits:
            each.cancel()
        await asyncio.gather(*edits, return_exceptions=True)
    bulk_name = f"apply to Ready while another policy gets {_BULK_TOPICS} TopicSchemas at the same broker, p99"
    edits_name = f"apply to Ready while {_CLIENTS} clients edit another policy's {_BULK_TOPICS} without end, p99"
    return [
        bounded(bulk_name, _p99(beside_applies), "ms", _BESIDE_OTHERS),
        bounded(edits_name, _p99(beside_edits), "ms", _BESIDE_OTHERS),
    ]


async def _edit_until(is_over: Callable[[int], bool], editor: _Editor, revisions: Iterator[int]) -> list[float]:
    """Return the times of edits, one after the other with pauses, until it is over after that number of them."""
    times: list[float] = []
    while not is_over(len(times)):
        revision = next(revisions)
        times.append(await editor.edit(f"calm-{revision % 2}", schema(_SIZE, revision), _BULK_SECONDS))
        await asyncio.sleep(0.3)
    return times


async def _edit_without_end(bulk: _Editor, client: int) -> None:
    """Edit a client's share of the topics again and again, as fast as the API server takes the edits."""
    for revision in count(1):
        for number in range(client, _BULK_TOPICS, _CLIENTS):
            await bulk.put(f"bulk-{number}", schema(_SIZE, revision))


def _p99(times: list[float]) -> float:
    return sorted(times)[int(0.99 * (len(times) - 1))]


def _make_namespaces(pulsar: Pulsar, *names: str) -> None:
    pulsar.call("PUT", "/tenants/shop", {"allowedClusters": pulsar.call("GET", "/clusters")})
    for name in names:
        pulsar.call("PUT", f"/namespaces/shop/{name}")


def _govern(on: Stage, namespace: str, pulsar_namespace: str, proxy: FaultProxy) -> None:
    items = policy(namespace, f"shop/{pulsar_namespace}", pulsar={"adminURL": proxy.url})
    on.plane.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(items))
