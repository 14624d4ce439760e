"""Runs without a verdict, and gates over topics that have nothing to judge or hold nothing back.

Real Jobs, a real broker, the operator in pods.
"""

import json
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

_NOBODYS = 1
_TOO_SHORT, _LONG = 20, 600
_AT_ONCE = {"resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "2Gi"}}}


@pytest.fixture(scope="module", autouse=True)
def unreached(operator: Pods, validation_image: str, broker: Pulsar) -> Iterator[RetainedShop]:
    """A topic whose broker does not answer: it begins first, for a run is patient for a minute and a half."""
    with _begun(operator, broker, _nowhere(broker)) as shop:
        yield shop


@pytest.fixture(scope="module", autouse=True)
def unknown(operator: Pods, validation_image: str, broker: Pulsar) -> Iterator[RetainedShop]:
    """A topic whose broker does not take the pods' token: it begins first, too, for a run is tried three times."""
    credentials = broker.credentials
    with _begun(operator, broker, {}, "" if credentials is None else credentials.tokens.expired) as shop:
        yield shop


@pytest.fixture(scope="module", autouse=True)
def overdue(operator: Pods, validation_image: str, broker: Pulsar) -> Iterator[RetainedShop]:
    """A topic whose run would wait for its broker longer than it may take: it begins first, to be looked at last."""
    with _begun(operator, broker, _nowhere(broker), activeDeadlineSeconds=_TOO_SHORT) as shop:
        yield shop


def _nowhere(broker: Pulsar) -> dict[str, str]:
    called = urlsplit(broker.service_url)
    return {"serviceURL": f"{called.scheme}://{called.hostname}:{_NOBODYS}"}


@contextmanager
def _begun(
    operator: Pods, broker: Pulsar, pulsar: dict[str, str], token: str = "", **validation: Any
) -> Iterator[RetainedShop]:
    """A namespace with messages about which it is asked in vain."""
    pods = Pods(operator.cluster, f"t-{secrets.token_hex(4)}")
    pods.create_namespace()
    shop = RetainedShop(pods, broker, RetainedTopic.create(broker, "created"), token)
    shop.rest.upload_version(json.dumps(WRITTEN))
    shop.fill(whole(1_000))
    shop.govern("Gate", pulsar, template=_AT_ONCE, **validation)
    shop.propose(WIDER)
    yield shop
    operator.cluster.kubectl("delete", "namespace", pods.namespace, "--wait=false")


def test_a_report_holds_nothing_back_and_tells_what_cannot_be_read(shop: RetainedShop) -> None:
    expected = Share(2_000)
    shop.rest.upload_version(json.dumps(WRITTEN))
    shop.fill(*expected.parts)
    shop.govern("Report")
    shop.propose(NARROWER)
    assert shop.ready("Registered")["schemaVersion"] == 1

    status = shop.validated("Failed")

    assert (status["validation"]["invalid"], status["validation"]["byReason"]) == (expected.bad, expected.by_reason)
    said = conditions(status)
    assert (said["Ready"]["status"], said["Validated"]["status"]) == ("True", "False")


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


def test_a_broker_that_cannot_be_reached_is_no_verdict_and_the_status_says_so(unreached: RetainedShop) -> None:
    said = unreached.wait_for_message("Validated", "the previous try failed: it ended with status 3: ", 300)

    assert f"{urlsplit(unreached.broker.service_url).hostname}:{_NOBODYS}: Connection refused" in said["message"]
    assert (said["status"], said["reason"]) == ("Unknown", "Validating")
    assert unreached.rest.versions() == [0]


def test_a_token_that_the_broker_does_not_take_is_no_verdict_and_the_status_says_what_to_do(
    unknown: RetainedShop,
) -> None:
    if unknown.broker.credentials is None:
        pytest.skip("the broker is not ours, and asks for no token")
    unknown.validated("Error", 400)

    said = conditions(unknown.status)["Validated"]

    assert (said["status"], said["reason"]) == ("Unknown", "ValidationError")
    assert "the run's role needs the permission to consume from the topic" in said["message"]
    assert unknown.rest.versions() == [0]


def test_a_run_past_its_deadline_is_no_verdict_and_goes_anew_when_that_is_raised_and_not_before(
    overdue: RetainedShop,
) -> None:
    overdue.validated("Error")
    said = conditions(overdue.status)
    (job,) = overdue.jobs  # a minute later none was made: waiting alone mends nothing

    assert {one["reason"] for one in job["status"]["conditions"] if one["type"] == "Failed"} == {"DeadlineExceeded"}
    why = f"it did not end within {_TOO_SHORT} seconds: raise activeDeadlineSeconds, or judge a sample"
    assert why in said["Validated"]["message"]
    assert (said["Validated"]["status"], said["Validated"]["reason"]) == ("Unknown", "ValidationError")
    assert (said["Ready"]["status"], said["Ready"]["reason"]) == ("False", "ValidationError")
    assert overdue.rest.versions() == [0]

    overdue.govern("Gate", _nowhere(overdue.broker), template=_AT_ONCE, activeDeadlineSeconds=_LONG)
    overdue.validated("Running")
    assert sorted(each["spec"]["activeDeadlineSeconds"] for each in overdue.jobs) == [_TOO_SHORT, _LONG]
    assert overdue.rest.versions() == [0]
