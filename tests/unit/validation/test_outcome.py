"""The outcome of a Job and its pods: a verdict counts only if all parts agree."""

import itertools

import pytest

from support.kubernetes.jobs import UID, VALIDATION_REQUEST, Object, ended_pod, job, pod, verdict
from topicschema.validation.job.outcome import (
    CouldNotRun,
    Failed,
    JobOutcome,
    NeedsExecutors,
    Passed,
    Running,
    Waiting,
    outcome,
)
from topicschema.validation.job.result import ExecutorsNeeded, MessagesVerdict

PASS, FAIL = verdict(MessagesVerdict.PASS), verdict(MessagesVerdict.FAIL, 3)
OTHERS = verdict(MessagesVerdict.PASS, request_hash="sha256:" + "b" * 64)


def needed(executors: int, request_hash: str = VALIDATION_REQUEST.sha256) -> str:
    return ExecutorsNeeded(request_hash=request_hash, executors=executors).text.decode()


def why_no_verdict(result: JobOutcome) -> str:
    assert isinstance(result, CouldNotRun)
    return result.why


def test_only_two_ends_are_a_verdict_with_or_without_the_end_of_the_job() -> None:
    ends = (("Complete", ""), ("Failed", "PodFailurePolicy"), ("Failed", "BackoffLimitExceeded"), ("", ""))
    messages, owners = (PASS, FAIL, OTHERS, "", "a traceback"), (UID, "another")
    for end, status, message, owner in itertools.product(ends, (0, 1, 42, 137), messages, owners):
        result = outcome(job(*end), [ended_pod(status, message, owner=owner)])
        is_pass = end[0] in ("Complete", "") and (status, message, owner) == (0, PASS, UID)
        is_fail = end[0] in ("Failed", "") and (status, message, owner) == (42, FAIL, UID)
        assert isinstance(result, Passed) == is_pass, (end, status, message, owner)
        assert isinstance(result, Failed) == is_fail, (end, status, message, owner)
        if isinstance(result, Passed | Failed):
            assert (result.document.messages, result.document.invalid) == (10, 3 * is_fail)
            assert result.pod == ended_pod(0)["metadata"]["name"]


def test_a_verdict_of_an_earlier_pod_counts_and_one_whose_pod_is_gone_does_not() -> None:
    lost = ended_pod(1, "executor lost")
    assert isinstance(outcome(job("Complete"), [lost, ended_pod(0, PASS)]), Passed)
    assert why_no_verdict(outcome(job("Complete"), [])) == "its pod was removed before its verdict was read"
    assert why_no_verdict(outcome(job("Failed", "PodFailurePolicy"), [])).startswith("its pod was removed")


def test_a_pod_that_has_not_started_is_waiting_with_its_reason() -> None:
    assert outcome(job(suspended=True), []) == Waiting()
    assert outcome(job(), []) == Running(lacks="its Job has no pod yet")
    unplaced, placed = pod(), pod({"waiting": {"reason": "ContainerCreating"}})
    placed["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]
    name = placed["metadata"]["name"]
    assert outcome(job(), [unplaced]) == Running(name, lacks=f"pod {name} has no node yet")
    lacks = f"pod {name} has a node and has not started, which may still pull its image"
    assert outcome(job(), [placed]) == Running(name, lacks=lacks)


def test_during_a_retry_the_failed_pod_is_reported() -> None:
    failed, unclear = ended_pod(3, "SourceSilent: nothing came"), ended_pod(42, "no verdict")
    for each in (failed, unclear):
        each["status"]["phase"] = "Failed"
    name, why = failed["metadata"]["name"], "it ended with status 3: SourceSilent: nothing came"
    assert outcome(job(), [failed]) == Running(name, why)
    assert outcome(job(), [failed, pod({"running": {}}, phase="Running")]) == Running(name, why)
    assert outcome(job(), [unclear]) == Running(name)


UNMADE = 'CreateContainerConfigError: a Secret or its key may be missing: secret "t" not found'


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"waiting": {"reason": "ErrImagePull", "message": "not found"}}, "when the pod was made: not found"),
        ({"waiting": {"reason": "ImagePullBackOff"}}, "its image cannot be pulled"),
        ({"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "t"\nnot found'}}, UNMADE),
    ],
)
def test_a_pod_that_cannot_start_is_reported_before_its_job_ends(state: Object, words: str) -> None:
    result = outcome(job(), [pod(state)])
    assert isinstance(result, CouldNotRun)
    assert words in result.why
    assert "\n" not in result.why
    assert (result.is_over, result.is_transient) == (False, True)


