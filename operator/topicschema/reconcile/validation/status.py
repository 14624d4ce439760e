"""The status of a validation, the condition Validated, and the error that holds a version back. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from topicschema.api import REVALIDATE_ANNOTATION
from topicschema.api.metadata import ConditionStatus, ConditionType
from topicschema.api.validation import ExampleStatus, ReasonStatus, ValidationPhase, ValidationStatus
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.reconcile.runtime.conditions import FINDING_BYTES, MESSAGE_BYTES, ConditionInput, truncate
from topicschema.reconcile.validation.gather import ValidationState
from topicschema.validation.job.outcome import CouldNotRun, Failed, Passed, Running

VALIDATING: Final = "Validating"
VALIDATION_FAILED: Final = "ValidationFailed"
VALIDATION_ERROR: Final = "ValidationError"
NOT_LOCKED: Final = "AutoUpdateEnabled"
_PASSED: Final = "Passed"
_REASONS: Final = 20
_EXAMPLES: Final = 10
_TOLD: Final = 3
_SOON: Final = 10.0
_LATER: Final = 300.0


def status(state: ValidationState) -> ValidationStatus | None:
    """Return the status; None if nothing is validated."""
    phase, run = state.phase, state.run
    if phase is None or run is None or not (state.needs_run or state.job):
        return state.recorded
    told = ValidationStatus(
        phase=phase,
        question=run.hash,
        revalidate=run.revalidate or None,
        renews=run.supersedes or None,
        job=None if state.job is None else state.job["metadata"]["name"],
    )
    match state.outcome:
        case Passed(found, _, at) | Failed(found, _, at):
            return replace(
                told,
                topic_missing=found.topic_missing or None,
                percent_in_tens=100,
                messages=found.messages,
                invalid=found.invalid,
                by_reason=tuple(map(_reason, found.by_reason[:_REASONS])),
                examples=tuple(map(_example, found.examples[:_EXAMPLES])),
                judged_at=at or None,
            )
        case Running(percent=percent):
            before = 0 if state.recorded is None else state.recorded.percent_in_tens
            return replace(told, percent_in_tens=max(percent // 10 * 10, before))  # a log may lack it this time
        case _:
            return told


def _reason(found: ReasonStatus) -> ReasonStatus:
    path = truncate(found.path, FINDING_BYTES)
    return ReasonStatus(reason=truncate(found.reason, 64), path=path, messages=max(found.messages, 0))


def _example(found: ExampleStatus) -> ExampleStatus:
    return ExampleStatus(
        message=truncate(found.message, 256),
        partition=None if found.partition is None else truncate(found.partition, FINDING_BYTES),
        published_at=None if found.published_at is None else truncate(found.published_at, 32),
        schema_version=_counted(found.schema_version),
        reason=truncate(found.reason, 64),
        path=truncate(found.path, FINDING_BYTES),
        offset=_counted(found.offset),
        value=None if found.value is None else truncate(found.value, FINDING_BYTES),
    )


def _counted(number: int | None) -> int | None:
    """Return None for a negative number, which a pod may report and no CRD takes."""
    return None if number is None or number < 0 else number


def said(state: ValidationState, told: ValidationStatus | None) -> ConditionInput | None:
    """Return the condition Validated; None if nothing is to be validated."""
    if told is None:
        return None
    match told.phase:
        case ValidationPhase.PASSED:
            reason = NOT_LOCKED if _is_open(state) else _PASSED
            return _said(state, ConditionStatus.TRUE, reason, _sentence(state, told))
        case ValidationPhase.FAILED:
            return _said(state, ConditionStatus.FALSE, VALIDATION_FAILED, _no(state, told))
        case ValidationPhase.ERROR:
            return _said(state, ConditionStatus.UNKNOWN, VALIDATION_ERROR, _why(state))
        case _:
            return _said(state, ConditionStatus.UNKNOWN, VALIDATING, _progress(state, told))


_ADVICE: Final = (
    "change the schema, or ask again when these messages are gone: annotate it with "
    f"{REVALIDATE_ANNOTATION} and any new value"
)
_TURN: Final = (
    "its messages are validated when it is their turn, for a limited number of Jobs runs at once (validation.jobs, "
    "validation.jobsPerNamespace)"
)
_OPEN: Final = (
    "but clients may add schemas by themselves, which no gate holds back: isAllowAutoUpdateSchema: false locks them out"
)


def _is_open(state: ValidationState) -> bool:
    """Return True if clients can bypass the gate."""
    return state.is_gate and state.run is not None and not state.run.settings.is_locked


def _said(state: ValidationState, truth: ConditionStatus, reason: str, message: str) -> ConditionInput:
    told = f"{message}; {_OPEN}" if _is_open(state) else message
    return ConditionInput(ConditionType.VALIDATED, truth, reason, told)


def stopped(state: ValidationState) -> TopicSchemaError | None:
    """Return the error by which a gate holds the schema back; None if it does not."""
    told = status(state)
    if not state.planned.holds_back or told is None:
        return None
    match told.phase:
        case ValidationPhase.FAILED:
            return StalledError(VALIDATION_FAILED, _no(state, told))
        case ValidationPhase.ERROR:
            after = _LATER if state.invalid_reason or state.api_rejected else _SOON
            return WaitingError(VALIDATION_ERROR, _why(state), after)
        case _:
            return WaitingError(VALIDATING, _progress(state, told), _SOON)


def _why(state: ValidationState) -> str:
    if not isinstance(state.outcome, CouldNotRun):
        return f"its messages cannot be validated: {state.invalid_reason or 'it has not begun'}"
    end = "it is tried again later" if state.outcome.is_over else "it goes on once that is fixed"
    name = "" if state.job is None else f" (Job {state.job['metadata']['name']})"
    return f"its messages could not be validated: {state.outcome.why}; {end}{name}"


def _progress(state: ValidationState, told: ValidationStatus) -> str:
    if told.job is None:
        return "its messages are not validated yet: no Job was made for that"
    name = f" (Job {told.job})"
    if not isinstance(state.outcome, Running):
        return f"{_TURN}{name}"
    tried = f"; it is tried again, for {state.outcome.before}" if state.outcome.before else ""
    if state.outcome.lacks:
        return f"its messages are not read yet: {state.outcome.lacks}{name}{tried}"
    return f"its messages are being validated: {told.percent_in_tens} %{name}{tried}"


def _no(state: ValidationState, told: ValidationStatus) -> str:
    """Return the sentence, and what to do if a gate holds the schema back, however long the reasons are."""
    if not state.planned.holds_back:
        return _sentence(state, told)
    rest = f"; {_ADVICE}; {_OPEN}" if _is_open(state) else f"; {_ADVICE}"
    return f"{truncate(_sentence(state, told), MESSAGE_BYTES - len(rest))}; {_ADVICE}"


def _sentence(state: ValidationState, told: ValidationStatus) -> str:
    """Return how many messages of how many cannot be read, and why."""
    if not told.messages and state.run is not None and state.run.settings.is_sampled:
        return "no messages were read with this schema: there are none, or the sample took none of them"
    if not told.messages:
        return "there are no messages to be read with this schema"
    if not told.invalid:
        return f"all of {told.messages} messages can be read with this schema"
    found = f"{told.invalid} of {told.messages} messages cannot be read with this schema"
    within = ", which is within the tolerance" if told.phase is ValidationPhase.PASSED else ""
    reasons = ", ".join(_reasons(told))
    return f"{found}{within}: {reasons}" if reasons else f"{found}{within}"


def _reasons(told: ValidationStatus) -> Iterator[str]:
    for each in told.by_reason[:_TOLD]:
        yield f"{each.reason} at {each.path} ({each.messages})"
    if len(told.by_reason) > _TOLD:
        yield "and more (status.validation)"
