"""A gate over files in an object store, in restricted pods with the node's identity."""

import json

import pytest

from support.validation.node_namespace import RetainedShop, conditions
from support.validation.pod_object_store import PodStore
from support.validation.topic_orders import NARROWER, NARROWER_STILL, WIDER, WRITTEN, Share, whole

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

_COUNT = 20_000
_FILE = "archive/orders/created/1.parquet"
_AT_ONCE = {"resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}}}


def test_one_executor_and_one_pod_have_the_same_result_of_files_that_the_node_s_identity_may_read(
    store: PodStore, shop: RetainedShop
) -> None:
    expected, source = Share(_COUNT), {"files": {"uri": store.store.uri("archive/orders/{topic}")}}
    store.put(_FILE, expected.parts)
    shop.rest.upload_version(json.dumps(WRITTEN))
    shop.govern("Gate", source=source, template=_AT_ONCE)
    shop.propose(NARROWER)
    validated = shop.wait_for_message("Validated", "SourceUnreadable: s3://archive/orders/created: ", 120)
    assert "ACCESS_DENIED" in validated["message"]
    assert (validated["status"], shop.rest.versions()) == ("Unknown", [0])

    with store.serve_credentials():
        by_one_pod = shop.ready("ValidationFailed")["validation"]
        assert (by_one_pod["messages"], by_one_pod["invalid"]) == (_COUNT, expected.bad)
        assert by_one_pod["byReason"] == expected.by_reason

        shop.govern("Gate", source=source, executors=1, template=_AT_ONCE)
        shop.propose(NARROWER_STILL)
        by_one_executor = shop.ready("ValidationFailed", 240)["validation"]
        assert by_one_executor["job"] != by_one_pod["job"]
        for field in ("messages", "invalid", "byReason", "examples"):
            assert by_one_executor[field] == by_one_pod[field]
        assert shop.rest.versions() == [0]

        store.put(_FILE, [whole(_COUNT)])
        shop.govern("Gate", source=source, template=_AT_ONCE)
        shop.propose(WIDER)
        status = shop.ready("Registered")

    assert (status["validation"]["messages"], status["validation"]["invalid"]) == (_COUNT, 0)
    assert conditions(status)["Validated"]["reason"] == "Passed"
    assert shop.rest.versions() == [0, 1]