@pytest.mark.parametrize("account", ["", "reader"])
def test_an_image_that_is_not_pulled_names_the_account_whose_secrets_count(account: str) -> None:
    made = pod({"waiting": {"reason": "ErrImagePull"}}) | {"spec": {"serviceAccountName": account}}
    result = why_no_verdict(outcome(job(), [made]))
    assert result.startswith("ErrImagePull: its image cannot be pulled with the imagePullSecrets ")
    assert f"that ServiceAccount {account or 'default'} had" in result


def test_a_pod_that_cannot_be_made_placed_or_mounted_is_reported_with_the_clusters_message() -> None:
    unplaced = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    assert why_no_verdict(outcome(job(), [pod(conditions=[unplaced])])) == "no node takes its pod: 0/1 nodes"
    refused = {"reason": "FailedCreate", "message": 'error looking up service account shop/reader: "reader" not found'}
    why = why_no_verdict(outcome(job(), [], [refused]))
    assert why.startswith("its pod cannot be made: error looking up service account")
    unmounted = {"reason": "FailedMount", "message": 'secret "token" not found'}
    why = why_no_verdict(outcome(job(), [pod()], [unmounted]))
    assert why == 'its pod cannot mount what it needs: secret "token" not found'


@pytest.mark.parametrize(
    ("last", "words", "is_transient"),
    [
        (ended_pod(137, reason="OOMKilled"), "ran out of memory", False),
        (ended_pod(137), "its pod was killed", True),
        (ended_pod(3, "OutOfMemory: executors ran out of memory: raise it"), "status 3: OutOfMemory: executors", False),
        (ended_pod(1, "SourceUnreadable: the broker is silent"), "status 1: SourceUnreadable: the broker", True),
        (pod(phase="Failed", reason="Evicted", message="low on memory"), "ended (Evicted): low on memory", True),
        (pod(phase="Failed"), "without saying why", True),
    ],
)
def test_a_failed_run_is_reported_with_advice(last: Object, words: str, is_transient: bool) -> None:  # noqa: FBT001 - a parameter of the test
    result = outcome(job("Failed", "BackoffLimitExceeded"), [last])
    assert isinstance(result, CouldNotRun)
    assert words in result.why
    assert (result.is_over, result.is_transient) == (True, is_transient)
    assert why_no_verdict(outcome(job("Failed", "BackoffLimitExceeded"), [])) == "it failed, and its pods are gone"


def test_an_exceeded_deadline_is_reported_with_advice_and_the_reason_of_the_delay() -> None:
    stuck = pod({"waiting": {"reason": "ErrImagePull"}})
    result = outcome(job("Failed", "DeadlineExceeded"), [stuck])
    assert "within 3600 seconds: raise activeDeadlineSeconds" in why_no_verdict(result)
    assert "image cannot be pulled" in why_no_verdict(result)
    why = why_no_verdict(outcome(job("Failed", "BackoffLimitExceeded"), [ended_pod(1, "a\x1b[31m\n" * 500)]))
    assert len(why) < 400
    assert why.isprintable()


def test_a_run_that_needs_executors_is_neither_a_verdict_nor_a_failure() -> None:
    for at in (job(), job("Complete")):
        assert outcome(at, [ended_pod(0, needed(3), "Completed")]) == NeedsExecutors(3)
    for message, status in ((needed(3, "sha256:another"), 0), (needed(3), 42), (needed(0), 0), (needed(-1), 0)):
        assert isinstance(outcome(job("Complete"), [ended_pod(status, message)]), CouldNotRun)
