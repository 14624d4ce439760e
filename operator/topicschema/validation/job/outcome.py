"""Outcome of a Job, from its pods and Events: it waits, runs, has a verdict, needs executors, or could not run.

A verdict counts only if the exit status, the termination message and the request agree. Any other end of a pod is a
failed run and never a verdict.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from topicschema.api.kinds import Object
from topicschema.core.reasons import Reason
from topicschema.validation.job.manifest import CONTAINER, REQUEST_ANNOTATION
from topicschema.validation.job.result import (
    FAILED_STATUS,
    PASSED_STATUS,
    ExecutorsNeeded,
    MessagesVerdict,
    VerdictDocument,
    read,
)

_MAX_LENGTH: Final = 300
_KILLED: Final = 137
_SCHEDULED: Final = "PodScheduled"
_UNPULLED: Final = ("ErrImagePull", "ImagePullBackOff")
_WHY_WAITING: Final[Mapping[str, str]] = {
    "ErrImageNeverPull": "its image is not on the node",
    "InvalidImageName": "the name of its image is invalid",
    "CreateContainerConfigError": "a Secret or its key may be missing",
    "CreateContainerError": "its container cannot be created",
    "RunContainerError": "its container cannot be started",
}


@dataclass(frozen=True, slots=True)
class Waiting:
    """State of a Job that is suspended because it has not been started yet."""


@dataclass(frozen=True, slots=True)
class Running:
    """State of a Job that runs in `pod`, or "" if it has no pod yet.

    `before` is why the previous pod failed, or "" if none has. `lacks` is what the pod still needs before it reads
    messages, or "". `percent` is its progress.
    """

    pod: str = ""
    before: str = ""
    lacks: str = ""
    percent: int = 0


@dataclass(frozen=True, slots=True)
class Passed:
    """Verdict of a pod that the messages pass. `at` is the time at which the pod ended."""

    document: VerdictDocument
    pod: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """Verdict of a pod that the messages do not pass. `at` is the time at which the pod ended."""

    document: VerdictDocument
    pod: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class NeedsExecutors:
    """End of a run that has more work than one pod should do. `executors` is the number that it needs."""

    executors: int


@dataclass(frozen=True, slots=True)
class CouldNotRun:
    """End without a verdict. `why` is the reason, and `is_over` is True if this Job can no longer report a verdict.

    `is_transient` is True if another attempt may succeed without a change.
    """

    why: str
    is_over: bool = True
    is_transient: bool = True


JobOutcome = Waiting | Running | Passed | Failed | NeedsExecutors | CouldNotRun


def outcome(job: Object, pods: Sequence[Object], events: Sequence[Object] = ()) -> JobOutcome:
    """Return the outcome of the Job. `events` are those of the Job or its newest pod, used only if nothing runs."""
    ours = sorted(pods, key=lambda pod: pod["metadata"].get("creationTimestamp") or "")
    end = ended(job)
    if end is not None:
        return _end(job, ours, end)
    if job["spec"].get("suspend"):
        return Waiting()
    if not ours:
        return _without_pod(events)
    verdict = _verdict(job, ours)
    if verdict is not None:  # the Job's own status follows a second or two later
        return verdict
    stuck = _stuck(ours[-1]) or _unmounted(events)
    if stuck is not None:
        return CouldNotRun(stuck, is_over=False)
    return Running(ours[-1]["metadata"]["name"], _before(ours), _lacks(ours[-1]))


def refused(what: str, message: str) -> CouldNotRun:
    """Return the outcome after the API server refused `what`."""
    return CouldNotRun(_after(what, message), is_over=False)


def failure_of(job: Object, pods: Sequence[Object]) -> str:
    """Return why a Job whose pods report no verdict has no result. `pods` are all of its pods, the newest last."""
    end = ended(job) or {}
    if end.get("type") == "Complete":
        return "its pod was removed before its result was read"
    if end.get("reason") == "DeadlineExceeded":
        return f"it did not end within {job['spec'].get('activeDeadlineSeconds')} seconds"
    return _failure(pods).why


def success_message(pods: Iterable[Object]) -> str | None:
    """Return the termination message of a pod that ended well, or None if there is none."""
    ends = (_terminated(pod) for pod in pods)
    return next(
        (end.get("message") or "" for end in ends if end is not None and end.get("exitCode") == PASSED_STATUS), None
    )


def ended(job: Object) -> Object | None:
    """Return the condition by which the Job has ended. Return None if it has not."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] in ("Complete", "Failed") and one["status"] == "True"), None)


def _end(job: Object, pods: Sequence[Object], end: Object) -> JobOutcome:
    verdict = _verdict(job, pods)
    is_complete = end["type"] == "Complete"
    if isinstance(verdict, NeedsExecutors) and is_complete:
        return verdict
    if isinstance(verdict, Passed | Failed) and verdict.document.exit_status == (
        PASSED_STATUS if is_complete else FAILED_STATUS
    ):
        return verdict if verdict.at else replace(verdict, at=end.get("lastTransitionTime") or "")
    if is_complete or end.get("reason") == "PodFailurePolicy":
        if not _statuses(pods, (PASSED_STATUS, FAILED_STATUS)):
            return CouldNotRun("its pod was removed before its verdict was read")
        return CouldNotRun("its exit status and what it left as its verdict do not agree", is_transient=False)
    if end.get("reason") == "DeadlineExceeded":
        seconds = job["spec"].get("activeDeadlineSeconds")
        why = f"it did not end within {seconds} seconds: raise activeDeadlineSeconds, or judge a sample"
        return CouldNotRun(_after(why, _stuck(pods[-1]) if pods else None), is_transient=False)
    return _failure(pods)


