"""Executors that the kernel kills at their limit of memory: the figures stay, or the run names the field to raise."""

import pytest

from support.validation.executor_runs import allowed, wait_for
from support.validation.memory_limits import SqueezedPods
from support.validation.node_namespace import RetainedShop, conditions
from support.validation.topic_orders import NARROWER, Share
from testbed import audit
from testbed.kind import Node

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

_COUNT = 100_000
_ALL = 100
_FIELD = "raise template.resources.limits.memory"


def test_one_executor_out_of_memory_is_replaced_and_a_run_without_any_left_names_the_field_to_raise(
    own_node: Node, shop: RetainedShop
) -> None:
    runs, expected = shop.executed_by_spark, Share(_COUNT)
    squeezed = SqueezedPods(runs, own_node)
    shop.fill(*expected.parts)
    since = audit.position(runs.audit_log)
    resources = {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}}
    shop.govern("Gate", executors=2, template={"resources": resources})
    with shop.throttle():
        shop.propose(NARROWER)
        ended = squeezed.squeeze_all_until_ended(first := runs.driver())
        assert (ended["exitCode"], ended["message"]) == (3, f"OutOfMemory: executors ran out of memory: {_FIELD}")
        assert shop.wait_for_message("Ready", _FIELD, 120)["status"] == "False"
        assert conditions(shop.status)["Validated"]["status"] == "Unknown"
        assert shop.rest.versions() == [0]
        assert runs.no_executor_is_left(first)

        second = runs.wait_for_reading(runs.driver(first))  # by itself; now one executor alone is short of memory
        lost, surviving = runs.executors(2)
        squeezed.squeeze(lost)
        wait_for(runs.executors_now, lambda current: surviving in current and lost not in current and len(current) > 1)
        assert runs.percent(second) < _ALL
    validation = shop.ready("ValidationFailed", 300)["validation"]

    assert (validation["messages"], validation["invalid"]) == (_COUNT, expected.bad)
    assert validation["byReason"] == expected.by_reason
    assert "OOMKilled" in runs.log(second)
    assert runs.no_executor_is_left(second)
    assert runs.requests(since) == allowed()
    assert shop.rest.versions() == [0]
