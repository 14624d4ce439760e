"""What is told of a validation: the status, the condition Validated, and what stands in the way of a version.

Pure. What was read of Jobs and pods, `gather` knows.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from topicschema.api import REVALIDATE_ANNOTATION
from topicschema.api.metadata import ConditionStatus, ConditionType
from topicschema.api.validation import ExampleStatus, ReasonStatus, ValidationPhase, ValidationStatus
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.reconcile.runtime.conditions import FINDING_BYTES, MESSAGE_BYTES, Said, capped
from topicschema.reconcile.validation.gather import ValidationState
from topicschema.reconcile.validation.redaction import EXAMPLES
from topicschema.reconcile.validation.settings import EffectiveSettings
from topicschema.validation.job.outcome import CouldNotRun, Failed, Passed, Running, Waiting
from topicschema.validation.job.result import VerdictDocument

VALIDATING: Final = "Validating"
VALIDATION_FAILED: Final = "ValidationFailed"
VALIDATION_ERROR: Final = "ValidationError"
NOT_LOCKED: Final = "AutoUpdateEnabled"
_PASSED: Final = "Passed"
_REASONS: Final = 20
_TOLD: Final = 3
_SOON: Final = 10.0
_LATER: Final = 300.0


def status(seen: ValidationState) -> ValidationStatus | None:
    """What the status tells of the question; None where nothing was asked."""
    if seen.recorded is not None and seen.recorded.is_final:
        return seen.recorded
    if seen.wanted is None or not (seen.is_asked_now or seen.job):
        return seen.previous
    match seen.outcome:
        case Passed(found, _, at):
            return replace(_answered(seen, found, ValidationPhase.PASSED), judged_at=at or None)
        case Failed(found, _, at):
            return replace(_answered(seen, found, ValidationPhase.FAILED), judged_at=at or None)
        case _:
            return _unanswered(seen, seen.wanted)


def _unanswered(seen: ValidationState, wanted: EffectiveSettings) -> ValidationStatus:
    phase = ValidationPhase.ERROR if wanted.invalid_reason else ValidationPhase.WAITING
    if isinstance(seen.outcome, Running):
        phase = ValidationPhase.RUNNING
    elif isinstance(seen.outcome, CouldNotRun):
        phase = ValidationPhase.ERROR
    return ValidationStatus(
        phase=phase,
        question=seen.asked,
        revalidate=seen.revalidate or None,
        renews=seen.renews or None,
        percent_in_tens=_tens(seen) if phase is ValidationPhase.RUNNING else 0,
        job=_job(seen),
    )


def _answered(seen: ValidationState, found: VerdictDocument, phase: ValidationPhase) -> ValidationStatus:
    return ValidationStatus(
        phase=phase,
        question=seen.asked,
        revalidate=seen.revalidate or None,
        renews=seen.renews or None,
        topic_missing=found.topic_missing or None,
        percent_in_tens=100,
        messages=found.messages,
        invalid=found.invalid,
        by_reason=tuple(map(_reason, found.by_reason[:_REASONS])),
        examples=tuple(map(_example, found.examples[:EXAMPLES])),
        job=_job(seen),
    )


def _job(seen: ValidationState) -> str | None:
    return None if seen.job is None else seen.job["metadata"]["name"]


def _tens(seen: ValidationState) -> int:
    """A run's progress never goes back: what its log does not tell this time was told before."""
    before = 0 if seen.recorded is None else seen.recorded.percent_in_tens
    return max(seen.percent // 10 * 10, before)


def _reason(found: ReasonStatus) -> ReasonStatus:
    path = capped(found.path, FINDING_BYTES)
    return ReasonStatus(reason=capped(found.reason, 64), path=path, messages=max(found.messages, 0))


def _example(found: ExampleStatus) -> ExampleStatus:
    return ExampleStatus(
        message=capped(found.message, 256),
        partition=None if found.partition is None else capped(found.partition, FINDING_BYTES),
        published_at=None if found.published_at is None else capped(found.published_at, 32),
        schema_version=_counted(found.schema_version),
        reason=capped(found.reason, 64),
        path=capped(found.path, FINDING_BYTES),
        offset=_counted(found.offset),
        value=None if found.value is None else capped(found.value, FINDING_BYTES),
    )


def _counted(number: int | None) -> int | None:
    """No CRD of ours has a number below 0, and a pod may say anything."""
    return None if number is None or number < 0 else number


def said(seen: ValidationState, told: ValidationStatus | None) -> Said | None:
    """The condition Validated; None where nothing is to be validated."""
    if told is None:
        return None
    match told.phase:
        case ValidationPhase.PASSED:
            reason = NOT_LOCKED if _is_open(seen) else _PASSED
            return _said(seen, ConditionStatus.TRUE, reason, _sentence(seen, told))
        case ValidationPhase.FAILED:
            return _said(seen, ConditionStatus.FALSE, VALIDATION_FAILED, _no(seen, told))
        case ValidationPhase.ERROR:
            return _said(seen, ConditionStatus.UNKNOWN, VALIDATION_ERROR, _why(seen))
        case _:
            return _said(seen, ConditionStatus.UNKNOWN, VALIDATING, _progress(seen, told))


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


def _is_open(seen: ValidationState) -> bool:
    """Whether clients walk around the gate."""
    return seen.is_gate and seen.wanted is not None and not seen.wanted.is_locked


def _said(seen: ValidationState, truth: ConditionStatus, reason: str, message: str) -> Said:
    told = f"{message}; {_OPEN}" if _is_open(seen) else message
    return Said(ConditionType.VALIDATED, truth, reason, told)


def stopped(seen: ValidationState) -> TopicSchemaError | None:
    """Why a gate holds the schema back; None where it does not."""
    told = status(seen)
    if not seen.planned.holds_back or told is None:
        return None
    match told.phase:
        case ValidationPhase.FAILED:
            return StalledError(VALIDATION_FAILED, _no(seen, told))
        case ValidationPhase.ERROR:
            return WaitingError(VALIDATION_ERROR, _why(seen), _LATER if _cannot(seen) or seen.api_rejected else _SOON)
        case _:
            return WaitingError(VALIDATING, _progress(seen, told), _SOON)


def _cannot(seen: ValidationState) -> str:
    return "" if seen.wanted is None else seen.wanted.invalid_reason


def _why(seen: ValidationState) -> str:
    if not isinstance(seen.outcome, CouldNotRun):
        return f"its messages cannot be validated: {_cannot(seen) or 'it has not begun'}"
    end = "it is tried again later" if seen.outcome.is_over else "it goes on once that is mended"
    name = "" if seen.job is None else f" (Job {seen.job['metadata']['name']})"
    return f"its messages could not be validated: {seen.outcome.why}; {end}{name}"


def _progress(seen: ValidationState, told: ValidationStatus) -> str:
    if told.job is None:
        return "its messages are not validated yet: no Job was made for that"
    name = f" (Job {told.job})"
    if not isinstance(seen.outcome, Running):
        why = seen.outcome.why if isinstance(seen.outcome, Waiting) else ""
        return f"{_TURN}{name}" + (f"; {why}" if why else "")
    tried = f"; it is tried again, for {seen.outcome.before}" if seen.outcome.before else ""
    if seen.outcome.lacks:
        return f"its messages are not read yet: {seen.outcome.lacks}{name}{tried}"
    return f"its messages are being validated: {told.percent_in_tens} %{name}{tried}"


def _no(seen: ValidationState, told: ValidationStatus) -> str:
    """The same, with what to do where a gate holds the schema back, however long the reasons are."""
    if not seen.planned.holds_back:
        return _sentence(seen, told)
    rest = f"; {_ADVICE}; {_OPEN}" if _is_open(seen) else f"; {_ADVICE}"
    return f"{capped(_sentence(seen, told), MESSAGE_BYTES - len(rest))}; {_ADVICE}"


def _sentence(seen: ValidationState, told: ValidationStatus) -> str:
    """How many of how many, and why."""
    if not told.messages and seen.wanted is not None and seen.wanted.is_sampled:
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


def document(seen: ValidationState) -> tuple[VerdictDocument, str] | None:
    """The verdict that was read in this pass, and the pod whose log has its report."""
    match seen.outcome:
        case Passed(found, pod) | Failed(found, pod):
            return found, pod
        case _:
            return None
