"""Where a question cannot be put, that is told of its messages: the topic is as sound as it was."""

import pytest

from support.kubernetes.topic import KEY
from support.schemas.examples import record
from support.validation.validated_topic import open_validated_topic
from topicschema.api.kinds import JOB
from topicschema.validation import request
from topicschema.validation.job.result import MessagesVerdict

JOBS = "/apis/batch/v1/namespaces/shop/jobs"


@pytest.mark.parametrize(
    ("refusals", "why"),
    [
        ({f"POST {JOBS}": 422}, "its Job cannot be created"),
        ({f"POST {JOBS}": 403}, "its Job cannot be created"),
        ({f"GET {JOBS}": 403}, "its Jobs cannot be listed"),
        ({"POST /api/v1/namespaces/shop/configmaps": 403}, "its Job cannot be created"),
        ({"GET /apis/batch/v1/jobs": 403}, "its Job cannot be started"),
        ({f"PATCH {JOBS}": 422}, "its Job cannot be started"),
    ],
)
@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_a_refused_job_blocks_only_a_gate(refusals: dict[str, int], why: str, mode: str) -> None:
    is_gate = mode == "Gate"
    reason = "ValidationError" if is_gate else ""
    async with open_validated_topic(mode) as topic:
        topic.world.api.refusals = refusals
        assert [await topic.reconcile() for _ in range(2)] == [reason, reason]
        status, conditions = await topic.settle(), await topic.conditions()
        assert (conditions["Ready"]["status"], status["versionCount"]) == (("False", 0) if is_gate else ("True", 1))
        assert not is_gate or (conditions["Ready"]["reason"], conditions["Reconciling"]["status"]) == (reason, "True")
        assert (conditions["Validated"]["status"], conditions["Validated"]["reason"]) == ("Unknown", "ValidationError")
        assert why in conditions["Ready" if is_gate else "Validated"]["message"]
        assert topic.enqueued[-1] == ("created", 300.0)
        topic.world.api.refusals = {}
        await topic.reconcile()
        topic.finish_job(await topic.newest(), MessagesVerdict.PASS, "2026-11-21T12:00:00Z")
        assert await topic.reconcile() == ""
        assert (await topic.conditions())["Validated"]["status"] == "True"


async def test_a_payload_that_is_gone_keeps_messages_from_being_asked_and_nothing_else() -> None:
    async with open_validated_topic("Off") as topic:
        await topic.reconcile()
        topic.set_policy_validation("Report")
        topic.world.store.lose_payloads(KEY)
        topic.restart()
        assert [await topic.reconcile() for _ in range(2)] == ["", ""]
        await topic.settle()
        told = await topic.conditions()
        assert told["Ready"]["status"] == "True"
        assert told["Validated"]["reason"] == "ValidationError"


async def test_a_job_that_may_not_be_ended_takes_no_verdict_along() -> None:
    async with open_validated_topic("Gate") as topic:
        assert await topic.reconcile() == "Validating"
        first = await topic.newest()
        topic.world.api.refusals = {f"DELETE {JOBS}": 403}
        topic.set_topic(record("id", "note?"))
        assert await topic.reconcile() == "ValidationError"
        topic.world.api.refusals = {}
        assert await topic.reconcile() == "Validating"
        (second,) = await topic.jobs()
        assert not topic.world.api.has(JOB, "shop", first["metadata"]["name"])
        topic.world.api.put(JOB, "shop", first["metadata"]["name"], first)
        topic.finish_job(second, MessagesVerdict.PASS, "2026-11-21T12:00:00Z")
        topic.world.api.refusals = {f"DELETE {JOBS}": 403}
        assert await topic.reconcile() == ""


async def test_versions_that_are_too_much_for_a_run_are_told_of_and_make_no_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_validated_topic("Off") as topic:
        await topic.reconcile()
        topic.set_topic(record("id", "note?"))
        await topic.reconcile()
        size = sum(len(each.info.schema) for each in (record("id"), record("id", "note?")))
        topic.set_policy_validation("Report")
        for most in (size, size + 10):  # the payloads alone, or the question with what is around them
            monkeypatch.setattr(request, "MAX_BYTES", most)
            topic.restart()
            assert await topic.reconcile() == ""
            told = (await topic.conditions())["Validated"]
            assert told["reason"] == "ValidationError"
            assert "too much for a run to read" in told["message"]
            await topic.settle()
        assert await topic.jobs() == []
