"""CronJobs of audits: names, labels, and termination messages of any size."""

import pytest

from topicschema.api.audits import AuditFigures, AuditFinding, AuditSpec
from topicschema.validation.job.audits import (
    AuditConfig,
    AuditDocument,
    AuditRequest,
    audit_name,
    config_map,
    cron_job,
    read_document,
    run_hash,
)
from topicschema.validation.job.manifest import RUN_HASH_ANNOTATION


def request(schedule: str = "@daily", name: str = "orders") -> AuditRequest:
    config = AuditConfig(options={"namespace": "shop/orders"}, output="s3://a/b", proposed="Current", max_executors=2)
    return AuditRequest(
        namespace="runs", policy=("shop", name), spec=AuditSpec(schedule=schedule), config=config, image="spark:1"
    )


def test_a_name_is_short_enough_for_a_cron_job_and_unique() -> None:
    long = "p" * 253
    assert len(audit_name("shop", long)) <= 52
    assert len({audit_name(namespace, policy) for namespace in ("a", "b") for policy in (long, f"{long[:-1]}q")}) == 4
    assert audit_name("shop", "v1.orders").startswith("v1-orders-audit-")


def test_all_jobs_of_a_cron_job_wait_for_their_start_and_name_their_policy() -> None:
    template = cron_job(request())["spec"]["jobTemplate"]
    assert template["spec"]["suspend"] is True
    assert template["metadata"]["annotations"] == {"topicschema.io/owner": "shop/orders"}
    assert template["metadata"]["labels"]["topicschema.io/policy"] == "orders"
    assert all(len(value) <= 63 for value in cron_job(request(name="p" * 253))["metadata"]["labels"].values())


def test_the_hash_of_the_config_map_changes_with_all_that_decides_what_runs() -> None:
    annotations = config_map(request(), "uid")["metadata"]["annotations"]
    assert annotations[RUN_HASH_ANNOTATION] == run_hash(request()) != run_hash(request("@hourly"))


@pytest.mark.parametrize("length", [1, 1_000])
def test_a_document_has_space_in_a_termination_message(length: int) -> None:
    topics = tuple(f"persistent://shop/orders/{number:02}{'t' * length}" for number in range(20))
    findings = tuple(AuditFinding(topic=each, rule="TRUNCATED", messages=7) for each in topics)
    figures = AuditFigures(topics=20, messages=10**15, invalid=10**12, findings=findings, tables="s3://a")
    document = AuditDocument(figures=figures, newly_invalid=topics)
    assert len(document.text) <= 4_096
    read = read_document(document.text.decode())
    assert read is not None
    assert (read.figures.messages, read.figures.invalid) == (10**15, 10**12)
    assert read.figures.findings == findings[: len(read.figures.findings)] != ()
    assert read.newly_invalid == topics[: len(read.newly_invalid)] != ()


@pytest.mark.parametrize("text", ["", "killed", "[]", '{"format":2,"figures":{}}'])
def test_another_text_is_no_document(text: str) -> None:
    assert read_document(text) is None
