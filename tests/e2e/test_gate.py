"""A gate over a topic's messages decides on a version: real Jobs, a real broker, the operator in pods.

TOPICSCHEMA_TEST_MESSAGES is the number of messages, else 20,000, in a full run 2,000,000. Each test takes longer than
five seconds: a pod starts for each run.
"""

import json

import pytest

from support.validation.node_namespace import MESSAGES, READERS, SUPERUSERS, RetainedShop, conditions
from support.validation.topic_orders import NARROWER, NARROWER_STILL, WIDER, WRITTEN, Share, whole

pytestmark = pytest.mark.timeout(900)


def test_a_gate_registers_a_schema_that_reads_all_messages(shop: RetainedShop) -> None:
    shop.fill(whole(1_000))
    shop.govern("Gate")
    shop.propose(WRITTEN)
    assert shop.ready("Registered")["schemaVersion"] == 0
    assert shop.jobs == []

    shop.propose(WIDER)
    status = shop.ready("Registered")

    assert status["schemaVersion"] == 1
    assert shop.rest.versions() == [0, 1]
    validation = status["validation"]
    assert (validation["phase"], validation["messages"], validation["invalid"]) == ("Passed", 1_000, 0)
    assert conditions(status)["Validated"]["reason"] == "Passed"
    (pod,) = shop.pods.pods_of_job(validation["job"])
    assert pod["spec"]["automountServiceAccountToken"] is False
    if shop.broker.credentials is not None:
        assert [name in json.dumps(pod["spec"]) for name in (READERS, SUPERUSERS)] == [True, False]
    assert json.loads(shop.report["report.json"])["messages"] == 1_000


@pytest.mark.full
def test_a_gate_ends_the_run_for_a_newer_edit_and_refuses_a_schema_that_reads_not_all(shop: RetainedShop) -> None:
    expected = Share(MESSAGES)
    shop.fill(*expected.parts)
    shop.govern("Gate")
    shop.propose(NARROWER_STILL)
    first = shop.running()
    assert conditions(shop.status)["Ready"]["reason"] == "Validating"

    shop.propose(NARROWER)
    shop.gone(first)
    status = shop.ready("ValidationFailed", 800)

    validation, current = status["validation"], conditions(status)
    assert (validation["phase"], validation["messages"], validation["invalid"]) == ("Failed", MESSAGES, expected.bad)
    assert validation["byReason"] == expected.by_reason
    assert 0 < len(validation["examples"]) <= 10
    assert all("value" not in each and each["publishedAt"] and each["offset"] >= 0 for each in validation["examples"])
    assert f"{expected.bad} of {MESSAGES} messages" in current["Validated"]["message"]
    assert current["Stalled"]["status"] == "True"
    assert shop.rest.versions() == [0]
    report = json.loads(shop.report["report.json"])
    assert (report["messages"], report["invalid"], report["verdict"]) == (MESSAGES, expected.bad, "Fail")
    assert sum(each["messages"] for each in report["byPartition"]) == MESSAGES
