"""Runs without a verdict, and gates over topics without messages or with a report only.

Real Jobs, a real broker, the operator in pods.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.kubernetes.pods import Pods
from support.validation.node_namespace import RetainedShop, conditions
from support.validation.topic_messages import RetainedTopic
from support.validation.topic_orders import NARROWER, WIDER, WRITTEN, Share, whole
from testbed.pulsar import Pulsar

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

_UNUSED_PORT = 1
_TOO_SHORT, _LONG = 20, 600
_AT_ONCE = {"resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "2Gi"}}}


@pytest.fixture(scope="module", autouse=True)
def unreached(operator: Pods, validation_image: str, broker: Pulsar) -> Iterator[RetainedShop]:
    """Yield a topic whose broker does not respond. It begins first, because a run waits for a minute and a half."""
    with _begun(operator, broker, _nowhere(broker)) as shop:
        yield shop


@pytest.fixture(scope="module", autouse=True)
def unknown(operator: Pods, validation_image: str, broker: Pulsar) -> Iterator[RetainedShop]:
    """Yield a topic whose broker rejects the pods' token. It begins first, too, because a run is tried three times."""
    credentials = broker.credentials
    with _begun(operator, broker, {}, "" if credentials is None else credentials.tokens.expired) as shop:
        yield shop


@pytest.fixture(scope="module", autouse=True)
def overdue(operator: Pods, validation_image: str, broker: Pulsar) -> Iterator[RetainedShop]:
    """Yield a topic whose run waits for its broker beyond its deadline. It begins first, and is checked last."""
    with _begun(operator, broker, _nowhere(broker), activeDeadlineSeconds=_TOO_SHORT) as shop:
        yield shop


def _nowhere(broker: Pulsar) -> dict[str, str]:
    called = urlsplit(broker.service_url)
    return {"serviceURL": f"{called.scheme}://{called.hostname}:{_UNUSED_PORT}"}


@contextmanager
def _begun(
    operator: Pods, broker: Pulsar, pulsar: dict[str, str], token: str = "", **validation: Any
) -> Iterator[RetainedShop]:
    """Yield a namespace with messages whose validation cannot succeed."""
    pods = Pods(operator.cluster, f"t-{secrets.token_hex(4)}")
    pods.create_namespace()
    shop = RetainedShop(pods, broker, RetainedTopic.create(broker, "created"), token)
    shop.fill(whole(1_000))
    shop.govern("Gate", pulsar, template=_AT_ONCE, **validation)
    shop.propose(WIDER)
    yield shop
    operator.cluster.kubectl("delete", "namespace", pods.namespace, "--wait=false")


def test_a_report_blocks_nothing_and_lists_invalid_messages(shop: RetainedShop) -> None:
    expected = Share(2_000)
    shop.fill(*expected.parts)
    shop.govern("Report")
    shop.propose(NARROWER)
    assert shop.ready("Registered")["schemaVersion"] == 1

    status = shop.validated("Failed")

    assert (status["validation"]["invalid"], status["validation"]["byReason"]) == (expected.bad, expected.by_reason)
    current = conditions(status)
    assert (current["Ready"]["status"], current["Validated"]["status"]) == ("True", "False")


@pytest.mark.parametrize("kind", ["missing", "shop"])
def test_a_topic_without_messages_passes_and_is_left_as_it_is(kind: str, request: pytest.FixtureRequest) -> None:
    shop: RetainedShop = request.getfixturevalue(kind)
    before = shop.broker_topics
    shop.govern("Gate")
    shop.propose(WRITTEN)

    status = shop.ready("Registered")

    assert (status["validation"]["phase"], status["validation"]["messages"]) == ("Passed", 0)
    assert conditions(status)["Validated"]["message"] == "there are no messages to read with this schema"
    assert len(before) == shop.topic.partitions
    assert shop.broker_topics == before
    assert shop.rest.versions() == [0]


def test_a_broker_that_cannot_be_reached_is_no_verdict_and_in_the_status(unreached: RetainedShop) -> None:
    validated = unreached.wait_for_message("Validated", "the previous try failed: it ended with status 3: ", 300)

    assert (
        f"{urlsplit(unreached.broker.service_url).hostname}:{_UNUSED_PORT}: Connection refused" in validated["message"]
    )
    assert (validated["status"], validated["reason"]) == ("Unknown", "Validating")
    assert unreached.rest.versions() == [0]


def test_a_token_that_the_broker_rejects_is_no_verdict_and_the_status_names_the_permission(
    unknown: RetainedShop,
) -> None:
    if unknown.broker.credentials is None:
        pytest.skip("the broker is not ours, and requires no token")
    unknown.validated("Error", 400)

    validated = conditions(unknown.status)["Validated"]

    assert (validated["status"], validated["reason"]) == ("Unknown", "ValidationError")
    assert "the run's role needs the permission to consume from the topic" in validated["message"]
    assert unknown.rest.versions() == [0]


def test_a_run_past_its_deadline_is_no_verdict_and_runs_again_only_when_that_is_raised(overdue: RetainedShop) -> None:
    overdue.validated("Error")
    current = conditions(overdue.status)
    (job,) = overdue.jobs  # a minute later none was made: waiting alone fixes nothing

    assert {one["reason"] for one in job["status"]["conditions"] if one["type"] == "Failed"} == {"DeadlineExceeded"}
    why = f"it did not end within {_TOO_SHORT} seconds: raise activeDeadlineSeconds, or judge a sample"
    assert why in current["Validated"]["message"]
    assert (current["Validated"]["status"], current["Validated"]["reason"]) == ("Unknown", "ValidationError")
    assert (current["Ready"]["status"], current["Ready"]["reason"]) == ("False", "ValidationError")
    assert overdue.rest.versions() == [0]

    overdue.govern("Gate", _nowhere(overdue.broker), template=_AT_ONCE, activeDeadlineSeconds=_LONG)
    overdue.validated("Running")
    assert sorted(each["spec"]["activeDeadlineSeconds"] for each in overdue.jobs) == [_TOO_SHORT, _LONG]
    assert overdue.rest.versions() == [0]
