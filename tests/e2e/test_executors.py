"""Runs with executors, in pods that a real driver makes, and runs that cannot start: losses change no figure.

Each test takes longer than five seconds: pods start for each run.
"""

import json
import re
from collections.abc import Iterator

import pytest

from support.validation.executor_runs import ACCOUNT, ExecutedRuns, allowed, wait_for
from support.validation.node_namespace import MESSAGES, RetainedShop, conditions
from support.validation.topic_orders import NARROWER, WIDER, Share, whole
from testbed import audit
from testbed.kind import Node

pytestmark = pytest.mark.timeout(900)

_FEW, _MANY = 20_000, max(MESSAGES, 100_000)
_ALL = 100
_RESOURCES = {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}}
_OF_ENDED = ("pods", "delete")  # by its name an executor is deleted that ended by itself: here none does
_BETWEEN_PODS = "ip saddr 10.244.0.0/16 ip daddr 10.244.0.0/16 tcp flags & (syn | ack) == syn"  # kind's pods
_FENCE = f"""table ip fence {{
  chain forward {{
    type filter hook forward priority 0
    {_BETWEEN_PODS} tcp dport 7078 counter accept
    {_BETWEEN_PODS} tcp dport 7079 counter accept
    {_BETWEEN_PODS} counter drop
  }}
}}"""


@pytest.fixture
def fence(own_node: Node) -> Iterator[Node]:
    """Yield a node with the effect of a NetworkPolicy: pods connect to each other at the two ports alone, counted."""
    own_node.inside("nft", "-f", "-", stdin=_FENCE)
    yield own_node
    own_node.inside("nft", "delete", "table", "ip", "fence")


def test_a_gate_with_two_executors_refuses_invalid_messages_and_leaves_no_executor(
    own_node: Node, shop: RetainedShop
) -> None:
    expected, runs = Share(_FEW), shop.executed_by_spark
    shop.fill(*expected.parts)
    shop.govern("Gate", executors=2, template={"resources": _RESOURCES})
    since = audit.position(runs.audit_log)
    shop.propose(NARROWER)

    validation = shop.ready("ValidationFailed", 400)["validation"]

    assert (validation["messages"], validation["invalid"]) == (_FEW, expected.bad)
    assert validation["byReason"] == expected.by_reason
    assert shop.rest.versions() == [0]
    assert runs.executors(0) == []
    assert ("pods", "create") in runs.requests(since)
    assert validation["plan"].endswith("judged by 2 Spark executors")
    report = json.loads(shop.report["report.json"])
    assert (report["spark"]["executors"], report["spark"]["failedTasks"]) == (2, 0)


@pytest.mark.full
def test_executors_count_exactly_though_a_driver_and_an_executor_are_deleted_halfway(
    fence: Node, shop: RetainedShop
) -> None:
    expected, runs = Share(_MANY), shop.executed_by_spark
    shop.fill(*expected.parts)
    binding = shop.runs.cluster.get("-n", shop.runs.namespace, "rolebinding", ACCOUNT)
    shop.runs.cluster.kubectl("-n", shop.runs.namespace, "delete", "rolebinding", ACCOUNT)
    shop.govern("Gate", executors=2, template={"resources": _RESOURCES})
    with shop.throttle():
        shop.propose(NARROWER)
        ended = runs.wait_for_end(first := runs.driver())
        assert (ended["exitCode"], "cannot get resource" in ended["message"]) == (3, True), ended
        since = audit.position(runs.audit_log)
        shop.runs.apply({**binding, "metadata": {"name": ACCOUNT}})
        _lose_driver_and_executor(runs, first)
    validation = shop.ready("ValidationFailed", 400)["validation"]

    assert (validation["messages"], validation["invalid"]) == (_MANY, expected.bad)
    assert validation["byReason"] == expected.by_reason
    report = json.loads(shop.report["report.json"])
    assert sum(each["messages"] for each in report["byPartition"]) == _MANY
    assert shop.rest.versions() == [0]
    assert runs.executors(0) == []
    at_driver, at_blocks, elsewhere = _connections(fence)
    assert (at_driver > 0, at_blocks > 0, elsewhere) == (True, True, 0)
    assert runs.requests(since) | {_OF_ENDED} == allowed()  # a request only if one ends by itself


def _lose_driver_and_executor(runs: ExecutedRuns, before: str) -> None:
    """Delete the next driver, whose executors end with it, and then an executor of the driver after that."""
    second = runs.wait_for_reading(runs.driver(before))
    runs.executors(2)
    runs.delete(second)
    runs.executors(0)
    third = runs.wait_for_reading(runs.driver(second))
    lost, surviving = runs.executors(2)
    runs.delete(lost)
    assert surviving in runs.executors(2)
    assert runs.percent(third) < _ALL


@pytest.mark.full
def test_the_obstacle_of_a_run_is_reported_and_never_a_verdict(shop: RetainedShop) -> None:
    shop.fill(whole(1_000))
    shop.govern("Gate", template={"image": "registry.invalid/validation:none", "resources": _RESOURCES})
    shop.propose(WIDER)
    wait_for(lambda: _message(shop), lambda message: "its image cannot be pulled" in message)

    shop.govern("Gate", template={"resources": {"limits": {"memory": "64Mi"}}})
    wait_for(lambda: _message(shop), lambda message: "it ran out of memory" in message)
    assert conditions(shop.status)["Validated"]["status"] == "Unknown"
    assert shop.rest.versions() == [0]

    shop.govern("Gate", template={"resources": _RESOURCES})
    assert shop.ready("Registered", 300)["validation"]["messages"] == 1_000
    assert shop.rest.versions() == [0, 1]


def _message(shop: RetainedShop) -> str:
    ready = conditions(shop.status).get("Ready", {})
    assert ready.get("status") != "True"
    return str(ready.get("message"))


def _connections(fence: Node) -> list[int]:
    """Return the connections that pods opened to each other: at each of the two ports, and elsewhere."""
    rules = fence.inside("nft", "list", "table", "ip", "fence")
    return [int(number) for number in re.findall(r"counter packets (\d+)", rules)]
