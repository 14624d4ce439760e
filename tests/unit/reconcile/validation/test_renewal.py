"""A gate registers by the messages of today: old verdicts are renewed, and the annotation requests a validation."""

from typing import Any

import pytest

from support.schemas.examples import record
from support.validation.validated_topic import VALIDATION, ValidatedTopic
from topicschema.reconcile.runtime.job_limiter import JobLimiter

ONE, TWO = record("id"), record("id", "note?")
NOON, NEXT_NOON, LATER = "2026-11-21T12:00:00Z", "2026-11-22T12:00:00Z", "2026-11-22T12:00:01Z"
MUCH_LATER = "2026-12-21T12:00:00Z"
STATUS = "/apis/topicschema.io/v1alpha1/namespaces/shop/topicschemas/created/status"


async def pass_at_noon(topic: ValidatedTopic) -> dict[str, Any]:
    """Let the messages pass at noon, and return the Job."""
    await topic.apply()
    job = await topic.newest()
    topic.finish_job(job)
    return job


async def observe_a_pass_at_noon(topic: ValidatedTopic) -> dict[str, Any]:
    """Let the messages pass at noon while the policy only observes, and return the Job."""
    await topic.world.change_policy(managementPolicy="Observe")
    return await pass_at_noon(topic)


async def validation(topic: ValidatedTopic) -> Any:
    """Return the validation after a reconcile that writes nothing."""
    return (await topic.settle())["validation"]


async def renewed(topic: ValidatedTopic) -> bool:
    """Return True if a run is validating again what passed at noon, and nothing was uploaded."""
    assert await topic.reconcile() == "Validating"
    assert topic.broker.writes == []
    await topic.reconcile()
    current = await validation(topic)
    return (current["phase"], current["internal"].get("renews")) == ("Running", NOON)


@pytest.mark.parametrize("is_job_there", [False, True])
async def test_an_old_pass_that_was_only_observed_is_renewed_before_it_registers(
    topic: ValidatedTopic, *, is_job_there: bool
) -> None:
    job = await observe_a_pass_at_noon(topic)
    await topic.reconcile()
    before = await validation(topic)
    assert (before["phase"], before["judgedAt"]) == ("Passed", NOON)
    topic.clock = LATER
    assert await validation(topic) == before
    if not is_job_there:
        topic.delete_job(job)
    await topic.world.change_policy(managementPolicy="Manage")
    assert await renewed(topic)
    topic.clock = MUCH_LATER
    assert await topic.finish() == ""
    after = await validation(topic)
    assert (after["phase"], after["judgedAt"]) == ("Passed", MUCH_LATER)
    assert (await topic.status())["schemaVersion"] == 0


async def test_a_pass_that_comes_while_its_job_is_started_registers_the_version_at_once(
    topic: ValidatedTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = JobLimiter.start

    async def start_and_pass(*arguments: Any) -> None:
        await start(*arguments)
        topic.finish_job(await topic.newest())

    monkeypatch.setattr(JobLimiter, "start", start_and_pass)
    assert await topic.reconcile() == ""
    ready = (await topic.conditions())["Ready"]
    assert (ready["status"], ready["reason"]) == ("True", "Registered")
    assert (await topic.status())["schemaVersion"] == 0


@pytest.mark.parametrize(("management_policy", "when"), [("Observe", NEXT_NOON), ("Manage", MUCH_LATER)])
async def test_a_pass_counts_for_a_day_or_for_ever_once_it_is_registered(
    topic: ValidatedTopic, management_policy: str, when: str
) -> None:
    await topic.world.change_policy(managementPolicy=management_policy)
    await pass_at_noon(topic)
    assert await topic.reconcile() == ""
    topic.clock = when
    assert await topic.apply() == ""
    assert (await validation(topic))["judgedAt"] == NOON


async def test_an_old_job_is_no_verdict_on_an_edit_that_comes_back(topic: ValidatedTopic) -> None:
    await observe_a_pass_at_noon(topic)
    await topic.reconcile()
    await topic.apply(TWO)
    await topic.world.change_policy(managementPolicy="Manage")
    topic.set_topic(ONE)
    topic.clock = MUCH_LATER
    assert await renewed(topic)


async def test_an_old_pass_no_longer_counts_though_the_job_that_renews_it_cannot_be_read(topic: ValidatedTopic) -> None:
    await pass_at_noon(topic)
    topic.clock = LATER
    topic.api.refusals = {f"PATCH {STATUS}": 403}  # so that only its Job has the old pass
    assert await topic.reconcile() == "Forbidden"
    assert len(await topic.jobs()) == 2
    topic.api.refusals = {f"GET /api/v1/namespaces/{VALIDATION}/events": 403}  # which are read for the running Job
    for _ in range(2):
        assert await topic.reconcile() == "ValidationError"
    assert topic.broker.writes == []
    await topic.settle()


async def register(topic: ValidatedTopic) -> None:
    """Let two versions pass the gate."""
    for schema in (ONE, TWO):
        assert await topic.apply(schema) == "Validating"
        assert await topic.finish() == ""


async def revalidate(topic: ValidatedTopic, value: str) -> None:
    """Set the annotation, and let the messages pass once more."""
    topic.annotate(value)
    count = len(await topic.jobs())
    assert await topic.reconcile() == ""
    assert len(await topic.jobs()) == count + 1
    assert await topic.finish() == ""
    assert (await topic.settle())["internal"]["revalidated"] == value


async def test_a_value_with_a_verdict_validates_no_other_version_again(topic: ValidatedTopic) -> None:
    await register(topic)
    await revalidate(topic, "again")
    count = len(await topic.jobs())
    for schema in (ONE, TWO, ONE):
        assert await topic.apply(schema) == ""
        assert (await topic.settle())["internal"]["revalidated"] == "again"
    assert len(await topic.jobs()) == count
    await revalidate(topic, "once more")


async def test_a_value_without_a_verdict_validates_again_after_a_rollback(topic: ValidatedTopic) -> None:
    await register(topic)
    topic.annotate("again")
    await topic.reconcile()
    before = (await topic.current_job())["metadata"]["name"]
    assert await topic.apply(ONE) == ""
    assert (await topic.current_job())["metadata"]["name"] != before
    assert before not in [each["metadata"]["name"] for each in await topic.jobs()]
