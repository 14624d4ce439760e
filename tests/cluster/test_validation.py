"""The gate and the report on a real API server, with Kubernetes' own Job controller and no node."""

from collections.abc import AsyncIterator, Callable

import pytest

from support.kubernetes.plain_api import Api
from support.kubernetes.watched_namespace import conditions, statuses, text, wait_for
from support.validation.validated_namespace import GATE, REPORT, SPARK_IMAGE, ValidatedShop
from testbed.cluster import Cluster
from testbed.product import VALIDATION, Product
from topicschema.api import GROUP
from topicschema.api.kinds import CONFIG_MAP, JOB
from topicschema.validation.job.manifest import EXECUTOR_TEMPLATE, EXECUTORS_ANNOTATION, part_map

pytestmark = pytest.mark.timeout(180)

ONE, TWO = text("id"), text("id", "note?")


@pytest.fixture
def shop(validated: ValidatedShop) -> ValidatedShop:
    return validated


async def test_a_gate_registers_what_passes_and_nothing_is_written_afterwards(shop: ValidatedShop) -> None:
    shop.govern(GATE)
    shop.watched.put(ONE)
    (job,) = await shop.running()
    status = await shop.validation("Running")
    assert conditions(status)["Ready"]["reason"] == "Validating"
    assert statuses(status)["Reconciling"] == "True"
    assert statuses(status)["Validated"] == "Unknown"
    assert status.get("schemaVersion") is None
    assert await shop.watched.writes_of_a_reconcile() == []
    await shop.pass_validation(job)
    status = await shop.watched.ready("Registered")
    assert status["schemaVersion"] == 0
    assert (status["validation"]["phase"], status["validation"]["messages"]) == ("Passed", 1000)
    assert conditions(status)["Validated"]["reason"] == "Passed"
    assert await shop.watched.writes_of_a_reconcile() == []
    shop.watched.delete("tsc/created")
    await shop.gone(job)


async def test_a_gate_blocks_an_edit_that_fails_until_another_one_passes(shop: ValidatedShop) -> None:
    shop.govern(GATE)
    shop.watched.put(ONE)
    (job,) = await shop.running()
    await shop.fail_validation(job)
    status = await shop.watched.ready("ValidationFailed")
    assert statuses(status)["Stalled"] == "True"
    assert statuses(status)["Registered"] == "False"
    assert "3 of 1000 messages" in conditions(status)["Validated"]["message"]
    assert status["validation"]["byReason"] == [{"reason": "TRUNCATED", "path": "$.total", "messages": 3}]
    assert status["validation"]["examples"][0]["message"] == "5:7:-1"
    assert status["versionCount"] == 0
    assert await shop.watched.writes_of_a_reconcile() == []
    shop.watched.put(TWO)
    (job,) = await shop.running()
    await shop.pass_validation(job, 0)
    assert (await shop.watched.ready("Registered"))["versionCount"] == 1


async def test_a_run_that_needs_executors_gets_a_job_with_them_at_once(shop: ValidatedShop) -> None:
    shop.govern(GATE, maxExecutors=4)
    shop.watched.put(ONE)
    (planning,) = await shop.running()
    assert planning["metadata"]["annotations"][EXECUTORS_ANNOTATION] == "0"
    await shop.need_executors(planning, 9)
    (job,) = await shop.running()
    pod = job["spec"]["template"]["spec"]
    assert (job["metadata"]["annotations"][EXECUTORS_ANNOTATION], pod["containers"][0]["image"]) == ("4", SPARK_IMAGE)
    assert pod["automountServiceAccountToken"] is True
    template = await shop.watched.shop.client.get(CONFIG_MAP, VALIDATION, part_map(job["metadata"]["name"], 0))
    assert EXECUTOR_TEMPLATE in template["data"]
    await shop.pass_validation(job)
    await shop.watched.ready("Registered")
    assert await shop.watched.writes_of_a_reconcile() == []


async def test_a_missing_account_is_reported_in_the_clusters_words(shop: ValidatedShop) -> None:
    shop.govern(GATE, podTemplate={"serviceAccountName": "reader"})
    shop.watched.put(ONE)
    (job,) = await shop.running()
    status = await shop.watched.ready("ValidationError")
    assert 'serviceaccount "reader" not found' in conditions(status)["Ready"]["message"]
    shop.govern(GATE)
    first = job["metadata"]["uid"]
    (job,) = await wait_for(
        shop.jobs, lambda jobs: first not in [each["metadata"]["uid"] for each in jobs] and bool(jobs)
    )
    await shop.pass_validation(job)
    await shop.watched.ready("Registered")


