"""Where a question cannot be put, that is told of its messages: the topic is as sound as it was."""

import pytest

from support.schemas.examples import record
from support.validation.validated_topic import asked
from topicschema.api.kinds import JOB, SCHEMA_VERSION
from topicschema.api.record import version_name
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.validation import request
from topicschema.validation.job.manifest import TOPIC_LABEL
from topicschema.validation.job.result import Answer

JOBS = "/apis/batch/v1/namespaces/shop/jobs"
REFUSED = pytest.mark.parametrize(
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


@REFUSED
async def test_a_job_that_is_refused_leaves_a_sound_topic_ready(refusals: dict[str, int], why: str) -> None:
    async with asked("Report") as topic:
        topic.world.api.refusals = refusals
        assert [await topic.look() for _ in range(2)] == ["", ""]
        status = await topic.settle()
        told = await topic.conditions()
        assert (told["Ready"]["status"], status["schemaVersion"]) == ("True", 0)
        assert (told["Validated"]["status"], told["Validated"]["reason"]) == ("Unknown", "ValidationError")
        assert why in told["Validated"]["message"]
        assert topic.enqueued[-1] == ("created", 300.0)
        topic.world.api.refusals = {}
        await topic.look()
        topic.ends(await topic.newest(), Answer.PASS, "2026-11-21T12:00:00Z")
        assert await topic.look() == ""
        assert (await topic.conditions())["Validated"]["reason"] == "Passed"


@REFUSED
async def test_a_gate_says_what_is_refused_and_holds_back(refusals: dict[str, int], why: str) -> None:
    async with asked("Gate") as topic:
        topic.world.api.refusals = refusals
        assert [await topic.look() for _ in range(2)] == ["ValidationError", "ValidationError"]
        status = await topic.settle()
        told = await topic.conditions()
        assert (told["Ready"]["reason"], told["Reconciling"]["status"]) == ("ValidationError", "True")
        assert why in told["Ready"]["message"]
        assert status["versionCount"] == 0


async def test_a_payload_that_is_gone_keeps_messages_from_being_asked_and_nothing_else() -> None:
    async with asked("Off") as topic:
        await topic.look()
        history = await topic.world.history()
        (entry,) = history.entries
        name = version_name(history.key, history.incarnation, 0, entry.content_hash)
        topic.governs("Report")
        topic.world.api.take_away(SCHEMA_VERSION, topic.world.ctx.namespace, name)
        topic.begins_anew()
        assert [await topic.look() for _ in range(2)] == ["", ""]
        await topic.settle()
        told = await topic.conditions()
        assert told["Ready"]["status"] == "True"
        assert told["Validated"]["reason"] == "ValidationError"


async def test_a_job_that_may_not_be_ended_takes_no_verdict_along() -> None:
    async with asked("Gate") as topic:
        assert await topic.look() == "Validating"
        first = await topic.newest()
        topic.world.api.refusals = {f"DELETE {JOBS}": 403}
        topic.wants(record("id", "note?"))
        assert await topic.look() == "ValidationError"
        topic.world.api.refusals = {}
        assert await topic.look() == "Validating"
        (second,) = await topic.jobs()
        assert not topic.world.api.has(JOB, "shop", first["metadata"]["name"])
        topic.world.api.put(JOB, "shop", first["metadata"]["name"], first)
        topic.ends(second, Answer.PASS, "2026-11-21T12:00:00Z")
        topic.world.api.refusals = {f"DELETE {JOBS}": 403}
        assert await topic.look() == ""


async def test_versions_that_are_too_much_for_a_run_are_told_of_and_make_no_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with asked("Off") as topic:
        await topic.look()
        topic.wants(record("id", "note?"))
        await topic.look()
        size = sum(len(each.info.schema) for each in (record("id"), record("id", "note?")))
        topic.governs("Report")
        for most in (size, size + 10):  # the payloads alone, or the question with what is around them
            monkeypatch.setattr(request, "MAX_BYTES", most)
            topic.begins_anew()
            assert await topic.look() == ""
            told = (await topic.conditions())["Validated"]
            assert told["reason"] == "ValidationError"
            assert "too much for a run to read" in told["message"]
            await topic.settle()
        assert await topic.jobs() == []


async def test_a_job_that_may_not_be_let_run_tells_its_own_topic_and_holds_up_no_other() -> None:
    async with asked("Report") as topic:
        topic.world.api.refusals = {f"PATCH {JOBS}": 422}
        await topic.look()
        key = Key("topicschemas", "another", "one")
        turns, client = topic.topics._ctx.validation.limiter, topic.world.ctx.client
        owner = {"kind": "TopicSchema", "name": "one", "uid": "u", "controller": True}
        metadata = {"labels": {TOPIC_LABEL: "one"}, "ownerReferences": [owner]}
        topic.world.api.put(JOB, "another", "one", {"metadata": metadata, "spec": {"suspend": True}})
        await turns.start(client, key, lambda _key, _after: None)
        assert not (await client.get(JOB, "another", "one"))["spec"]["suspend"]
