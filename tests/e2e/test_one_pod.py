"""A run in one pod: it reports progress, and an eviction halfway neither changes a figure nor counts."""

import pytest

from support.validation.executor_runs import wait_for
from support.validation.node_namespace import RetainedShop
from support.validation.topic_orders import NARROWER, Share

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

_COUNT = 200_000
_TENTH, _ALL = 10, 100
_RESOURCES = {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"cpu": "500m", "memory": "2Gi"}}


def test_progress_is_reported_in_tens_and_a_driver_that_is_evicted_halfway_changes_no_figure(
    shop: RetainedShop,
) -> None:
    expected, runs = Share(_COUNT), shop.executed
    shop.fill(*expected.parts)
    shop.govern("Gate", template={"resources": _RESOURCES})
    with shop.throttle(200):
        shop.propose(NARROWER)
        first = runs.driver()
        percent = wait_for(lambda: shop.status.get("validation", {}).get("internal", {}).get("percent", 0), bool)
        assert _TENTH <= percent <= runs.percent(first)
        assert percent % _TENTH == 0
        assert runs.percent(first) < _ALL
        runs.evict(first)
    assert runs.driver(first)
    validation = shop.ready("ValidationFailed", 300)["validation"]

    assert (validation["messages"], validation["invalid"]) == (_COUNT, expected.bad)
    assert validation["byReason"] == expected.by_reason
    assert [job["metadata"]["name"] for job in shop.jobs] == [validation["job"]]
    assert shop.runs.wait_for_job(validation["job"], "Failed")["status"]["failed"] == 1  # by its verdict alone
    assert shop.rest.versions() == [0]