async def test_topics_take_turns_and_the_end_of_one_starts_the_next(shop: ValidatedShop) -> None:
    shop.govern(GATE)
    for name in ("a", "b", "c"):
        shop.watched.put(ONE, name)
    await shop.running(2)
    (waiting,) = [job for job in await wait_for(shop.jobs, lambda jobs: len(jobs) == 3) if job["spec"]["suspend"]]
    first, second = await shop.running(2)
    await shop.pass_validation(first)
    await wait_for(shop.jobs, lambda jobs: not any(job["spec"]["suspend"] for job in jobs))
    for job in (second, waiting):
        await shop.pass_validation(job)
    for name in ("a", "b", "c"):
        await shop.watched.ready("Registered", name)


@pytest.fixture
async def quota_end(cluster: Cluster) -> AsyncIterator[Callable[[], object]]:
    """Yield the function that ends a quota of no Jobs in the validation namespace, which ends with the test at last."""
    api = Api(cluster)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": VALIDATION}}
    api.apply("resourcequotas", {**quota, "spec": {"hard": {"count/jobs.batch": "0"}}})

    async def used() -> object:
        status = (api.get("resourcequotas", VALIDATION, "none") or {}).get("status", {})
        return status.get("used", {}).get("count/jobs.batch")

    await wait_for(used, lambda count: count == "0")  # a refusal has the number of Jobs, also of those of other tests
    yield lambda: api.delete("resourcequotas", VALIDATION, "none")
    if api.get("resourcequotas", VALIDATION, "none"):
        api.delete("resourcequotas", VALIDATION, "none")


async def test_a_job_that_its_own_rules_refuse_leaves_a_sound_topic_ready(shop: ValidatedShop) -> None:
    wrong = {"resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}}
    shop.govern(REPORT, podTemplate=wrong)
    await _is_refused_and_created_once_that_is_fixed(shop, lambda: None)


async def test_a_job_that_a_quota_refuses_leaves_a_sound_topic_ready(
    shop: ValidatedShop, quota_end: Callable[[], object]
) -> None:
    shop.govern(REPORT)
    await _is_refused_and_created_once_that_is_fixed(shop, quota_end)


async def _is_refused_and_created_once_that_is_fixed(shop: ValidatedShop, fix: Callable[[], object]) -> None:
    shop.watched.put(ONE)
    status = await shop.validation("Error")
    assert (statuses(status)["Ready"], statuses(status)["Validated"]) == ("True", "Unknown")
    assert "its Job cannot be created" in conditions(status)["Validated"]["message"]
    assert await shop.watched.writes_of_a_reconcile() == ["create jobs"]  # refused once more, and nothing else
    fix()
    shop.govern({**REPORT, "activeDeadlineSeconds": 60})
    (job,) = await shop.running()
    await shop.pass_validation(job)
    assert conditions(await shop.validation("Passed"))["Validated"]["reason"] == "Passed"


async def test_a_run_belongs_to_its_topic_by_labels_and_the_tenant_has_nothing_but_the_report(
    shop: ValidatedShop, cluster: Cluster
) -> None:
    cluster.kubectl("label", "namespace", shop.namespace, "example.com/team=payments")
    shop.govern(GATE, teamLabel="example.com/team")
    shop.watched.put(ONE)
    (job,) = await shop.running()
    labels = job["metadata"]["labels"]
    assert job["metadata"].get("ownerReferences") is None
    assert labels[f"{GROUP}/namespace"] == shop.namespace
    assert (labels[f"{GROUP}/topicschema"], labels[f"{GROUP}/team"]) == ("created", "payments")
    assert labels[f"{GROUP}/uid"] == (await shop.watched.get())["metadata"]["uid"]
    pod = await shop.pod_of(job)
    assert pod["metadata"]["labels"].items() >= labels.items()
    assert pod["spec"]["serviceAccountName"] == VALIDATION
    assert await shop.watched.shop.client.list(JOB, shop.namespace) == []
    await shop.pass_validation(job)
    await shop.watched.ready("Registered")


@pytest.mark.parametrize("is_created_again", [False, True], ids=["deleted", "created again"])
async def test_a_job_of_a_resource_that_was_deleted_while_the_controller_was_down_is_removed(
    shop: ValidatedShop, validating: Product, *, is_created_again: bool
) -> None:
    shop.govern(GATE)
    shop.watched.put(ONE)
    (job,) = await shop.running()
    validating.controller.kill()
    try:
        shop.watched.delete("tsc/created")
        if is_created_again:
            shop.watched.put(TWO)
    finally:
        validating.start_controller()
    await shop.gone(job)
    if is_created_again:
        (job,) = await shop.running()
        await shop.pass_validation(job)
        await shop.watched.ready("Registered")
