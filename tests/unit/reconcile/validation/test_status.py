"""The report of a validation, situation by situation: status, condition, and the error of a gate."""

from dataclasses import replace
from typing import Any

import pytest

from support.kubernetes.jobs import VALIDATION_REQUEST, job
from support.kubernetes.registries import registry
from support.schemas.examples import history, record
from topicschema.api.metadata import ConditionStatus
from topicschema.api.registries import SchemaRegistry
from topicschema.api.validation import (
    ExampleStatus,
    FilesSourceSpec,
    ReasonStatus,
    SampleSpec,
    SourceSpec,
    ValidationPhase,
    ValidationSpec,
    ValidationStatus,
)
from topicschema.api.wire import decode, encode
from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.schemas import PulsarVersion
from topicschema.core.strategies import Strategy
from topicschema.core.validation_rules import ValidationMode
from topicschema.core.verdict import Outcome, Verdict
from topicschema.reconcile.runtime.conditions import MESSAGE_BYTES, ConditionInput, truncate
from topicschema.reconcile.validation.observe import ValidationState
from topicschema.reconcile.validation.settings import EffectiveSettings, RequestSpec, ValidationTarget
from topicschema.reconcile.validation.status import blocking_error, condition, new_status
from topicschema.validation.job.outcome import CouldNotRun, Failed, Passed, Running, Waiting
from topicschema.validation.job.pods import Runtime
from topicschema.validation.job.result import MessagesVerdict, VerdictDocument

FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
TARGET = ValidationTarget(record("id").info, history(), Verdict(Outcome.NEXT_VERSION, FULL, 0), PulsarVersion.V4_0)
SETTINGS = EffectiveSettings(
    mode=ValidationMode.GATE,
    spec=ValidationSpec(mode=ValidationMode.GATE),
    registry=decode(SchemaRegistry, registry(validation={})),
    runtime=Runtime("i"),
)
GATE = ValidationState(run=RequestSpec(TARGET, SETTINGS), needs_run=True, job=job())


def under(state: ValidationState, **settings: Any) -> ValidationState:
    """Return the state with other settings."""
    assert state.run is not None
    return replace(state, run=replace(state.run, settings=replace(state.run.settings, **settings)))


REPORT = under(GATE, mode=ValidationMode.REPORT)
REASONS = tuple(ReasonStatus(reason="TRUNCATED", path=f"$.f{n}", messages=n + 1) for n in range(30))
GOOD = VerdictDocument(request_hash=VALIDATION_REQUEST.sha256, verdict=MessagesVerdict.PASS, messages=10, invalid=0)
NONE = replace(GOOD, messages=0)
FILES = ValidationSpec(mode=ValidationMode.GATE, source=SourceSpec(files=FilesSourceSpec(uri="s3://a/b")))
BAD = replace(GOOD, verdict=MessagesVerdict.FAIL, invalid=3, by_reason=REASONS)


def reported(state: ValidationState) -> ConditionInput:
    """Return the condition Validated."""
    result = condition(state, new_status(state))
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("outcome", "phase", "truth", "reason", "kind"),
    [
        (None, "Waiting", ConditionStatus.UNKNOWN, "Validating", WaitingError),
        (Waiting(), "Waiting", ConditionStatus.UNKNOWN, "Validating", WaitingError),
        (Running("p"), "Running", ConditionStatus.UNKNOWN, "Validating", WaitingError),
        (Passed(GOOD, "p"), "Passed", ConditionStatus.TRUE, "Passed", None),
        (Failed(BAD, "p"), "Failed", ConditionStatus.FALSE, "ValidationFailed", StalledError),
        (CouldNotRun("w"), "Error", ConditionStatus.UNKNOWN, "ValidationError", WaitingError),
        (CouldNotRun("w", is_over=False), "Error", ConditionStatus.UNKNOWN, "ValidationError", WaitingError),
    ],
)
def test_each_outcome_has_its_phase_its_condition_and_its_reason(
    outcome: Any, phase: str, truth: ConditionStatus, reason: str, kind: type[Exception] | None
) -> None:
    for each, stops in ((GATE, kind), (REPORT, None), (replace(GATE, observe_only=True), None)):
        state = under(replace(each, outcome=outcome), spec=FILES)
        status = new_status(state)
        assert status is not None
        assert state.run is not None
        assert (status.phase, status.internal.request_hash) == (phase, state.run.hash)
        assert (reported(state).status, reported(state).reason) == (truth, reason)
        error = blocking_error(state)
        assert (type(error) if error else None) is stops
        assert error is None or error.reason == reason
        bypassed, is_open = reported(under(state, is_locked=False)), each is not REPORT
        assert bypassed.reason == ("AutoUpdateEnabled" if is_open and reason == "Passed" else reason)
        assert ("clients may add schemas, which bypass the gate" in bypassed.message) == is_open


