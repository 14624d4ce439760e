"""Reads of the state of a topic's validation, and the decision whether a Job is due. Nothing is written here.

`settings` builds the request, `job_limiter` selects the Jobs that run, `status` reports.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from topicschema.api import REVALIDATE_ANNOTATION
from topicschema.api.kinds import Object
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.validation import ValidationPhase, ValidationStatus
from topicschema.cluster.errors import ApiRefusedError, ForbiddenError
from topicschema.core import plan
from topicschema.core.errors import TopicSchemaError
from topicschema.core.validation_rules import ValidationMode
from topicschema.core.verdict import Outcome as VerdictOutcome
from topicschema.judging.clock import seconds_between
from topicschema.judging.policies import ActivePolicy
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.validation import settings as validation_settings
from topicschema.reconcile.validation.jobs import (
    attempt_of,
    config_map_exists,
    events_of,
    executors_of,
    jobs_of,
    may_have_job,
    obsolete_jobs_of,
    of_request,
    percent_of,
    pods_of,
    unended_of,
)
from topicschema.reconcile.validation.settings import EffectiveSettings, RequestSpec, ValidationTarget
from topicschema.validation.job import manifest
from topicschema.validation.job.outcome import (
    CouldNotRun,
    Failed,
    JobOutcome,
    NeedsExecutors,
    Passed,
    Running,
    Waiting,
    ended,
    outcome,
    refused,
)

_REVALIDATE_LENGTH: Final = 256
_POLL_SECONDS: Final = 10.0
_REJECTED_SECONDS: Final = 300.0  # each try packs the request again
PASS_VALID_SECONDS: Final = 86_400.0
"""Seconds for which a passed validation is valid, because it does not cover later messages."""
_UNKNOWN_TIME: Final = "unknown"
_FIRST_PAUSE: Final = 30.0
_LONGEST_PAUSE: Final = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationState:
    """The state of a topic's validation as of one reconcile.

    `run` is the request, or None if validation is off or the schema incompatible. `needs_run` is True while it has no
    verdict. `recorded` is its status, or that of an earlier request if its verdict stays. `job` is its newest Job, and
    `outcome` the result of that.

    `due_attempt` is the number of the attempt that needs a Job or its ConfigMaps now, or 0, and `due_executors` the
    number of its executors. `obsolete_jobs` are to be deleted. `has_api_error` is True if the API server refused a
    call; then this reconcile sends no more. `observe_only` is True if the operator may not write to the topic.
    """

    run: RequestSpec | None = None
    needs_run: bool = False
    recorded: ValidationStatus | None = None
    job: Object | None = None
    outcome: JobOutcome | None = None
    due_attempt: int = 0
    due_executors: int = 0
    obsolete_jobs: tuple[Object, ...] = ()
    has_api_error: bool = False
    observe_only: bool = False

    @property
    def phase(self) -> ValidationPhase | None:
        """The phase, or None if nothing is validated."""
        if not self.needs_run and self.job is None:
            return None if self.recorded is None else self.recorded.phase
        match self.outcome:
            case Passed():
                return ValidationPhase.PASSED
            case Failed():
                return ValidationPhase.FAILED
            case Running():
                return ValidationPhase.RUNNING
            case CouldNotRun():
                return ValidationPhase.ERROR
            case Waiting() | NeedsExecutors() | None:
                return ValidationPhase.ERROR if self.invalid_reason else ValidationPhase.WAITING

    @property
    def invalid_reason(self) -> str:
        """The reason why no Job can be created with the settings, or ""."""
        return "" if self.run is None else self.run.settings.invalid_reason

    @property
    def is_gate(self) -> bool:
        """True if the schema is not registered until its messages are valid."""
        return self.run is not None and self.run.settings.mode is ValidationMode.GATE

    @property
    def planned(self) -> plan.Validation:
        """The input of the plan."""
        return plan.Validation(
            holds_back=self.is_gate and not self.observe_only and self.phase is not ValidationPhase.PASSED,
            needs_job=self.due_attempt > 0,
            has_obsolete_jobs=bool(self.obsolete_jobs),
        )

    def with_api_error(self, what: str, error: TopicSchemaError) -> "ValidationState":
        """Return the state after the API server refused `what`. This is not an error of the topic."""
        outcome = self.outcome if isinstance(self.outcome, Passed | Failed) else refused(what, error.message)
        return replace(self, outcome=outcome, due_attempt=0, obsolete_jobs=(), has_api_error=True)


async def _unknown() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ValidationInput:
    """Inputs for the expiry of a passed validation.

    If `may_advance` is True, it leads to a version, so an old one is not valid. `topic_exists` returns True if the
    topic is known to exist, so that a validation that passed without the topic is not valid.
    """

    may_advance: bool = True
    topic_exists: Callable[[], Awaitable[bool]] = _unknown


async def observe(
    ctx: ReconcileContext,
    resource: TopicSchema,
    governing: ActivePolicy,
    target: ValidationTarget,
    inputs: ValidationInput = ValidationInput(),
) -> ValidationState | None:
    """Return the state of the validation, or None if there is none and there was none."""
    before = resource.status.validation
    registry = await ctx.registries.get(governing.resource.spec.registry)
    ca = ctx.brokers.ca(registry)
    settings = validation_settings.effective(governing, registry, resource, ctx.validation.runtime, ca)
    if settings is None and not may_have_job(ctx, resource.metadata, before):
        return None
    state = await _superseded(ctx, _requested(resource, settings, target), inputs)
    is_settled = state.recorded is not None and state.recorded.is_final and not state.needs_run
    # Without an image there are no Jobs, and perhaps no right to list them.
    if is_settled or not ctx.validation.runtime.image:
        request = "" if state.run is None else state.run.hash
        return replace(state, obsolete_jobs=await obsolete_jobs_of(ctx, resource, request))
    try:
        state = await _with_jobs(ctx, resource, state)
        while (newer := await _superseded(ctx, state, inputs)) is not state:
            state = newer  # the old validation is not valid, even if a later call fails
            state = await _with_jobs(ctx, resource, state)
    except (ForbiddenError, ApiRefusedError) as error:
        if settings is None:
            raise  # the status must still name the run, or nothing would end it
        return state.with_api_error("its Jobs cannot be listed", error)
    return state


def _requested(resource: TopicSchema, settings: EffectiveSettings | None, target: ValidationTarget) -> ValidationState:
    """Return the state by resource and status alone.

    A gate validates a version before its registration. It validates a registered one only on request by annotation.
    """
    before = resource.status.validation
    is_final = before is not None and before.is_final
    if settings is None:
        return ValidationState()
    if target.verdict.outcome is VerdictOutcome.INCOMPATIBLE:
        return ValidationState(recorded=before if is_final else None)
    annotation = resource.metadata.annotations.get(REVALIDATE_ANNOTATION, "")[:_REVALIDATE_LENGTH]
    known = "" if before is None else before.revalidate or ""
    run = RequestSpec(target, settings, annotation or known, "" if before is None else before.internal.renews or "")
    recorded = before if before is not None and before.internal.request_hash == run.hash else None
    if recorded is None:
        run = replace(run, supersedes="")
    answered = resource.status.report_state.revalidated
    is_forced = annotation not in ("", answered or (known if is_final else ""))
    is_next = target.verdict.outcome is VerdictOutcome.NEXT_VERSION
    if recorded is not None or is_forced or is_next or settings.mode is ValidationMode.REPORT:
        is_answered = recorded is not None and recorded.is_final
        return ValidationState(run=run, recorded=recorded, needs_run=not is_answered)
    is_same_version = resource.status.fingerprint is not None and (
        resource.status.schema_version == target.verdict.schema_version
    )
    return ValidationState(run=run, recorded=before if is_final and is_same_version else None)


async def _superseded(ctx: ReconcileContext, state: ValidationState, inputs: ValidationInput) -> ValidationState:
    """Return the state of another run if the passed validation has expired, else the same state."""
    passed_at = _passed_at(state)
    if not passed_at or state.run is None or not inputs.may_advance:
        return state
    is_recent = passed_at != _UNKNOWN_TIME and _since(ctx, passed_at) <= PASS_VALID_SECONDS
    if is_recent and not (_had_no_topic(state) and await inputs.topic_exists()):
        return state
    return ValidationState(run=replace(state.run, supersedes=passed_at), needs_run=True)


def _passed_at(state: ValidationState) -> str:
    """Return the time of the passed validation by which the gate registers the next version, or ""."""
    if not state.is_gate or state.run is None or state.phase is not ValidationPhase.PASSED:
        return ""
    if state.run.target.verdict.outcome is not VerdictOutcome.NEXT_VERSION:
        return ""
    if isinstance(state.outcome, Passed):
        return state.outcome.at
    return (None if state.recorded is None else state.recorded.judged_at) or _UNKNOWN_TIME


def _had_no_topic(state: ValidationState) -> bool:
    verdict = state.outcome.document if isinstance(state.outcome, Passed) else state.recorded
    return verdict is not None and bool(verdict.topic_missing)


def _since(ctx: ReconcileContext, then: str) -> float:
    return seconds_between(then, ctx.now())


async def _with_jobs(ctx: ReconcileContext, resource: TopicSchema, state: ValidationState) -> ValidationState:
    jobs, run, before = await jobs_of(ctx, resource.metadata), state.run, resource.status.validation
    unended = unended_of(before, jobs)
    if run is None or state.invalid_reason:
        return replace(state, obsolete_jobs=tuple(unended))
    ours = of_request(jobs, run.hash)
    state = replace(state, obsolete_jobs=tuple(job for job in unended if job not in ours))
    if not ours:
        return replace(state, due_attempt=int(state.needs_run))
    job = max(ours, key=attempt_of)
    return await _with_outcome(ctx, replace(state, job=job, outcome=await _outcome_of(ctx, run, job)), run, job)


async def _outcome_of(ctx: ReconcileContext, run: RequestSpec, job: Object) -> JobOutcome:
    if ended(job) is None and job["spec"].get("suspend"):
        return Waiting()
    pods = await pods_of(ctx, job)
    result = outcome(job, pods, await events_of(ctx, job, pods))
    if isinstance(result, Passed | Failed):
        result = result if result.at else replace(result, at=ctx.now())
        if result.at <= run.supersedes != _UNKNOWN_TIME:  # else it would be superseded forever
            return CouldNotRun("its pod ended before the request, by its own clock", is_over=ended(job) is not None)
    if isinstance(result, Running) and result.pod:
        return replace(result, percent=await percent_of(ctx, job["metadata"]["namespace"], result.pod))
    return result


async def _with_outcome(
    ctx: ReconcileContext, state: ValidationState, run: RequestSpec, job: Object
) -> ValidationState:
    """Return the state with the due attempt.

    It is another one after a pause, or at once if the settings changed or the run needs executors.
    """
    result, due, executors = state.outcome, 0, 0
    is_changed = (job["metadata"].get("annotations") or {}).get(manifest.RUN_HASH_ANNOTATION) != run.settings.run_hash
    if isinstance(result, CouldNotRun) and (is_changed or (result.is_over and _pause_left(ctx, job, result) <= 0)):
        due = attempt_of(job) + 1
        if not result.is_over:
            state = replace(state, obsolete_jobs=(*state.obsolete_jobs, job))
    elif isinstance(result, NeedsExecutors):
        due, executors = attempt_of(job) + 1, min(result.executors, run.settings.max_executors)
    elif isinstance(result, Waiting) or (isinstance(result, CouldNotRun) and not result.is_over):
        # Another topic's reconcile may have started the Job before its request existed; then its pod waits for it.
        has_request = await config_map_exists(ctx, job["metadata"]["namespace"], manifest.last_part(job))
        due, executors = 0 if has_request else attempt_of(job), executors_of(job)
    return replace(state, due_attempt=due if state.needs_run else 0, due_executors=executors)


def pause(attempt: int, *, is_transient: bool) -> float:
    """Return the seconds between the end of an attempt without a verdict and the next attempt."""
    return min(_FIRST_PAUSE * 2.0 ** min(attempt, 10), _LONGEST_PAUSE) if is_transient else _LONGEST_PAUSE


def _pause_left(ctx: ReconcileContext, job: Object, result: CouldNotRun) -> float:
    end = ended(job)
    if end is None:
        return 0.0
    return pause(attempt_of(job), is_transient=result.is_transient) - _since(ctx, end["lastTransitionTime"])


def requeue_after(ctx: ReconcileContext, state: ValidationState) -> float | None:
    """Return the seconds until the next reconcile, or None if an event triggers it."""
    if isinstance(state.outcome, CouldNotRun) and state.outcome.is_over and state.job is not None:
        return max(_pause_left(ctx, state.job, state.outcome), 1.0) if state.needs_run else None
    if state.has_api_error:
        return _REJECTED_SECONDS
    return _POLL_SECONDS if isinstance(state.outcome, Waiting | Running | NeedsExecutors | CouldNotRun) else None
