"""How many Jobs an operator runs at once, whose turn is next, and when a run that failed is tried again."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest

from support.kubernetes.watched_namespace import conditions, text, until, watched
from support.validation.validated_namespace import ENVIRONMENT, GATE, Object, ValidatedShop
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product
from topicschema.validation.job.manifest import ATTEMPT_ANNOTATION

pytestmark = pytest.mark.timeout(180)

ONE = text("id")
TWO_AT_ONCE = {"TOPICSCHEMA_VALIDATION_JOBS": "2", "TOPICSCHEMA_VALIDATION_JOBS_PER_NAMESPACE": "2"}


@pytest.fixture(scope="module")
def validating(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """The controller, which runs two Jobs at once in all."""
    with Product.controlling(instance, cluster, {**PATIENT_LEASE, **ENVIRONMENT, **TWO_AT_ONCE}) as installed:
        yield installed


@pytest.fixture
async def shops(validating: Product, cluster: Cluster, namespace: str) -> AsyncIterator[list[ValidatedShop]]:
    """Two namespaces that are validated."""
    other = f"{namespace}-b"
    cluster.kubectl("create", "namespace", other)
    async with AsyncExitStack() as stack:
        stack.callback(cluster.kubectl, "delete", "namespace", other, "--wait=false")
        yield [ValidatedShop(await stack.enter_async_context(watched(cluster, each))) for each in (namespace, other)]


async def test_two_run_in_all_and_the_next_is_of_the_namespace_that_has_none(shops: list[ValidatedShop]) -> None:
    many, few = shops
    many.watched.govern(validation=GATE)
    for name in ("a", "b", "c"):
        many.watched.put(ONE, name)
    first, _ = await many.running(2)
    await until(many.jobs, lambda jobs: len(jobs) == 3)
    few.watched.govern(validation=GATE)
    few.watched.put(ONE)
    (waiting,) = await until(few.jobs, lambda jobs: len(jobs) == 1)
    assert waiting["spec"]["suspend"]
    assert (await few.validation("Waiting"))["validation"]["job"] == waiting["metadata"]["name"]
    await many.passes(first)
    (next_one,) = await few.running()
    assert len(await many.running()) == 1
    await few.passes(next_one)
    await few.watched.ready("Registered")
    await many.running(2)


@pytest.mark.full  # the controller looks again after ten seconds, twice
async def test_a_run_that_failed_is_tried_again_after_a_minute_and_then_after_two(shops: list[ValidatedShop]) -> None:
    shop = shops[0]
    shop.watched.govern(validation=GATE)
    shop.watched.put(ONE)
    for attempt, pause in ((1, 60), (2, 120)):
        (job,) = await until(shop.running, lambda jobs: "startTime" in jobs[0]["status"])
        assert job["metadata"]["annotations"][ATTEMPT_ANNOTATION] == str(attempt)
        _ended(shop, job, timedelta())
        status = await shop.watched.ready("ValidationError")
        assert "the operator tries again later" in conditions(status)["Ready"]["message"]
        assert await shop.watched.looked_again() == []
        _ended(shop, job, timedelta(seconds=pause))
    (job,) = await shop.running()
    assert job["metadata"]["annotations"][ATTEMPT_ANNOTATION] == "3"


def _ended(shop: ValidatedShop, job: Object, ago: timedelta) -> None:
    """As the Job controller tells it of one whose pod was deleted too often, so long ago."""
    when = (datetime.now(UTC) - ago).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = {"status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": when, "lastProbeTime": when}
    found = [{"type": each, **told} for each in ("FailureTarget", "Failed")]
    body = {"status": {"conditions": found, "startTime": job["status"]["startTime"], "active": 0, "ready": 0}}
    patch = ("patch", "job", job["metadata"]["name"], "--subresource=status", "--type=merge", "-p", json.dumps(body))
    answer = shop.watched.shop.run(*patch)
    assert answer.returncode == 0, answer.stderr
