"""What is told of a validation, situation by situation: status, condition, and what a gate says."""

from dataclasses import replace
from typing import Any

import pytest

from support.kubernetes.jobs import VALIDATION_REQUEST, job
from support.schemas.examples import history, record
from topicschema.api.metadata import ConditionStatus
from topicschema.api.policies import NamespaceSchemaPolicySpec
from topicschema.api.validation import (
    ExampleStatus,
    FilesSourceSpec,
    ReasonStatus,
    SampleSpec,
    SourceSpec,
    ValidationMode,
    ValidationPhase,
    ValidationSpec,
    ValidationStatus,
)
from topicschema.api.wire import encode
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.schemas import PulsarVersion
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict
from topicschema.reconcile.runtime.conditions import MESSAGE_BYTES, ConditionInput, truncate
from topicschema.reconcile.validation.observe import ValidationState
from topicschema.reconcile.validation.settings import EffectiveSettings, RequestSpec, ValidationTarget
from topicschema.reconcile.validation.status import blocking_error, condition, new_status
from topicschema.validation.job.outcome import CouldNotRun, Failed, Passed, Running, Waiting
from topicschema.validation.job.result import MessagesVerdict, VerdictDocument

FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
TARGET = ValidationTarget(record("id").info, history(), Verdict(Outcome.NEXT_VERSION, FULL, 0), PulsarVersion.V4_0)
SETTINGS = EffectiveSettings(
    mode=ValidationMode.GATE,
    spec=ValidationSpec(mode=ValidationMode.GATE),
    policy=NamespaceSchemaPolicySpec(pulsar_cluster="p", pulsar_namespace="shop/orders"),
    image="i",
    hosts=AllowedHosts(),
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
    found = condition(state, new_status(state))
    assert found is not None
    return found


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
        assert (status.phase, status.request_hash) == (phase, state.run.hash)
        assert (reported(state).status, reported(state).reason) == (truth, reason)
        error = blocking_error(state)
        assert (type(error) if error else None) is stops
        assert error is None or error.reason == reason


def test_what_is_in_status_stays_small_whatever_was_found() -> None:
    long = tuple(replace(each, path="$." + "<" * 3000, messages=-1) for each in REASONS)
    odd = ExampleStatus(message="x" * 900, reason="R" * 99, offset=-1, schema_version=-2, value="<" * 900)
    document = replace(BAD, by_reason=long, examples=(odd,) * 30)
    told = new_status(replace(GATE, outcome=Failed(document, "p")))
    assert told is not None
    assert (len(told.by_reason), len(told.examples), told.invalid) == (20, 10, 3)
    assert {each.messages for each in told.by_reason} == {0}
    assert {(each.offset, each.schema_version) for each in told.examples} == {(None, None)}
    assert len(str(encode(told))) < 40_000


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
def test_the_message_says_what_was_read_or_what_is_missing(state: ValidationState, parts: tuple[str, ...]) -> None:
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
def test_a_gates_no_says_what_to_do_however_long_its_reasons_are(path: str, *, is_locked: bool) -> None:
    reasons = tuple(ReasonStatus(reason="TRUNCATED", path=path, messages=1) for _ in range(3))
    failed = Failed(replace(BAD, by_reason=reasons), "p")
    state = under(replace(GATE, outcome=failed), is_locked=is_locked)
    error = blocking_error(state)
    assert error is not None
    for each in (reported(state).message, error.message):
        assert truncate(each, MESSAGE_BYTES) == each
        assert "; change the schema, or, when these messages are gone, validate again: " in each
        assert "topicschema.io/revalidate to any new value" in each


@pytest.mark.parametrize(
    ("outcome", "gate", "report"),
    [
        (Passed(GOOD, "p"), "AutoUpdateEnabled", "Passed"),
        (Failed(BAD, "p"), "ValidationFailed", "ValidationFailed"),
        (Running("p"), "Validating", "Validating"),
        (Waiting(), "Validating", "Validating"),
        (CouldNotRun("w"), "ValidationError", "ValidationError"),
    ],
)
def test_a_gate_that_others_walk_around_says_so_whatever_it_found_and_a_report_does_not(
    outcome: Any, gate: str, report: str
) -> None:
    for each, reason, is_open in ((GATE, gate, True), (REPORT, report, False)):
        found = reported(under(replace(each, outcome=outcome), spec=FILES, is_locked=False))
        assert found.reason == reason
        assert ("clients may add schemas, which bypass the gate" in found.message) == is_open


def test_progress_goes_in_tens_and_never_back() -> None:
    told = new_status(replace(GATE, outcome=Running("p", percent=47)))
    assert told is not None
    assert told.percent_in_tens == 40
    again = new_status(replace(GATE, outcome=Running("p"), recorded=told))
    assert again == told


def test_a_verdict_that_is_told_already_stays_whatever_became_of_its_job() -> None:
    recorded = ValidationStatus(phase=ValidationPhase.PASSED, request_hash="sha256:", messages=5, invalid=0, report="r")
    seen = replace(GATE, recorded=recorded, job=None, needs_run=False)
    assert new_status(seen) == recorded
    assert blocking_error(seen) is None


def test_what_cannot_be_asked_is_told_as_an_error_with_what_to_do() -> None:
    seen = replace(GATE, job=None)
    found = blocking_error(seen)
    assert isinstance(found, WaitingError)
    assert "spec.pulsar.serviceURL" in found.message
    assert seen.planned.holds_back
    assert not seen.planned.needs_job


def test_where_nothing_is_asked_nothing_is_told() -> None:
    assert new_status(ValidationState()) is None
    assert condition(ValidationState(), None) is None
