"""A gate registers by what messages say now, not by what they said weeks ago."""

from typing import Any

import pytest

from support.schemas.examples import record
from support.validation.validated_topic import ValidatedTopic, open_validated_topic
from topicschema.reconcile.runtime.job_limiter import JobLimiter
from topicschema.validation.job.result import MessagesVerdict

NOON, NEXT_NOON, LATER = "2026-11-21T12:00:00Z", "2026-11-22T12:00:00Z", "2026-11-22T12:00:01Z"
MUCH_LATER = "2026-12-21T12:00:00Z"
STATUS = "/apis/topicschema.io/v1alpha1/namespaces/shop/topicschemas/created/status"


async def passed(topic: ValidatedTopic, **spec: str) -> dict[str, Any]:
    """The messages pass at noon; the Job."""
    topic.set_topic(**spec)
    await topic.reconcile()
    job = await topic.newest()
    topic.finish_job(job, MessagesVerdict.PASS, NOON)
    return job


async def validation(topic: ValidatedTopic) -> dict[str, Any]:
    """The validation after a reconcile that writes nothing."""
    found: dict[str, Any] = (await topic.settle())["validation"]
    return found


@pytest.mark.parametrize("is_job_there", [False, True])
async def test_a_pass_that_only_was_observed_is_asked_anew_before_it_is_registered_by(*, is_job_there: bool) -> None:
    async with open_validated_topic("Gate") as topic:
        job = await passed(topic, managementPolicy="Observe")
        await topic.reconcile()
        told = await validation(topic)
        assert (told["phase"], told["judgedAt"]) == ("Passed", NOON)
        topic.clock = LATER
        assert await validation(topic) == told
        if not is_job_there:
            topic.delete_job(job)
        topic.set_topic()
        assert await topic.reconcile() == "Validating"
        assert [call for call in topic.world.broker.calls if not call.startswith("GET")] == []
        await topic.reconcile()
        told = await validation(topic)
        assert (told["phase"], told["renews"]) == ("Running", NOON)
        topic.clock = MUCH_LATER
        topic.finish_job(await topic.current_job(), MessagesVerdict.PASS, MUCH_LATER)
        assert await topic.reconcile() == ""
        told = await validation(topic)
        assert (told["phase"], told["judgedAt"]) == ("Passed", MUCH_LATER)
        assert (await topic.status())["schemaVersion"] == 0


async def test_a_pass_that_comes_while_its_job_is_started_registers_the_version_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_validated_topic("Gate") as topic:
        start = JobLimiter.start

        async def start_and_pass(*arguments: Any) -> None:
            await start(*arguments)
            topic.finish_job(await topic.newest(), MessagesVerdict.PASS, NOON)

        monkeypatch.setattr(JobLimiter, "start", start_and_pass)
        assert await topic.reconcile() == ""
        ready = (await topic.conditions())["Ready"]
        assert (ready["status"], ready["reason"]) == ("True", "Registered")
        assert (await topic.status())["schemaVersion"] == 0


@pytest.mark.parametrize(("spec", "when"), [({"managementPolicy": "Observe"}, NEXT_NOON), ({}, MUCH_LATER)])
async def test_a_pass_counts_for_a_day_or_for_ever_once_it_is_registered(spec: dict[str, str], when: str) -> None:
    async with open_validated_topic("Gate") as topic:
        await passed(topic, **spec)
        assert await topic.reconcile() == ""
        topic.clock = when
        topic.set_topic()
        assert await topic.reconcile() == ""
        assert (await validation(topic))["judgedAt"] == NOON


async def test_an_old_job_answers_no_edit_that_comes_back() -> None:
    async with open_validated_topic("Gate") as topic:
        await passed(topic, managementPolicy="Observe")
        await topic.reconcile()
        topic.set_topic(record("id", "note?"), managementPolicy="Observe")
        await topic.reconcile()
        topic.set_topic(record("id"))
        topic.clock = MUCH_LATER
        assert await topic.reconcile() == "Validating"
        await topic.reconcile()
        told = await validation(topic)
        assert (told["phase"], told["renews"]) == ("Running", NOON)


async def test_an_old_pass_counts_no_more_though_what_renews_it_cannot_be_looked_at() -> None:
    async with open_validated_topic("Gate") as topic:
        await passed(topic)
        topic.clock = LATER
        topic.world.api.refusals = {f"PATCH {STATUS}": 403}  # so that its Job alone tells of the old pass
        assert await topic.reconcile() == "Forbidden"
        assert len(await topic.jobs()) == 2
        topic.world.api.refusals = {"GET /api/v1/namespaces/shop/events": 403}  # asked for of the one that runs
        for _ in range(2):
            assert await topic.reconcile() == "ValidationError"
        assert [call for call in topic.world.broker.calls if not call.startswith("GET")] == []
        await topic.settle()
