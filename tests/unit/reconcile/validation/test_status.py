"""What is told of a validation, situation by situation: status, condition, and what a gate says."""

from dataclasses import replace
from typing import Any

import pytest

from support.kubernetes.jobs import QUESTION, job
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
from topicschema.core.schemas import PulsarLine
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict
from topicschema.reconcile.runtime.conditions import MESSAGE_BYTES, truncate
from topicschema.reconcile.validation.gather import ValidationState
from topicschema.reconcile.validation.settings import EffectiveSettings, RunSpec, ValidationTarget
from topicschema.reconcile.validation.status import said, status, stopped
from topicschema.validation.job.outcome import CouldNotRun, Failed, Passed, Running, Waiting
from topicschema.validation.job.result import Answer, VerdictDocument

FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
TARGET = ValidationTarget(record("id").info, history(), Verdict(Outcome.NEXT_VERSION, FULL, 0), PulsarLine.V4_0)
SETTINGS = EffectiveSettings(
    mode=ValidationMode.GATE,
    spec=ValidationSpec(mode=ValidationMode.GATE),
    policy=NamespaceSchemaPolicySpec(pulsar_cluster="p", pulsar_namespace="shop/orders"),
    image="i",
    hosts=AllowedHosts(),
)
GATE = ValidationState(run=RunSpec(TARGET, SETTINGS), needs_run=True, job=job())


def under(state: ValidationState, **settings: Any) -> ValidationState:
    """Return the state with other settings."""
    assert state.run is not None
    return replace(state, run=replace(state.run, settings=replace(state.run.settings, **settings)))


REPORT = under(GATE, mode=ValidationMode.REPORT)
REASONS = tuple(ReasonStatus(reason="TRUNCATED", path=f"$.f{n}", messages=n + 1) for n in range(30))
GOOD = VerdictDocument(question=QUESTION.sha256, verdict=Answer.PASS, messages=10, invalid=0)
BAD = replace(GOOD, verdict=Answer.FAIL, invalid=3, by_reason=REASONS)


def conditions(seen: ValidationState) -> tuple[ConditionStatus, str]:
    found = said(seen, status(seen))
    assert found is not None
    return found.status, found.reason


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
        seen = under(replace(each, outcome=outcome), spec=_files())
        told = status(seen)
        assert told is not None
        assert seen.run is not None
        assert (told.phase, told.question) == (phase, seen.run.hash)
        assert conditions(seen) == (truth, reason)
        found = stopped(seen)
        assert (type(found) if found else None) is stops
        assert found is None or found.reason == reason


def _files() -> ValidationSpec:
    return ValidationSpec(mode=ValidationMode.GATE, source=SourceSpec(files=FilesSourceSpec(uri="s3://a/b")))


def test_what_is_in_status_stays_small_whatever_was_found() -> None:
    long = tuple(replace(each, path="$." + "<" * 3000, messages=-1) for each in REASONS)
    odd = ExampleStatus(message="x" * 900, reason="R" * 99, offset=-1, schema_version=-2, value="<" * 900)
    document = replace(BAD, by_reason=long, examples=(odd,) * 30)
    told = status(replace(GATE, outcome=Failed(document, "p")))
    assert told is not None
    assert (len(told.by_reason), len(told.examples), told.invalid) == (20, 10, 3)
    assert {each.messages for each in told.by_reason} == {0}
    assert {(each.offset, each.schema_version) for each in told.examples} == {(None, None)}
    assert len(str(encode(told))) < 40_000


def test_the_message_says_how_many_and_why() -> None:
    seen = replace(REPORT, outcome=Failed(BAD, "p"))
    found = said(seen, status(seen))
    assert found is not None
    assert found.message.startswith("3 of 10 messages cannot be read with this schema: TRUNCATED at $.f0 (1), ")
    assert found.message.endswith("TRUNCATED at $.f2 (3), and more (status.validation)")


