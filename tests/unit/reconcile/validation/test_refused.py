"""A request that cannot be validated is an error of the condition Validated: the topic stays as it was."""

import pytest

from support.kubernetes.topic import KEY
from support.schemas.examples import record
from support.validation.validated_topic import JOBS, VALIDATION, ValidatedTopic
from topicschema.api.kinds import JOB
from topicschema.validation import request


@pytest.mark.parametrize(
    ("refusals", "message"),
    [
        ({f"POST {JOBS}": 422}, "its Job cannot be created"),
        ({f"POST {JOBS}": 403}, "its Job cannot be created"),
        ({f"GET {JOBS}": 403}, "its Jobs cannot be listed"),
        ({f"POST /api/v1/namespaces/{VALIDATION}/configmaps": 403}, "its Job cannot be created"),
        ({f"PATCH {JOBS}": 422}, "its Job cannot be started"),
    ],
)
@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_a_refused_job_blocks_only_a_gate(
    topic: ValidatedTopic, refusals: dict[str, int], message: str, mode: str
) -> None:
    is_gate = mode == "Gate"
    reason = "ValidationError" if is_gate else ""
    topic.api.refusals = refusals
    assert [await topic.reconcile() for _ in range(2)] == [reason, reason]
    status, conditions = await topic.settle(), await topic.conditions()
    assert (conditions["Ready"]["status"], status["versionCount"]) == (("False", 0) if is_gate else ("True", 1))
    assert not is_gate or (conditions["Ready"]["reason"], conditions["Reconciling"]["status"]) == (reason, "True")
    assert (conditions["Validated"]["status"], conditions["Validated"]["reason"]) == ("Unknown", "ValidationError")
    assert message in conditions["Ready" if is_gate else "Validated"]["message"]
    assert topic.enqueued[-1] == ("created", 300.0)
    topic.api.refusals = {}
    await topic.reconcile()
    assert await topic.finish() == ""
    assert (await topic.conditions())["Validated"]["status"] == "True"


@pytest.mark.parametrize("mode", ["Off"])
async def test_a_lost_payload_prevents_only_the_validation_of_messages(topic: ValidatedTopic) -> None:
    await topic.reconcile()
    topic.set_policy_validation("Report")
    topic.world.store.lose_payloads(KEY)
    topic.restart()
    assert [await topic.reconcile() for _ in range(2)] == ["", ""]
    await topic.settle()
    conditions = await topic.conditions()
    assert (conditions["Ready"]["status"], conditions["Validated"]["reason"]) == ("True", "ValidationError")


async def test_a_job_that_may_not_be_deleted_spoils_no_verdict(topic: ValidatedTopic) -> None:
    assert await topic.reconcile() == "Validating"
    first = await topic.newest()
    topic.api.refusals = {f"DELETE {JOBS}": 403}
    assert await topic.apply(record("id", "note?")) == "ValidationError"
    topic.api.refusals = {}
    assert await topic.reconcile() == "Validating"
    (second,) = await topic.jobs()
    assert not topic.api.has(JOB, "shop", first["metadata"]["name"])
    topic.api.put(JOB, "shop", first["metadata"]["name"], first)
    topic.finish_job(second)
    topic.api.refusals = {f"DELETE {JOBS}": 403}
    assert await topic.reconcile() == ""


@pytest.mark.parametrize("mode", ["Off"])
async def test_versions_that_are_too_large_for_a_run_are_reported_and_create_no_job(
    topic: ValidatedTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    schemas = (record("id"), record("id", "note?"))
    for schema in schemas:
        await topic.apply(schema)
    size = sum(len(each.info.schema) for each in schemas)
    topic.set_policy_validation("Report")
    for most in (size, size + 10):  # the payloads alone, or the request with all its members
        monkeypatch.setattr(request, "MAX_BYTES", most)
        topic.restart()
        assert await topic.reconcile() == ""
        validated = (await topic.conditions())["Validated"]
        assert validated["reason"] == "ValidationError"
        assert "too much for a run to read" in validated["message"]
        await topic.settle()
    assert await topic.jobs() == []
