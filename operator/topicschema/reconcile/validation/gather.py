"""Gather the state of a topic's validation; nothing is written here.

`settings` builds the request, `job_limiter` selects the Jobs that run, `status` reports.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from topicschema.api import REVALIDATE_ANNOTATION
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.validation import ValidationMode, ValidationPhase, ValidationStatus
from topicschema.cluster.errors import ApiRefusedError, ForbiddenError
from topicschema.core import plan
from topicschema.core.errors import TopicSchemaError
from topicschema.core.verdict import Outcome as Judged
from topicschema.judging.policies import FoundPolicy
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.validation import jobs as validation_jobs
from topicschema.reconcile.validation import settings as validation_settings
from topicschema.reconcile.validation.jobs import attempt_of, events_of, is_there, jobs_of, may_run, percent_of, pods_of
from topicschema.reconcile.validation.settings import EffectiveSettings, ValidationTarget
from topicschema.validation.job import manifest
from topicschema.validation.job.outcome import (
    CouldNotRun,
    Failed,
    Outcome,
    Passed,
    Running,
    Waiting,
    ended,
    outcome,
    refused,
)

Object = Mapping[str, Any]

_REVALIDATE_LENGTH: Final = 256
_LOOK_AGAIN: Final = 10.0
_ASK_AGAIN: Final = 300.0  # where the API server refused: each try packs the question anew
PASS_COUNTS: Final = 86_400.0
"""Seconds in which a version may be registered by it: of messages that came since, a verdict says nothing."""
_OF_OLD: Final = "unknown"
_FIRST_PAUSE: Final = 30.0
_LONGEST_PAUSE: Final = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationState:
    """The state of a topic's validation as of one reconcile.

    `recorded` is what the status has of this very request, `previous` what it has of another one and must not be lost.
    `job` is the newest Job of the request, `outcome` its outcome; `superseded` are earlier Jobs of it, `obsolete_jobs`
    those of other requests. `wanted` is None if validation is off; `observe_only` if the topic is only observed.
    `renews` is the time of the verdict that is too old to register by, for which a new run is needed. `api_rejected`:
    the API server refused a call, and this reconcile tries no more.
    """

    subject: ValidationTarget
    wanted: EffectiveSettings | None = None
    asked: str = ""
    revalidate: str = ""
    renews: str = ""
    recorded: ValidationStatus | None = None
    previous: ValidationStatus | None = None
    is_asked_now: bool = False
    job: Object | None = None
    outcome: Outcome | None = None
    percent: int = 0
    is_retry_due: bool = False
    request_missing: bool = False
    observe_only: bool = False
    api_rejected: bool = False
    superseded: tuple[Object, ...] = ()
    obsolete_jobs: tuple[Object, ...] = ()

    @property
    def attempt(self) -> int:
        """The so manieth Job for this question that there is; 0 where there is none."""
        return 0 if self.job is None else attempt_of(self.job)

    @property
    def needs_run(self) -> bool:
        """True if the request needs a run, because it has no verdict yet."""
        return self.is_asked_now and (self.recorded is None or not self.recorded.is_final)

    @property
    def has_passed(self) -> bool:
        """Whether the messages are known to be readable."""
        if self.recorded is not None and self.recorded.is_final:
            return self.recorded.phase is ValidationPhase.PASSED
        return isinstance(self.outcome, Passed)

    @property
    def passed_without_topic(self) -> bool:
        """Whether it is only for want of a topic that the messages would let a version through."""
        told = self.outcome.document if isinstance(self.outcome, Passed) else self.recorded
        return bool(_passed_at(self) and told is not None and told.topic_missing)

    @property
    def is_gate(self) -> bool:
        """Whether a schema whose messages do not pass is held back."""
        return self.wanted is not None and self.wanted.mode is ValidationMode.GATE

    @property
    def planned(self) -> plan.Inquiry:
        """The same in the plan's words."""
        is_missing = self.job is None or self.is_retry_due or self.request_missing
        can = self.wanted is not None and not self.wanted.invalid_reason and not self.api_rejected
        return plan.Inquiry(
            holds_back=self.is_gate and not self.observe_only and not self.has_passed,
            is_due=can and self.needs_run and is_missing,
            has_strays=bool(self.obsolete_jobs) and not self.api_rejected,
        )

    def refused(self, what: str, error: TopicSchemaError) -> "ValidationState":
        """The same where `what` fails: no error of the topic, which is as sound as it was."""
        outcome = self.outcome if isinstance(self.outcome, Passed | Failed) else refused(what, error.message)
        return replace(self, outcome=outcome, api_rejected=True)