@pytest.mark.parametrize("is_locked", [True, False])
@pytest.mark.parametrize("path", ["$.f", "$." + "<>" * 200])
def test_a_gates_no_says_what_to_do_however_long_its_reasons_are(path: str, *, is_locked: bool) -> None:
    reasons = tuple(ReasonStatus(reason="TRUNCATED", path=path, messages=1) for _ in range(3))
    failed = Failed(replace(BAD, by_reason=reasons), "p")
    seen = under(replace(GATE, outcome=failed), is_locked=is_locked)
    found, stop = said(seen, status(seen)), stopped(seen)
    assert found is not None
    assert stop is not None
    for each in (found.message, stop.message):
        stored = truncate(each, MESSAGE_BYTES)
        assert stored == each
        assert "; change the schema, or ask again when these messages are gone: " in stored
        assert "topicschema.io/revalidate and any new value" in stored


def test_no_messages_and_a_tolerance_are_told_as_what_they_are() -> None:
    none = replace(GATE, outcome=Passed(replace(GOOD, messages=0), "p"))
    some = replace(GATE, outcome=Passed(replace(GOOD, invalid=1, by_reason=REASONS[:1]), "p"))
    messages = [found.message for seen in (none, some) if (found := said(seen, status(seen)))]
    assert messages[0] == "there are no messages to be read with this schema"
    for sample, is_sampled in (
        (SampleSpec(percent=1), True),
        (SampleSpec(since="1h"), True),
        (SampleSpec(max_messages=1), True),
        (SampleSpec(percent=100, seed=3), False),
    ):
        seen = under(none, spec=replace(SETTINGS.spec, sample=sample))
        found = said(seen, status(seen))
        assert found is not None
        assert ("the sample took none" in found.message) == is_sampled
    assert "1 of 10" in messages[1]
    assert "within the tolerance" in messages[1]


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
    for each, reason, is_told in ((GATE, gate, True), (REPORT, report, False)):
        seen = under(replace(each, outcome=outcome), spec=_files(), is_locked=False)
        found = said(seen, status(seen))
        assert found is not None
        assert found.reason == reason
        assert ("clients may add schemas by themselves" in found.message) == is_told


def test_progress_goes_in_tens_and_never_back() -> None:
    told = status(replace(GATE, outcome=Running("p", percent=47)))
    assert told is not None
    assert told.percent_in_tens == 40
    again = status(replace(GATE, outcome=Running("p"), recorded=told))
    assert again == told


@pytest.mark.parametrize(
    ("has_job", "outcome", "words"),
    [
        (False, None, "its messages are not validated yet: no Job was made for that"),
        (True, Waiting(), "(validation.jobs, validation.jobsPerNamespace) (Job created-check-"),
        (
            True,
            Running(lacks="its Job has no pod yet"),
            "its messages are not read yet: its Job has no pod yet (Job created-check-",
        ),
        (True, Running("p"), "its messages are being validated: 0 % (Job created-check-"),
    ],
)
def test_a_run_that_reads_no_messages_yet_says_what_it_waits_for(
    has_job: bool,  # noqa: FBT001 - a parameter of the test
    outcome: Any,
    words: str,
) -> None:
    seen = under(replace(GATE, job=job() if has_job else None, outcome=outcome), spec=_files())
    found, stop = said(seen, status(seen)), stopped(seen)
    assert found is not None
    assert stop is not None
    assert words in found.message
    assert words in stop.message


def test_a_run_that_is_tried_again_says_why() -> None:
    seen = replace(GATE, outcome=Running("p", "it ended with status 3: no server answers"))
    found = said(seen, status(seen))
    assert found is not None
    assert found.message.endswith("; it is tried again, for it ended with status 3: no server answers")


def test_a_verdict_that_is_told_already_stays_whatever_became_of_its_job() -> None:
    recorded = ValidationStatus(phase=ValidationPhase.PASSED, question="sha256:", messages=5, invalid=0, report="r")
    seen = replace(GATE, recorded=recorded, job=None, needs_run=False)
    assert status(seen) == recorded
    assert stopped(seen) is None


def test_what_cannot_be_asked_is_told_as_an_error_with_what_to_do() -> None:
    seen = replace(GATE, job=None)
    found = stopped(seen)
    assert isinstance(found, WaitingError)
    assert "spec.pulsar.serviceURL" in found.message
    assert seen.planned.holds_back
    assert not seen.planned.needs_job


def test_where_nothing_is_asked_nothing_is_told() -> None:
    assert status(ValidationState()) is None
    assert said(ValidationState(), None) is None
