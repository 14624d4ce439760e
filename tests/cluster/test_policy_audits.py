"""Audits by a schedule on a real API server, with Kubernetes' own controllers and no node.

A test creates a Job of the CronJob as `kubectl create job --from` does, and ends its pod as a kubelet does.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from support.kubernetes.watched_namespace import conditions, wait_for
from support.validation.validated_namespace import SPARK_IMAGE, ValidatedShop
from testbed.product import VALIDATION
from topicschema.api.audits import AuditFigures, AuditFinding
from topicschema.api.kinds import CONFIG_MAP, CRON_JOB, EVENT, JOB, NAMESPACE_SCHEMA_POLICY
from topicschema.api.wire import decode
from topicschema.cluster.errors import NotFoundError
from topicschema.validation.job import audits
from topicschema.validation.job.audits import AuditConfig, AuditDocument

pytestmark = pytest.mark.timeout(180)

PULSAR = {"adminURL": "http://127.0.0.1:1", "serviceURL": "pulsar://127.0.0.1:1", "version": "4.0"}
RUNS = {
    "destination": "s3://audit/prod?region=eu-central-1",
    "maxExecutors": 3,
    "authentication": {"token": {"secretRef": {"name": "reader", "key": "jwt"}}},
}
AUDIT = {"schedule": "0 3 * * *", "timeZone": "Europe/Berlin", "since": "24h", "proposed": "FULL_TRANSITIVE"}
TOPIC = "persistent://shop/orders/created"
FIGURES = AuditFigures(
    topics=3,
    messages=1_000,
    invalid=7,
    findings=(AuditFinding(topic=TOPIC, schema_version=2, rule="TRUNCATED", path="$.id", messages=7),),
    tables="s3://audit/prod/shop/orders/tables-00000001",
)


@pytest.fixture
def shop(validated: ValidatedShop) -> ValidatedShop:
    return validated


def govern(shop: ValidatedShop, audit: Mapping[str, Any] | None = AUDIT, runs: Mapping[str, Any] = RUNS) -> None:
    shop.watched.shop.apply_registry(PULSAR, validation=dict(runs))
    shop.watched.apply(shop.watched.shop.policy(**({} if audit is None else {"audit": audit})))


async def cron_job(shop: ValidatedShop) -> dict[str, Any] | None:
    try:
        return await shop.watched.shop.client.get(CRON_JOB, VALIDATION, audits.audit_name(shop.namespace, "orders"))
    except NotFoundError:
        return None


async def created(shop: ValidatedShop) -> dict[str, Any]:
    wire = await wait_for(lambda: cron_job(shop), lambda wire: wire is not None)
    assert wire is not None
    return wire


async def audited(shop: ValidatedShop, reason: str) -> dict[str, Any]:
    """Return the policy's status once its condition Audited has that reason."""

    async def status() -> dict[str, Any]:
        policy = await shop.watched.shop.client.get(NAMESPACE_SCHEMA_POLICY, shop.namespace, "orders")
        current: dict[str, Any] = policy.get("status", {})
        return current

    return await wait_for(status, lambda status: conditions(status).get("Audited", {}).get("reason") == reason)


async def notes(shop: ValidatedShop) -> list[str]:
    """Return the notes of Events about messages that cannot be read."""
    events = await shop.watched.shop.client.list(EVENT, shop.namespace)
    return [each["note"] for each in events if each["reason"] == "MessagesUnreadable"]


async def start(shop: ValidatedShop, name: str) -> dict[str, Any]:
    """Create a Job of the CronJob, and return it once the controller has started it."""
    wire, client = await created(shop), shop.watched.shop.client
    template = wire["spec"]["jobTemplate"]
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": wire["metadata"]["name"], "controller": True}
    metadata = {"name": f"{shop.namespace}-{name}", "namespace": VALIDATION, **template["metadata"]}
    metadata["ownerReferences"] = [{**owner, "uid": wire["metadata"]["uid"]}]
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]}
    await client.create(JOB, VALIDATION, job)
    return await wait_for(
        lambda: client.get(JOB, VALIDATION, metadata["name"]), lambda started: not started["spec"].get("suspend")
    )


