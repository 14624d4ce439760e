"""The one node goes down while messages are read, with all that runs there, and is started again."""

import json

import pytest

from support.kubernetes.pods import Pods
from support.validation.executor_runs import ExecutedRuns, until
from support.validation.node_namespace import RetainedShop
from support.validation.topic_orders import NARROWER, WRITTEN, Share
from testbed.kind import Node
from testbed.nodes import GivenNode
from testbed.progress import Progress

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

_COUNT = 100_000
_ALL = 100
_VERDICTS = (0, 42)
_RESOURCES = {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"cpu": "500m", "memory": "2Gi"}}


def test_a_run_whose_node_goes_down_is_tried_again_by_an_operator_that_comes_back_with_it(
    node: Node | GivenNode, operator: Pods, shop: RetainedShop
) -> None:
    if isinstance(node, GivenNode):
        pytest.skip("the node is not ours to go down")
    expected, runs, before = Share(_COUNT), ExecutedRuns(shop.pods), _started(operator)
    shop.rest.uploaded(json.dumps(WRITTEN))
    shop.fill(*expected.parts)
    shop.govern("Gate", template={"resources": _RESOURCES})
    with shop.paced():
        shop.propose(NARROWER)
        first = runs.begun(runs.driver())
        assert runs.percent(first) < _ALL
        node.go_down()
    Node.start(node.instance, Progress())

    assert runs.ended(first)["exitCode"] not in _VERDICTS
    assert runs.driver(first)
    until(
        lambda: _started(operator), lambda current: all(current.get(name, 0) > count for name, count in before.items())
    )
    validation = shop.ready("ValidationFailed", 300)["validation"]
    assert (validation["messages"], validation["invalid"]) == (_COUNT, expected.bad)
    assert validation["byReason"] == expected.by_reason
    assert shop.pods.wait_for_job(validation["job"], "Failed")["status"]["failed"] == 2  # the node's end, the verdict
    assert shop.rest.versions() == [0]


def _started(operator: Pods) -> dict[str, int]:
    """Return the number of starts of each of the operator's ready pods."""
    pods = operator.cluster.get("-n", operator.namespace, "pods")["items"]
    statuses = {each["metadata"]["name"]: each["status"]["containerStatuses"][0] for each in pods}
    return {name: status["restartCount"] + 1 for name, status in statuses.items() if status["ready"]}
