"""Audits that Kubernetes starts by their schedule, in real pods, with tables in an object store."""

import json
from typing import Any

import pytest
from pyarrow import compute, dataset

from support.validation.executor_runs import wait_for
from support.validation.node_namespace import RetainedShop, conditions
from support.validation.pod_object_store import PodStore
from support.validation.topic_orders import NARROWER, Share
from topicschema.validation.job import audits

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

_COUNT, _MANY = 20_000, 200_000
_RESOURCES = {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
_EACH_MINUTE = {"schedule": "* * * * *", "proposed": "FULL"}


@pytest.mark.parametrize(("executors", "is_killed"), [(0, False), (2, False), (2, True)])
def test_an_audit_has_the_same_figures_in_one_pod_and_in_executors(
    store: PodStore, shop: RetainedShop, *, executors: int, is_killed: bool
) -> None:
    runs = shop.executed_by_spark
    prepare(store, shop, executors, _COUNT)
    with store.serve_credentials():
        shop.apply_policy(audit=_EACH_MINUTE)
        driver = wait_for(runs.driver, bool)
        if executors:
            lost = wait_for(runs.executors_now, bool)
        if is_killed:
            runs.delete(lost[0])
            runs.delete(driver)
        status = shop.audited("Audited", 600)
    check(store, status, _COUNT)


def test_four_executors_that_read_at_once_have_the_same_figures_if_one_is_killed(
    store: PodStore, shop: RetainedShop
) -> None:
    runs = shop.executed_by_spark
    prepare(store, shop, 4, _MANY)
    with store.serve_credentials():
        shop.apply_policy(audit={**_EACH_MINUTE, "schedule": "@yearly"})
        shop.audited("AuditPending")
        with shop.throttle(120):
            start_with_small_tasks(shop)
            runs.delete(runs.executors(4)[0])
        status = shop.audited("Audited", 600)
    check(store, status, _MANY)


def prepare(store: PodStore, shop: RetainedShop, executors: int, messages: int) -> None:
    """Fill the topic, and apply the registry."""
    shop.fill(*Share(messages).parts)
    shop.rest.upload_version(json.dumps(NARROWER))
    (store.store.folder / "audit").mkdir()
    destination = store.store.uri("audit/prod")
    shop.apply_registry(template={"resources": _RESOURCES}, executors=executors, destination=destination)


def start_with_small_tasks(shop: RetainedShop) -> None:
    """Start an audit by hand, with so small tasks that these messages occupy all executors."""
    name, pods = audits.audit_name(shop.pods.namespace, "orders"), shop.runs
    config_map = pods.cluster.get("-n", pods.namespace, "configmap", name)
    config = json.loads(config_map["data"][audits.CONFIG_FILE])
    config["options"]["maxBytesPerPartition"] = "200k"
    patch = json.dumps({"data": {audits.CONFIG_FILE: json.dumps(config)}})
    pods.cluster.kubectl("-n", pods.namespace, "patch", "configmap", name, "--type=merge", "-p", patch)
    pods.cluster.kubectl("-n", pods.namespace, "create", "job", f"--from=cronjob/{name}", f"{name}-now")


def check(store: PodStore, status: dict[str, Any], messages: int) -> None:
    """Check the figures of the status, and those of the tables."""
    audit, bad = status["audit"], Share(messages).bad
    assert (audit["topics"], audit["messages"], audit["invalid"]) == (1, messages, bad)
    assert conditions(status)["Audited"]["status"] == "True"
    folder = store.store.folder / audit["tables"].removeprefix("s3://")
    by_version = dataset.dataset(folder / "messages_by_version", partitioning="hive").to_table()
    assert compute.sum(by_version["messages"]).as_py() == messages
    assert dataset.dataset(folder / "bad_messages", partitioning="hive").count_rows() == bad
    assert (folder.parent / "audit.html").exists()