async def test_an_audit_runs_by_its_schedule_and_its_result_is_in_the_status(shop: ValidatedShop) -> None:
    govern(shop)
    spec = (await created(shop))["spec"]
    assert (spec["schedule"], spec["timeZone"], spec["concurrencyPolicy"]) == ("0 3 * * *", "Europe/Berlin", "Forbid")
    await audited(shop, "AuditPending")
    name = audits.audit_name(shop.namespace, "orders")
    data = (await shop.watched.shop.client.get(CONFIG_MAP, VALIDATION, name))["data"]
    config = decode(AuditConfig, json.loads(data[audits.CONFIG_FILE]))
    assert config.output == f"s3://audit/prod/{shop.watched.shop.pulsar_namespace}?region=eu-central-1"
    assert (config.proposed, config.max_executors) == ("FULL_TRANSITIVE", 3)
    assert config.options == {
        "adminUrl": PULSAR["adminURL"],
        "serviceUrl": PULSAR["serviceURL"],
        "namespace": shop.watched.shop.pulsar_namespace,
        "redirectHosts": "127.0.0.1:1",
        "since": "24h",
        "tokenFile": "/credentials/token",
    }
    job = await start(shop, "first")
    pod = await shop.pod_of(job)
    (container,) = pod["spec"]["containers"]
    assert (container["image"], container["args"][0]) == (SPARK_IMAGE, "audit")
    document = AuditDocument(figures=FIGURES, newly_invalid=(TOPIC,))
    await shop.end_pod(job, 0, document.text.decode(), "Completed")
    status = await audited(shop, "Audited")
    assert status["audit"]["job"] == job["metadata"]["name"]
    assert status["audit"]["findings"] == [
        {"topic": TOPIC, "schemaVersion": 2, "rule": "TRUNCATED", "path": "$.id", "messages": 7}
    ]
    assert conditions(status)["Audited"]["message"] == "3 topics, 1,000 messages, 7 of them with a fault"
    (note,) = await wait_for(lambda: notes(shop), bool)
    assert TOPIC in note
    assert await shop.watched.writes_of_a_reconcile("orders", NAMESPACE_SCHEMA_POLICY) == []


async def test_a_failed_audit_is_reported_and_the_last_result_stays(shop: ValidatedShop) -> None:
    govern(shop)
    job = await start(shop, "first")
    await shop.end_pod(job, 0, AuditDocument(figures=FIGURES).text.decode(), "Completed")
    await audited(shop, "Audited")
    job = await start(shop, "second")
    await shop.watched.shop.client.patch(JOB, VALIDATION, job["metadata"]["name"], {"spec": {"backoffLimit": 0}})
    await shop.end_pod(job, 3, "SourceUnreadable: the broker does not answer")
    status = await audited(shop, "AuditFailed")
    assert "SourceUnreadable: the broker does not answer" in conditions(status)["Audited"]["message"]
    assert status["audit"]["messages"] == FIGURES.messages


async def test_an_audit_that_cannot_run_is_reported_and_one_that_is_removed_is_deleted(
    shop: ValidatedShop,
) -> None:
    govern(shop, runs={"maxExecutors": 1})
    message = conditions(await audited(shop, "AuditFailed"))["Audited"]["message"]
    assert "spec.validation.destination" in message
    govern(shop)
    assert await created(shop)
    await audited(shop, "AuditPending")  # else the next condition could be the former one
    govern(shop, audit={**AUDIT, "schedule": "99 99 * * *"})  # which only Kubernetes can judge
    message = conditions(await audited(shop, "AuditFailed"))["Audited"]["message"]
    assert "correct spec.audit" in message
    assert "spec.schedule" in message
    assert "audits go on by the former CronJob" in message
    assert (await created(shop))["spec"]["schedule"] == AUDIT["schedule"]
    govern(shop)
    await audited(shop, "AuditPending")
    govern(shop, audit=None)
    await wait_for(lambda: cron_job(shop), lambda wire: wire is None)
    govern(shop)
    assert await created(shop)
    shop.watched.delete("nsp/orders")
    await wait_for(lambda: cron_job(shop), lambda wire: wire is None)