def _verdict(job: Object, pods: Sequence[Object]) -> Passed | Failed | NeedsExecutors | None:
    """Return what a pod of this Job reports if it agrees with the exit status and the Job's request."""
    request_hash = (job["metadata"].get("annotations") or {}).get(REQUEST_ANNOTATION)
    for pod in pods:
        end = _terminated(pod)
        document = None if end is None else read(end.get("message") or "")
        if end is None or document is None or document.request_hash != request_hash or not request_hash:
            continue
        if isinstance(document, ExecutorsNeeded):
            if end.get("exitCode") == PASSED_STATUS and _is_of(pod, job):
                return NeedsExecutors(document.executors)
        elif end.get("exitCode") == document.exit_status and _is_of(pod, job):
            outcome = Passed if document.verdict is MessagesVerdict.PASS else Failed
            return outcome(document, pod["metadata"]["name"], end.get("finishedAt") or "")
    return None


def _is_of(pod: Object, job: Object) -> bool:
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == job["metadata"]["uid"] for owner in owners)


def _statuses(pods: Iterable[Object], statuses: tuple[int, ...]) -> bool:
    ends = (_terminated(pod) for pod in pods)
    return any(end is not None and end.get("exitCode") in statuses for end in ends)


def _failure(pods: Sequence[Object]) -> CouldNotRun:
    """Return why the newest pod failed, after all attempts of the Job."""
    if not pods:
        return CouldNotRun("it failed, and its pods are gone")
    pod = pods[-1]
    end, reason = _terminated(pod), (pod.get("status") or {}).get("reason")
    if end is not None and end.get("reason") == "OOMKilled":
        return CouldNotRun("it ran out of memory: raise template.resources.limits.memory", is_transient=False)
    if reason:
        return CouldNotRun(_after(f"its pod was ended ({_line(reason)})", (pod.get("status") or {}).get("message")))
    if end is None:
        return CouldNotRun("its pod failed without saying why")
    if end.get("exitCode") == _KILLED:
        return CouldNotRun("its pod was killed")
    message = end.get("message") or ""
    why = _after(f"it ended with status {end.get('exitCode')}", message)
    return CouldNotRun(why, is_transient=not message.startswith(f"{Reason.OUT_OF_MEMORY}:"))


def _before(pods: Sequence[Object]) -> str:
    """Return why the newest failed pod failed, or "". A user may fix the cause during the next attempt."""
    failed = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Failed"]
    is_failure = bool(failed) and not _statuses(failed[-1:], (PASSED_STATUS, FAILED_STATUS))
    return _failure(failed).why if is_failure else ""


def _without_pod(events: Sequence[Object]) -> JobOutcome:
    """Return the outcome of a Job without a pod. It may be new, or the API server may reject its pods."""
    failures = [event for event in events if event.get("reason") == "FailedCreate"]
    if not failures:
        return Running(lacks="its Job has no pod yet")
    newest = max(failures, key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "")
    return CouldNotRun(_after("its pod cannot be made", newest.get("message")), is_over=False)


def _lacks(pod: Object) -> str:
    """Return what a pod waits for that may come without a change."""
    status = pod.get("status") or {}
    if status.get("phase") != "Pending":
        return ""
    conditions = status.get("conditions") or ()
    if not any(one["type"] == _SCHEDULED and one["status"] == "True" for one in conditions):
        return f"pod {pod['metadata']['name']} has no node yet"
    return f"pod {pod['metadata']['name']} has a node and has not started, which may still pull its image"


def _unmounted(events: Sequence[Object]) -> str | None:
    """Return why a pod waits for its volumes, from its kubelet's Events. Return None if it does not."""
    failures = [event for event in events if event.get("reason") == "FailedMount"]
    return _after("its pod cannot mount what it needs", failures[-1].get("message")) if failures else None


def _stuck(pod: Object) -> str | None:
    """Return why a pod will not run until a user changes something. Return None if it may run."""
    status = pod.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition["type"] == _SCHEDULED and condition.get("reason") == "Unschedulable":
            return _after("no node takes its pod", condition.get("message"))
    for container in status.get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason, why = waiting.get("reason"), _WHY_WAITING.get(waiting.get("reason", ""))
        if reason in _UNPULLED:
            account = (pod.get("spec") or {}).get("serviceAccountName") or "default"
            secrets = f"the imagePullSecrets that ServiceAccount {account} had when the pod was made"
            why = f"its image cannot be pulled with {secrets}"
        if why is not None:
            return _after(f"{reason}: {why}", waiting.get("message"))
    return None


def _terminated(pod: Object) -> Object | None:
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        if container.get("name") == CONTAINER:
            end: Object | None = (container.get("state") or {}).get("terminated")
            return end
    return None


def _after(why: str, message: str | None) -> str:
    return f"{why}: {_line(message)}" if message and message.strip() else why


def _line(text: str) -> str:
    """Return the text of another program, shortened and on one line."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= _MAX_LENGTH else f"{line[: _MAX_LENGTH - 1]}…"