@dataclass(frozen=True, slots=True)
class ValidationInput:
    """What passing leads to. `may_advance`: to a version, so that what passed too long ago does not count any more.

    `is_topic_there`: the topic is known to exist, so that what passed for want of one does not count, either.
    """

    may_advance: bool = True
    is_topic_there: bool = False


async def gather(
    ctx: ReconcileContext,
    resource: TopicSchema,
    found: FoundPolicy,
    subject: ValidationTarget,
    prospect: ValidationInput = ValidationInput(),
) -> ValidationState | None:
    """Return the state of the validation; None if there is none and there was none."""
    before = resource.status.validation
    wanted = validation_settings.wanted(found, resource, ctx.validation.image, ctx.validation.hosts)
    if wanted is None and not may_run(ctx, resource.metadata, before):
        return None
    seen = ValidationState(subject=subject)
    if wanted is not None and subject.verdict.outcome is not Judged.INCOMPATIBLE:
        seen = _asked(seen, resource, wanted)
        seen = _renewed(ctx, seen, prospect)
    elif wanted is not None:
        seen = replace(seen, previous=before if before is not None and before.is_final else None)
    known = seen.recorded or (None if wanted is None else seen.previous)
    is_settled = known is not None and known.is_final and not seen.needs_run
    # Without an image there are no Jobs, and perhaps no right to look for them.
    if is_settled or not ctx.validation.image:
        return replace(seen, obsolete_jobs=await validation_jobs.left_behind(ctx, resource, seen.asked))
    try:
        seen = await _with_jobs(ctx, resource, seen)
        while (anew := _renewed(ctx, seen, prospect)) is not seen:
            seen = anew  # whatever fails from here on, the old pass counts no more
            seen = await _with_jobs(ctx, resource, seen)
    except (ForbiddenError, ApiRefusedError) as error:
        if wanted is None:
            raise  # the status must go on telling of the run, or nobody would end it
        return seen.refused("its Jobs cannot be looked at", error)
    return seen


def _asked(seen: ValidationState, resource: TopicSchema, wanted: EffectiveSettings) -> ValidationState:
    """With the question, and whether it is to be asked now.

    A gate asks before a version comes on record, and of one that is there only when told to.
    """
    before, metadata = resource.status.validation, resource.metadata
    told = metadata.annotations.get(REVALIDATE_ANNOTATION, "")[:_REVALIDATE_LENGTH]
    known = "" if before is None else before.revalidate or ""
    answered = resource.status.revalidated or (known if before is not None and before.is_final else "")
    renews = "" if before is None else before.renews or ""
    question = _question(seen.subject, wanted, told or known, renews)
    if before is None or before.question != question:
        renews, question = "", _question(seen.subject, wanted, told or known)
    recorded = before if before is not None and before.question == question else None
    is_same_schema = resource.status.fingerprint is not None and recorded is None and _is_of(resource, seen.subject)
    is_next = seen.subject.verdict.outcome is Judged.NEXT_VERSION
    is_forced = told not in ("", answered)
    return replace(
        seen,
        wanted=wanted,
        asked=question,
        revalidate=told or known,
        renews=renews,
        recorded=recorded,
        previous=before if is_same_schema and wanted.mode is ValidationMode.GATE and not is_next else None,
        is_asked_now=wanted.mode is ValidationMode.REPORT or is_next or is_forced or recorded is not None,
    )


def _question(subject: ValidationTarget, wanted: EffectiveSettings, revalidate: str, renews: str = "") -> str:
    return validation_settings.asked(subject, wanted, f"{revalidate}\n{renews}" if renews else revalidate)


def _renewed(ctx: ReconcileContext, seen: ValidationState, prospect: ValidationInput) -> ValidationState:
    """The same while its verdict may be registered by; else a question that neither that nor its Job answers."""
    passed = _passed_at(seen)
    if not passed or seen.wanted is None or not prospect.may_advance:
        return seen
    is_of_today = passed != _OF_OLD and _since(ctx, passed) <= PASS_COUNTS
    if is_of_today and not (prospect.is_topic_there and seen.passed_without_topic):
        return seen
    asked = _question(seen.subject, seen.wanted, seen.revalidate, passed)
    return replace(
        seen, asked=asked, renews=passed, recorded=None, job=None, outcome=None, superseded=(), obsolete_jobs=()
    )


def _passed_at(seen: ValidationState) -> str:
    """When the messages passed by which the gate would let a version through; "" where none would."""
    if not seen.is_gate or not seen.has_passed or seen.subject.verdict.outcome is not Judged.NEXT_VERSION:
        return ""
    if seen.recorded is not None and seen.recorded.is_final:
        return seen.recorded.judged_at or _OF_OLD
    return seen.outcome.at if isinstance(seen.outcome, Passed) else ""


def _since(ctx: ReconcileContext, then: str) -> float:
    return (datetime.fromisoformat(ctx.now()) - datetime.fromisoformat(then)).total_seconds()


