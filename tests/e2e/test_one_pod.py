"""A run in one pod: while it goes its progress is told, and an eviction halfway neither changes a figure nor counts."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.validation.executor_runs import ExecutedRuns, until
from support.validation.node_namespace import RetainedShop
from support.validation.topic_orders import NARROWER, WRITTEN, Share
from testbed.node import Node
from testbed.node_part import GivenNode

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

_COUNT = 1_000_000  # enough for it to be seen on the way
_TENTH, _ALL = 10, 100
_RESOURCES = {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"cpu": "500m", "memory": "2Gi"}}


def test_progress_is_told_in_tens_and_a_driver_that_is_evicted_halfway_changes_no_figure(
    node: Node | GivenNode, shop: RetainedShop
) -> None:
    program = shop.broker.pulsar.program
    if isinstance(node, GivenNode) or program is None:
        pytest.skip("the node is not ours: no pod is to be made stand still there")
    expected, runs = Share(_COUNT), ExecutedRuns(shop.pods, program)
    shop.rest.uploaded(json.dumps(WRITTEN))
    shop.fill(*expected.parts)
    shop.govern("Gate", template={"resources": _RESOURCES})
    shop.propose(NARROWER)

    first = runs.driver()
    with _standing_still(node, runs, first):
        told = until(lambda: shop.status["validation"].get("percentInTens", 0), bool)
        assert _TENTH <= told <= runs.percent(first)
        assert told % _TENTH == 0
        runs.evict(first)
    assert runs.driver(first)
    validation = shop.ready("ValidationFailed", 300)["validation"]

    assert (validation["messages"], validation["invalid"]) == (_COUNT, expected.bad)
    assert validation["byReason"] == expected.by_reason
    assert [job["metadata"]["name"] for job in shop.jobs] == [validation["job"]]
    assert shop.pods.wait_for_job(validation["job"], "Failed")["status"]["failed"] == 1  # by its verdict alone
    assert shop.rest.versions() == [0]


@contextmanager
def _standing_still(node: Node, runs: ExecutedRuns, driver: str) -> Iterator[None]:
    """While it lasts that driver stands still: it has told a tenth of its messages or more, and not all."""
    container = until(lambda: runs.container(driver), bool)

    def has_told() -> bool:
        _signal(node, "STOP", container)
        if runs.percent(driver) >= _TENTH:
            return True
        _signal(node, "CONT", container)
        return False

    until(has_told, bool)
    yield
    assert runs.percent(driver) < _ALL
    _signal(node, "CONT", container)


def _signal(node: Node, signal: str, container: str) -> None:
    """Send it to each process of the container."""
    table = node.inside("ctr", "-n", "k8s.io", "tasks", "ps", container)
    numbers = " ".join(re.findall(r"^\d+", table, re.MULTILINE))
    node.inside("sh", "-c", f"kill -{signal} {numbers} || true")  # one may have ended meanwhile
