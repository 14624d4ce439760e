"""Time from an edit to the verdict of a gate, without and with executors: on 1,000 messages, in pods on a node.

The anchor is the pod's own start-up, in the same rounds: a pod like the Job's, from apply until it has loaded the
modules of a run and ended. The pod that ends at once shows the share of the node. The images are there already.
"""

import secrets
import statistics
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.rows import Goal, Row, beside, row
from support.kubernetes import operator_pods
from support.kubernetes.pods import Pods
from support.validation.node_namespace import RetainedShop
from support.validation.topic_messages import RetainedTopic
from support.validation.topic_orders import WIDER, WRITTEN, whole
from testbed import brokers, helm, images, nodes
from testbed.instances import Instance
from testbed.kind import Node
from testbed.nodes import ExistingNode
from testbed.progress import Progress
from testbed.pulsar import Pulsar

_MESSAGES, _ROUNDS = 1_000, 5
_LOADS = """
from topicschema.validation.run import driver, validators
from topicschema.validation.sources.pulsar import source
"""
_ANCHORS = (("loaded", _LOADS), ("bare", ""))
_GOAL = Goal(2, at_most=True)
_WIDEST = {**WIDER, "fields": [*WIDER["fields"], {"name": "gift", "type": ["null", "string"], "default": None}]}


def measure() -> Iterator[Row]:
    """Yield the rows. Raise SourceMissingError if pods cannot run."""
    progress = Progress()
    nodes.prepare(progress)
    brokers.prepare(progress)
    built = [images.build(name, progress) for name in images.NAMES]
    helm.program(progress)
    instance = Instance.owned()
    try:
        node = nodes.start(instance, progress)
        for image in built:
            node.load(image.archive)
        operator_pods.install(node.cluster)
        yield from _measured(node)
    finally:
        instance.end()


def _measured(node: Node | ExistingNode) -> Iterator[Row]:
    broker = nodes.start_broker(node)
    rounds = [_round(node, broker) for _ in range(_ROUNDS + 1)][1:]
    verdict, by_spark, loaded, bare = (statistics.median(each) for each in zip(*rounds, strict=True))
    anchor = ("the pod's own start-up, with what a run loads", loaded)
    yield beside("from apply to verdict on 1,000 messages, no executors", verdict, "s", anchor, _GOAL)
    yield row("from apply to verdict on 1,000 messages, two executors", by_spark, "s")
    yield row("a pod of the validation image that ends at once, from apply to end", bare, "s")


def _round(node: Node | ExistingNode, broker: Pulsar) -> tuple[float, float, float, float]:
    """Return the seconds to the verdicts of a pod and of executors, of a pod's start-up, and of a pod without work."""
    pods = Pods(node.cluster, f"t-{secrets.token_hex(4)}")
    pods.create_namespace()
    shop = RetainedShop(pods, broker, RetainedTopic.create(broker, "created"))
    shop.fill(whole(_MESSAGES))
    shop.govern("Gate")
    shop.propose(WRITTEN)
    shop.ready("Registered")
    job, verdict = _judged(shop, WIDER)
    (pod,) = shop.runs.pods_of_job(job)
    loaded, bare = (_started(shop.runs, shop.secret(name), pod["spec"], program) for name, program in _ANCHORS)
    shop.govern("Gate", executors=2)
    _, by_spark = _judged(shop, _WIDEST)
    node.cluster.kubectl("delete", "namespace", pods.namespace, seconds=120)
    shop.remove_registry()
    return verdict, by_spark, loaded, bare


def _judged(shop: RetainedShop, schema: dict[str, Any]) -> tuple[str, float]:
    """Propose the schema. Return the Job that judged it, and the seconds to its registration."""
    started = time.monotonic()
    shop.propose(schema)
    job: str = shop.ready("Registered")["validation"]["job"]
    return job, time.monotonic() - started


def _started(pods: Pods, name: str, spec: dict[str, Any], program: str) -> float:
    """Return the seconds until a pod of that spec has run that program."""
    container = {**spec["containers"][0], "args": ["python", "-c", program] if program else ["true"]}
    like = {**spec, "containers": [container], "nodeName": None}
    started = time.monotonic()
    ended = pods.run(name, like)
    seconds = time.monotonic() - started
    if ended.exit_code:
        raise RuntimeError(ended.log)
    return seconds