def test_a_status_stays_small_whatever_the_run_reports() -> None:
    long = tuple(replace(each, path="$." + "<" * 3000, messages=-1) for each in REASONS)
    odd = ExampleStatus(message="x" * 900, reason="R" * 99, offset=-1, schema_version=-2, value="<" * 900)
    document = replace(BAD, by_reason=long, examples=(odd,) * 30)
    status = new_status(replace(GATE, outcome=Failed(document, "p")))
    assert status is not None
    assert (len(status.by_reason), len(status.examples), status.invalid) == (20, 10, 3)
    assert {each.messages for each in status.by_reason} == {0}
    assert {(each.offset, each.schema_version) for each in status.examples} == {(None, None)}
    assert len(str(encode(status))) < 40_000


@pytest.mark.parametrize(
    ("state", "parts"),
    [
        (
            replace(REPORT, outcome=Failed(BAD, "p")),
            (
                "3 of 10 messages cannot be read with this schema: TRUNCATED at $.f0 (1), ",
                "TRUNCATED at $.f2 (3), and more (status.validation)",
            ),
        ),
        (replace(GATE, outcome=Passed(NONE, "p")), ("there are no messages to read with this schema",)),
        (
            replace(GATE, outcome=Passed(replace(GOOD, invalid=1, by_reason=REASONS[:1]), "p")),
            ("1 of 10", "within the tolerance"),
        ),
        (replace(GATE, job=None), ("its messages are not validated yet: no Job was created",)),
        (replace(GATE, outcome=Waiting()), ("limit the Jobs that run at once (Job created-check-",)),
        (
            replace(GATE, outcome=Running(lacks="its Job has no pod yet")),
            ("its messages are not read yet: its Job has no pod yet (Job created-check-",),
        ),
        (replace(GATE, outcome=Running("p")), ("its messages are being validated: 0 % (Job created-check-",)),
        (
            replace(GATE, outcome=Running("p", "it ended with status 3: no answer")),
            ("; the previous try failed: it ended with status 3: no answer",),
        ),
    ],
)
def test_the_message_names_the_result_or_what_is_missing(state: ValidationState, parts: tuple[str, ...]) -> None:
    state = under(state, spec=FILES)
    assert all(part in reported(state).message for part in parts)
    error = blocking_error(state)
    assert error is None or all(part in error.message for part in parts)


@pytest.mark.parametrize(
    ("sample", "is_sampled"),
    [
        (SampleSpec(percent=1), True),
        (SampleSpec(since="1h"), True),
        (SampleSpec(max_messages=1), True),
        (SampleSpec(percent=100, seed=3), False),
    ],
)
def test_no_messages_in_a_sample_are_not_no_messages(sample: SampleSpec, *, is_sampled: bool) -> None:
    state = under(replace(GATE, outcome=Passed(NONE, "p")), spec=replace(SETTINGS.spec, sample=sample))
    assert ("the sample has none" in reported(state).message) == is_sampled


@pytest.mark.parametrize("is_locked", [True, False])
@pytest.mark.parametrize("path", ["$.f", "$." + "<>" * 200])
def test_a_refusal_of_a_gate_ends_with_the_remedy_however_long_its_reasons_are(path: str, *, is_locked: bool) -> None:
    reasons = tuple(ReasonStatus(reason="TRUNCATED", path=path, messages=1) for _ in range(3))
    failed = Failed(replace(BAD, by_reason=reasons), "p")
    state = under(replace(GATE, outcome=failed), is_locked=is_locked)
    error = blocking_error(state)
    assert error is not None
    for each in (reported(state).message, error.message):
        assert truncate(each, MESSAGE_BYTES) == each
        assert "; change the schema, or, when these messages are gone, validate again: " in each
        assert "topicschema.io/revalidate to any new value" in each


def test_progress_goes_in_tens_and_never_back() -> None:
    status = new_status(replace(GATE, outcome=Running("p", percent=47)))
    assert status is not None
    assert status.internal.percent == 40
    again = new_status(replace(GATE, outcome=Running("p"), recorded=status))
    assert again == status


def test_a_reported_verdict_stays_without_its_job() -> None:
    recorded = ValidationStatus(phase=ValidationPhase.PASSED, messages=5, invalid=0, report="r")
    state = replace(GATE, recorded=recorded, job=None, needs_run=False)
    assert (new_status(state), blocking_error(state)) == (recorded, None)