def _is_of(resource: TopicSchema, subject: ValidationTarget) -> bool:
    """Whether the status speaks of the version that the schema is, and has a verdict on its messages."""
    before = resource.status
    is_answered = before.validation is not None and before.validation.is_final
    return is_answered and before.schema_version == subject.verdict.schema_version


async def _with_jobs(ctx: ReconcileContext, resource: TopicSchema, seen: ValidationState) -> ValidationState:
    there = await jobs_of(ctx, resource.metadata)
    label = manifest.question_label(seen.asked)
    of_question = [job for job in there if job["metadata"]["labels"].get(manifest.QUESTION_LABEL) == label]
    unended = validation_jobs.unended_of(resource, there)
    cannot = seen.wanted is not None and bool(seen.wanted.invalid_reason)
    seen = replace(seen, obsolete_jobs=tuple(job for job in unended if cannot or job not in of_question))
    if cannot or not of_question:
        return seen
    newest = max(of_question, key=attempt_of)
    superseded = tuple(job for job in of_question if job is not newest)
    return await _with_outcome(ctx, replace(seen, job=newest, superseded=superseded))


async def _with_outcome(ctx: ReconcileContext, seen: ValidationState) -> ValidationState:
    if seen.job is None:
        return seen
    job, namespace = seen.job, seen.job["metadata"]["namespace"]
    if ended(job) is None and job["spec"].get("suspend"):
        is_missing = not await is_there(ctx, namespace, manifest.last_part(job))
        return replace(seen, outcome=Waiting(), request_missing=is_missing)
    pods = await pods_of(ctx, job)
    found = outcome(job, pods, await events_of(ctx, job, pods))
    if isinstance(found, Passed | Failed) and not found.at:
        found = replace(found, at=ctx.now())
    if isinstance(found, Passed | Failed) and found.at <= seen.renews != _OF_OLD:  # else it is renewed for ever
        found = CouldNotRun("its pod tells that it ended before it was asked", is_over=ended(job) is not None)
    if isinstance(found, Running) and found.pod:
        seen = replace(seen, percent=await percent_of(ctx, namespace, found.pod))
    seen = _with_retry(ctx, replace(seen, outcome=found))
    if not isinstance(found, CouldNotRun) or found.is_over or seen.is_retry_due:
        return seen
    # Another topic's pass may have let it in before its question was there, and then its pod waits for that.
    return replace(seen, request_missing=not await is_there(ctx, namespace, manifest.last_part(job)))


def _with_retry(ctx: ReconcileContext, seen: ValidationState) -> ValidationState:
    """Whether another run is due after one without a verdict: after a while, or once it is to be run otherwise."""
    if not isinstance(seen.outcome, CouldNotRun) or seen.wanted is None or seen.job is None:
        return seen
    if _is_run_otherwise(seen):
        return replace(seen, is_retry_due=True) if seen.outcome.is_over else _with_another(seen)
    return replace(seen, is_retry_due=seen.outcome.is_over and _left(ctx, seen) <= 0)


def _is_run_otherwise(seen: ValidationState) -> bool:
    """Whether the Job is made of something else than is wanted now."""
    if seen.job is None or seen.wanted is None:
        return False
    return (seen.job["metadata"].get("annotations") or {}).get(manifest.MEANS_ANNOTATION) != seen.wanted.run_hash


def _with_another(seen: ValidationState) -> ValidationState:
    """Another Job is due in this one's place."""
    return seen if seen.job is None else replace(seen, is_retry_due=True, obsolete_jobs=(*seen.obsolete_jobs, seen.job))


def pause(seen: ValidationState) -> float:
    """How long after a run that gave no verdict the next one begins, in seconds."""
    is_transient = isinstance(seen.outcome, CouldNotRun) and seen.outcome.is_transient
    return min(_FIRST_PAUSE * 2.0 ** min(seen.attempt, 10), _LONGEST_PAUSE) if is_transient else _LONGEST_PAUSE


def _left(ctx: ReconcileContext, seen: ValidationState) -> float:
    end = None if seen.job is None else ended(seen.job)
    if end is None:
        return 0.0
    return pause(seen) - _since(ctx, end["lastTransitionTime"])


def requeue_after(ctx: ReconcileContext, seen: ValidationState) -> float | None:
    """Seconds after which there may be more to see that no event tells of; None where there is not."""
    if isinstance(seen.outcome, CouldNotRun) and seen.outcome.is_over:
        return max(_left(ctx, seen), 1.0) if seen.needs_run else None
    if seen.api_rejected:
        return _ASK_AGAIN
    return _LOOK_AGAIN if isinstance(seen.outcome, Waiting | Running | CouldNotRun) else None
