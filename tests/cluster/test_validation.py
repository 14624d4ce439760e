"""The gate and the report on a real API server, with Kubernetes' own Job controller and no node."""

from collections.abc import AsyncIterator, Iterator

import pytest

from support.kubernetes.watched_namespace import conditions, says, text, until, watched
from support.validation.validated_namespace import ENVIRONMENT, GATE, REPORT, ValidatedShop
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product

pytestmark = pytest.mark.timeout(180)

ONE, TWO = text("id"), text("id", "note?")


@pytest.fixture(scope="module")
def validating(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """Yield the controller, with an image to validate with."""
    with Product.controlling(instance, cluster, {**PATIENT_LEASE, **ENVIRONMENT}) as installed:
        yield installed


@pytest.fixture
async def shop(validating: Product, cluster: Cluster, namespace: str) -> AsyncIterator[ValidatedShop]:
    cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    async with watched(cluster, namespace) as shop:
        yield ValidatedShop(shop)


async def test_a_gate_registers_what_passes_and_nothing_is_written_afterwards(shop: ValidatedShop) -> None:
    shop.watched.govern(validation=GATE)
    shop.watched.put(ONE)
    (job,) = await shop.running()
    status = await shop.validation("Running")
    assert conditions(status)["Ready"]["reason"] == "Validating"
    assert says(status)["Reconciling"] == "True"
    assert says(status)["Validated"] == "Unknown"
    assert status.get("schemaVersion") is None
    assert await shop.watched.looked_again() == []
    await shop.passes(job)
    status = await shop.watched.ready("Registered")
    assert status["schemaVersion"] == 0
    assert (status["validation"]["phase"], status["validation"]["messages"]) == ("Passed", 1000)
    assert conditions(status)["Validated"]["reason"] == "Passed"
    assert await shop.watched.looked_again() == []
    shop.watched.delete("tsc/created")
    await shop.gone(job)


async def test_a_gate_blocks_an_edit_that_fails_until_another_one_passes(shop: ValidatedShop) -> None:
    shop.watched.govern(validation=GATE)
    shop.watched.put(ONE)
    (job,) = await shop.running()
    await shop.fails(job)
    status = await shop.watched.ready("ValidationFailed")
    assert says(status)["Stalled"] == "True"
    assert says(status)["Registered"] == "False"
    assert "3 of 1000 messages" in conditions(status)["Validated"]["message"]
    assert status["validation"]["byReason"] == [{"reason": "TRUNCATED", "path": "$.total", "messages": 3}]
    assert status["validation"]["examples"][0]["message"] == "5:7:-1"
    assert status["versionCount"] == 0
    assert await shop.watched.looked_again() == []
    shop.watched.put(TWO)
    (job,) = await shop.running()
    await shop.passes(job, 0)
    assert (await shop.watched.ready("Registered"))["versionCount"] == 1


async def test_a_missing_account_of_executors_is_reported_in_the_clusters_words(shop: ValidatedShop) -> None:
    template = {"serviceAccountName": "reader"}
    shop.watched.govern(validation={**GATE, "executors": 2, "template": template})
    shop.watched.put(ONE)
    (job,) = await shop.running()
    status = await shop.watched.ready("ValidationError")
    assert 'serviceaccount "reader" not found' in conditions(status)["Ready"]["message"]
    shop.watched.apply(shop.watched.shop.policy(validation=GATE))
    first = job["metadata"]["uid"]
    (job,) = await until(shop.jobs, lambda jobs: first not in [each["metadata"]["uid"] for each in jobs] and bool(jobs))
    await shop.passes(job)
    await shop.watched.ready("Registered")


async def test_topics_take_turns_and_the_end_of_one_starts_the_next(shop: ValidatedShop) -> None:
    shop.watched.govern(validation=GATE)
    for name in ("a", "b", "c"):
        shop.watched.put(ONE, name)
    await shop.running(2)
    (waiting,) = [job for job in await until(shop.jobs, lambda jobs: len(jobs) == 3) if job["spec"]["suspend"]]
    first, second = await shop.running(2)
    await shop.passes(first)
    await until(shop.jobs, lambda jobs: not any(job["spec"]["suspend"] for job in jobs))
    for job in (second, waiting):
        await shop.passes(job)
    for name in ("a", "b", "c"):
        await shop.watched.ready("Registered", name)


@pytest.mark.parametrize("by", ["the Job's own rules", "a quota"])
async def test_a_job_that_is_refused_leaves_a_sound_topic_ready_and_is_created_once_that_is_fixed(
    shop: ValidatedShop, by: str
) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": shop.namespace}}
    wrong = {"template": {"resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}}}
    if by == "a quota":
        shop.watched.apply({**quota, "spec": {"hard": {"count/jobs.batch": "0"}}})

        async def known() -> str:
            return shop.watched.shop.run("get", "quota/none", "-o", "jsonpath={.status.hard}").stdout

        await until(known, bool)  # before, a Job is refused in other words
    shop.watched.govern(validation=REPORT if by == "a quota" else {**REPORT, **wrong})
    shop.watched.put(ONE)
    status = await shop.validation("Error")
    assert (says(status)["Ready"], says(status)["Validated"]) == ("True", "Unknown")
    assert "its Job cannot be created" in conditions(status)["Validated"]["message"]
    assert await shop.watched.looked_again() == ["create jobs"]  # refused once more, and nothing else
    if by == "a quota":
        shop.watched.delete("quota/none")
    shop.watched.apply(shop.watched.shop.policy(validation={**REPORT, "activeDeadlineSeconds": 60}))
    (job,) = await shop.running()
    await shop.passes(job)
    assert conditions(await shop.validation("Passed"))["Validated"]["reason"] == "Passed"
