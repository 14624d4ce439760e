"""What a Job and its pods come to, whatever happened to them: a verdict is believed only where all agree."""

import itertools

import pytest

from support.kubernetes.jobs import UID, Object, ended, job, pod, verdict
from topicschema.validation.job.outcome import (
    CouldNotRun,
    Failed,
    Outcome,
    Passed,
    Running,
    Waiting,
    outcome,
)
from topicschema.validation.job.result import Answer

PASS, FAIL = verdict(Answer.PASS), verdict(Answer.FAIL, 3)
OTHERS = verdict(Answer.PASS, request_hash="sha256:" + "b" * 64)


def told(found: Outcome) -> str:
    assert isinstance(found, CouldNotRun)
    return found.why


def test_of_all_ways_to_end_only_those_two_are_a_verdict_whether_or_not_the_job_says_so_yet() -> None:
    ends = (("Complete", ""), ("Failed", "PodFailurePolicy"), ("Failed", "BackoffLimitExceeded"), ("", ""))
    messages, owners = (PASS, FAIL, OTHERS, "", "a traceback"), (UID, "another")
    for end, status, message, owner in itertools.product(ends, (0, 1, 42, 137), messages, owners):
        found = outcome(job(*end), [ended(status, message, owner=owner)])
        is_pass = end[0] in ("Complete", "") and (status, message, owner) == (0, PASS, UID)
        is_fail = end[0] in ("Failed", "") and (status, message, owner) == (42, FAIL, UID)
        assert isinstance(found, Passed) == is_pass, (end, status, message, owner)
        assert isinstance(found, Failed) == is_fail, (end, status, message, owner)
        if isinstance(found, Passed | Failed):
            assert (found.document.messages, found.document.invalid) == (10, 3 * is_fail)
            assert found.pod == ended(0)["metadata"]["name"]


def test_a_verdict_of_an_earlier_pod_counts_and_one_whose_pod_is_gone_does_not() -> None:
    lost = ended(1, "executor lost")
    assert isinstance(outcome(job("Complete"), [lost, ended(0, PASS)]), Passed)
    assert told(outcome(job("Complete"), [])) == "its pod was removed before its verdict was read"
    assert told(outcome(job("Failed", "PodFailurePolicy"), [])).startswith("its pod was removed")


def test_a_pod_that_has_not_started_says_what_it_waits_for() -> None:
    assert outcome(job(suspended=True), []) == Waiting()
    assert outcome(job(), []) == Running(lacks="its Job has no pod yet")
    unplaced, placed = pod(), pod({"waiting": {"reason": "ContainerCreating"}})
    placed["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]
    name = placed["metadata"]["name"]
    assert outcome(job(), [unplaced]) == Running(name, lacks=f"pod {name} has no node yet")
    lacks = f"pod {name} has a node and has not started, which may still pull its image"
    assert outcome(job(), [placed]) == Running(name, lacks=lacks)


def test_while_it_is_tried_again_the_pod_that_failed_says_why() -> None:
    failed, unclear = ended(3, "SourceSilent: nothing came"), ended(42, "no verdict")
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
def test_a_pod_that_cannot_start_is_told_while_its_job_goes_on(state: Object, words: str) -> None:
    found = outcome(job(), [pod(state)])
    assert isinstance(found, CouldNotRun)
    assert words in found.why
    assert "\n" not in found.why
    assert (found.is_over, found.is_transient) == (False, True)


@pytest.mark.parametrize("account", ["", "reader"])
def test_an_image_that_is_not_pulled_names_the_account_whose_secrets_count(account: str) -> None:
    made = pod({"waiting": {"reason": "ErrImagePull"}}) | {"spec": {"serviceAccountName": account}}
    found = told(outcome(job(), [made]))
    assert found.startswith("ErrImagePull: its image cannot be pulled with the imagePullSecrets ")
    assert f"that ServiceAccount {account or 'default'} had" in found


def test_what_keeps_a_pod_from_being_made_placed_or_mounted_is_told_in_the_clusters_words() -> None:
    unplaced = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    assert told(outcome(job(), [pod(conditions=[unplaced])])) == "no node takes its pod: 0/1 nodes"
    refused = {"reason": "FailedCreate", "message": 'error looking up service account shop/reader: "reader" not found'}
    assert told(outcome(job(), [], [refused])).startswith("its pod cannot be made: error looking up service account")
    unmounted = {"reason": "FailedMount", "message": 'secret "token" not found'}
    assert told(outcome(job(), [pod()], [unmounted])) == 'its pod cannot mount what it needs: secret "token" not found'


@pytest.mark.parametrize(
    ("last", "words", "is_transient"),
    [
        (ended(137, reason="OOMKilled"), "ran out of memory", False),
        (ended(137), "its pod was killed", True),
        (ended(3, "OutOfMemory: executors ran out of memory: raise it"), "status 3: OutOfMemory: executors", False),
        (ended(1, "SourceUnreadable: the broker is silent"), "status 1: SourceUnreadable: the broker", True),
        (pod(phase="Failed", reason="Evicted", message="low on memory"), "ended (Evicted): low on memory", True),
        (pod(phase="Failed"), "without saying why", True),
    ],
)
def test_a_run_that_failed_is_told_with_what_to_do(last: Object, words: str, is_transient: bool) -> None:  # noqa: FBT001 - a parameter of the test
    found = outcome(job("Failed", "BackoffLimitExceeded"), [last])
    assert isinstance(found, CouldNotRun)
    assert words in found.why
    assert (found.is_over, found.is_transient) == (True, is_transient)
    assert told(outcome(job("Failed", "BackoffLimitExceeded"), [])) == "it failed, and its pods are gone"


def test_a_deadline_says_what_to_raise_and_what_was_in_the_way() -> None:
    stuck = pod({"waiting": {"reason": "ErrImagePull"}})
    found = outcome(job("Failed", "DeadlineExceeded"), [stuck])
    assert "within 3600 seconds: raise activeDeadlineSeconds" in told(found)
    assert "image cannot be pulled" in told(found)
    why = told(outcome(job("Failed", "BackoffLimitExceeded"), [ended(1, "a\x1b[31m\n" * 500)]))
    assert len(why) < 400
    assert why.isprintable()
