"""Audits that Kubernetes starts by their schedule, in real pods, with tables in an object store."""

import json

import pytest
from pyarrow import compute, dataset

from support.validation.executor_runs import wait_for
from support.validation.node_namespace import RetainedShop, conditions
from support.validation.pod_object_store import PodStore
from support.validation.topic_orders import NARROWER, Share

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

_COUNT = 20_000
_RESOURCES = {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
_EACH_MINUTE = {"schedule": "* * * * *", "proposed": "FULL"}


@pytest.mark.parametrize(("executors", "is_killed"), [(0, False), (2, False), (2, True)])
def test_an_audit_has_the_same_figures_in_one_pod_and_in_executors(
    store: PodStore, shop: RetainedShop, *, executors: int, is_killed: bool
) -> None:
    expected, runs = Share(_COUNT), shop.executed_by_spark
    shop.fill(*expected.parts)
    shop.rest.upload_version(json.dumps(NARROWER))
    (store.store.folder / "audit").mkdir()
    destination = store.store.uri("audit/prod")
    shop.apply_registry(template={"resources": _RESOURCES}, executors=executors, destination=destination)
    with store.serve_credentials():
        shop.apply_policy(audit=_EACH_MINUTE)
        driver = wait_for(runs.driver, bool)
        if executors:
            lost = wait_for(runs.executors_now, bool)
        if is_killed:
            runs.delete(lost[0])
            runs.delete(driver)
        status = shop.audited("Audited", 600)
    audit = status["audit"]
    assert (audit["topics"], audit["messages"], audit["invalid"]) == (1, _COUNT, expected.bad)
    assert conditions(status)["Audited"]["status"] == "True"
    folder = store.store.folder / audit["tables"].removeprefix("s3://")
    by_version = dataset.dataset(folder / "messages_by_version", partitioning="hive").to_table()
    assert compute.sum(by_version["messages"]).as_py() == _COUNT
    assert dataset.dataset(folder / "bad_messages", partitioning="hive").count_rows() == expected.bad
    assert (folder.parent / "audit.html").exists()
