"""The status of a validation, the condition Validated, and the error that blocks a registration. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from topicschema.api import REVALIDATE_ANNOTATION
from topicschema.api.metadata import ConditionStatus, ConditionType
from topicschema.api.validation import ExampleStatus, ReasonStatus, RunState, ValidationPhase, ValidationStatus
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.reasons import Reason
from topicschema.reconcile.runtime.conditions import FINDING_BYTES, MESSAGE_BYTES, ConditionInput, truncate
from topicschema.reconcile.validation.observe import ValidationState
from topicschema.validation.job.outcome import CouldNotRun, Failed, NeedsExecutors, Passed, Running

_REASONS: Final = 20
_EXAMPLES: Final = 10
_LISTED: Final = 3
_SOON: Final = 10.0
_LATER: Final = 300.0


def new_status(state: ValidationState) -> ValidationStatus | None:
    """Return the status, or None if nothing is validated."""
    phase, run = state.phase, state.run
    if phase is None or run is None or not (state.needs_run or state.job):
        return state.recorded
    notes = RunState(request_hash=run.hash, renews=run.supersedes or None)
    status = ValidationStatus(
        phase=phase,
        revalidate=run.revalidate or None,
        internal=notes,
        job=None if state.job is None else state.job["metadata"]["name"],
    )
    match state.outcome:
        case Passed(document, _, at) | Failed(document, _, at):
            return replace(
                status,
                topic_missing=document.topic_missing or None,
                messages=document.messages,
                invalid=document.invalid,
                by_reason=tuple(map(_reason, document.by_reason[:_REASONS])),
                examples=tuple(map(_example, document.examples[:_EXAMPLES])),
                judged_at=at or None,
                plan=truncate(document.plan, FINDING_BYTES) or None,
            )
        case Running(percent=percent):
            before = 0 if state.recorded is None else state.recorded.internal.percent
            shown = max(percent // 10 * 10, before)  # a log may lack the progress
            return replace(status, internal=replace(notes, percent=shown))
        case _:
            return status


def _reason(reason: ReasonStatus) -> ReasonStatus:
    path = truncate(reason.path, FINDING_BYTES)
    return ReasonStatus(reason=truncate(reason.reason, 64), path=path, messages=max(reason.messages, 0))


def _example(example: ExampleStatus) -> ExampleStatus:
    return ExampleStatus(
        message=truncate(example.message, 256),
        partition=None if example.partition is None else truncate(example.partition, FINDING_BYTES),
        published_at=None if example.published_at is None else truncate(example.published_at, 32),
        schema_version=_counted(example.schema_version),
        reason=truncate(example.reason, 64),
        path=truncate(example.path, FINDING_BYTES),
        offset=_counted(example.offset),
        value=None if example.value is None else truncate(example.value, FINDING_BYTES),
    )


def _counted(number: int | None) -> int | None:
    """Return the number, or None for a negative one, which a pod may report and the CRD refuses."""
    return None if number is None or number < 0 else number


def condition(state: ValidationState, status: ValidationStatus | None) -> ConditionInput | None:
    """Return the condition Validated, or None if nothing is validated."""
    if status is None:
        return None
    match status.phase:
        case ValidationPhase.PASSED:
            reason = Reason.AUTO_UPDATE_ENABLED if _can_bypass_gate(state) else Reason.PASSED
            return _condition(state, ConditionStatus.TRUE, reason, _result_message(state, status))
        case ValidationPhase.FAILED:
            return _condition(state, ConditionStatus.FALSE, Reason.VALIDATION_FAILED, _failed_message(state, status))
        case ValidationPhase.ERROR:
            return _condition(state, ConditionStatus.UNKNOWN, Reason.VALIDATION_ERROR, _error_message(state))
        case _:
            return _condition(state, ConditionStatus.UNKNOWN, Reason.VALIDATING, _progress_message(state, status))


_ADVICE: Final = (
    "change the schema, or, when these messages are gone, validate again: set the annotation "
    f"{REVALIDATE_ANNOTATION} to any new value"
)
_LIMITED: Final = (
    "its messages are validated when a Job may start: validation.jobs and validation.jobsPerNamespace limit the Jobs "
    "that run at once"
)
_OPEN: Final = "but clients may add schemas, which bypass the gate: set isAllowAutoUpdateSchema: false to prevent that"


def _can_bypass_gate(state: ValidationState) -> bool:
    """Return True if clients can bypass the gate."""
    return state.is_gate and state.run is not None and not state.run.settings.is_locked


def _condition(state: ValidationState, truth: ConditionStatus, reason: str, message: str) -> ConditionInput:
    whole = f"{message}; {_OPEN}" if _can_bypass_gate(state) else message
    return ConditionInput(ConditionType.VALIDATED, truth, reason, whole)


def blocking_error(state: ValidationState) -> TopicSchemaError | None:
    """Return the error by which a gate blocks the registration of the schema, or None."""
    status = new_status(state)
    if not state.planned.holds_back or status is None:
        return None
    match status.phase:
        case ValidationPhase.FAILED:
            return StalledError(Reason.VALIDATION_FAILED, _failed_message(state, status))
        case ValidationPhase.ERROR:
            after = _LATER if state.invalid_reason or state.has_api_error else _SOON
            return WaitingError(Reason.VALIDATION_ERROR, _error_message(state), after)
        case _:
            return WaitingError(Reason.VALIDATING, _progress_message(state, status), _SOON)


def _error_message(state: ValidationState) -> str:
    if not isinstance(state.outcome, CouldNotRun):
        return f"its messages cannot be validated: {state.invalid_reason or 'no Job was started'}"
    end = "the operator tries again later" if state.outcome.is_over else "it continues when that is fixed"
    name = "" if state.job is None else f" (Job {state.job['metadata']['name']})"
    return f"its messages could not be validated: {state.outcome.why}; {end}{name}"


def _progress_message(state: ValidationState, status: ValidationStatus) -> str:
    if status.job is None:
        return "its messages are not validated yet: no Job was created"
    name = f" (Job {status.job})"
    if isinstance(state.outcome, NeedsExecutors):
        return f"its messages need {state.outcome.executors} Spark executors, which the next Job starts{name}"
    if not isinstance(state.outcome, Running):
        return f"{_LIMITED}{name}"
    tried = f"; the previous try failed: {state.outcome.before}" if state.outcome.before else ""
    if state.outcome.lacks:
        return f"its messages are not read yet: {state.outcome.lacks}{name}{tried}"
    return f"its messages are being validated: {status.internal.percent} %{name}{tried}"


def _failed_message(state: ValidationState, status: ValidationStatus) -> str:
    """Return the sentence. If a gate blocks the schema, truncate it, so that the advice fits."""
    if not state.planned.holds_back:
        return _result_message(state, status)
    rest = f"; {_ADVICE}; {_OPEN}" if _can_bypass_gate(state) else f"; {_ADVICE}"
    return f"{truncate(_result_message(state, status), MESSAGE_BYTES - len(rest))}; {_ADVICE}"


def _result_message(state: ValidationState, status: ValidationStatus) -> str:
    """Return a sentence with the numbers of unreadable and of all messages, and the reasons."""
    if not status.messages and state.run is not None and state.run.settings.is_sampled:
        return "no messages were read with this schema: there are none, or the sample has none"
    if not status.messages:
        return "there are no messages to read with this schema"
    if not status.invalid:
        return f"all of {status.messages} messages can be read with this schema"
    invalid = f"{status.invalid} of {status.messages} messages cannot be read with this schema"
    within = ", which is within the tolerance" if status.phase is ValidationPhase.PASSED else ""
    reasons = ", ".join(_reasons(status))
    return f"{invalid}{within}: {reasons}" if reasons else f"{invalid}{within}"


def _reasons(status: ValidationStatus) -> Iterator[str]:
    for each in status.by_reason[:_LISTED]:
        yield f"{each.reason} at {each.path} ({each.messages})"
    if len(status.by_reason) > _LISTED:
        yield "and more (status.validation)"
