"""The one node goes down while messages are read, with all that runs there, and is started again."""

import pytest

from support.kubernetes.pods import Pods
from support.validation.executor_runs import ExecutedRuns, wait_for
from support.validation.node_namespace import RetainedShop
from support.validation.topic_orders import NARROWER, Share
from testbed.kind import Node
from testbed.progress import Progress

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

_COUNT = 100_000
_ALL = 100
_VERDICTS = (0, 42)
_RESOURCES = {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"cpu": "500m", "memory": "2Gi"}}


def test_a_run_whose_node_goes_down_is_tried_again_by_an_operator_that_comes_back_with_it(
    own_node: Node, operator: Pods, shop: RetainedShop
) -> None:
    expected, runs, before = Share(_COUNT), ExecutedRuns(shop.pods), _started(operator)
    shop.fill(*expected.parts)
    shop.govern("Gate", template={"resources": _RESOURCES})
    with shop.throttle():
        shop.propose(NARROWER)
        first = runs.wait_for_reading(runs.driver())
        assert runs.percent(first) < _ALL
        own_node.go_down()
    Node.start(own_node.instance, Progress())

    assert runs.wait_for_end(first)["exitCode"] not in _VERDICTS
    assert runs.driver(first)
    wait_for(lambda: _started(operator), lambda now: all(now.get(name, 0) > count for name, count in before.items()))
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
