"""A namespace whose topics are validated, without a kubelet: a test sets the status of a pod, as a kubelet does.

The controller-manager of Kubernetes processes Jobs. The pods that it creates stay pending: there is no node.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from support.kubernetes.watched_namespace import WatchedShop, wait_for
from testbed.product import VALIDATION
from topicschema.api.kinds import CONFIG_MAP, JOB, POD, TOPIC_SCHEMA
from topicschema.api.validation import ExampleStatus, ReasonStatus
from topicschema.validation.job.manifest import NAMESPACE_LABEL, REQUEST_ANNOTATION
from topicschema.validation.job.result import ExecutorsNeeded, MessagesVerdict, VerdictDocument

Object = dict[str, Any]

SPARK_IMAGE = "registry.test/spark:1"
ENVIRONMENT = {
    "TOPICSCHEMA_VALIDATION_IMAGE": "registry.test/validation:1",
    "TOPICSCHEMA_SPARK_IMAGE": SPARK_IMAGE,
}
FILES = {"files": {"uri": "s3://archive/created", "format": "Parquet"}}
GATE = {"mode": "Gate", "source": FILES}
REPORT = {"mode": "Report", "source": FILES}
BAD = ReasonStatus(reason="TRUNCATED", path="$.total", messages=3)


@dataclass(frozen=True, slots=True)
class ValidatedShop:
    """The namespace, its Jobs and their pods."""

    watched: WatchedShop

    @property
    def namespace(self) -> str:
        return self.watched.namespace

    @property
    def _selector(self) -> str:
        return f"{NAMESPACE_LABEL}={self.namespace}"

    def govern(self, validation: Mapping[str, Any], **runs: Any) -> None:
        """Apply the policy with that validation, and its registry with these fields of `validation`."""
        # Server-side apply makes null of an object whose last member is removed.
        self.watched.shop.apply_registry(validation={"includeValues": False, **runs})
        self.watched.apply(self.watched.shop.policy(validation=validation))

    async def jobs(self) -> list[Object]:
        """Return all Jobs, oldest first."""
        jobs = await self.watched.shop.client.list(JOB, VALIDATION, label_selector=self._selector)
        return sorted(jobs, key=lambda job: (job["metadata"]["creationTimestamp"], job["metadata"]["name"]))

    async def running(self, count: int = 1) -> list[Object]:
        """Return the Jobs that may run once there is that number."""

        async def released() -> list[Object]:
            return [job for job in await self.jobs() if not job["spec"]["suspend"] and not _is_over(job)]

        return await wait_for(released, lambda jobs: len(jobs) == count)

    async def pod_of(self, job: Object) -> Object:
        """Return the newest pod of the Job once there is one that has not ended."""

        async def living() -> list[Object]:
            selector = f"batch.kubernetes.io/job-name={job['metadata']['name']}"
            pods = await self.watched.shop.client.list(POD, VALIDATION, label_selector=selector)
            return [pod for pod in pods if pod["status"]["phase"] in ("Pending", "Running")]

        return (await wait_for(living, bool))[-1]

    async def end_pod(self, job: Object, exit_status: int, message: str, reason: str = "Error") -> None:
        """Set the end of the Job's pod, as a kubelet does."""
        pod = await self.pod_of(job)
        end = {"exitCode": exit_status, "message": message, "reason": reason}
        self.set_pod_state(pod, {"terminated": end}, phase="Failed" if exit_status else "Succeeded")

    def set_pod_state(self, pod: Object, state: Mapping[str, Any], phase: str = "Pending", **status: Any) -> None:
        """Set the state of the pod's container, as a kubelet does."""
        container = {"name": "driver", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        body = {"status": {"phase": phase, "containerStatuses": [container], **status}}
        self.watched.shop.api.merge("pods", VALIDATION, pod["metadata"]["name"], body, "status")

    async def pass_validation(self, job: Object, messages: int = 1000) -> None:
        """End the Job with the verdict that the messages are valid."""
        await self.end_pod(job, 0, verdict(job, MessagesVerdict.PASS, messages), "Completed")
        await self._over(job)

    async def need_executors(self, job: Object, executors: int) -> None:
        """End the Job with the number of executors that its run needs."""
        needed = ExecutorsNeeded(request_hash=job["metadata"]["annotations"][REQUEST_ANNOTATION], executors=executors)
        await self.end_pod(job, 0, needed.text.decode(), "Completed")
        await self._over(job)

    async def fail_validation(self, job: Object, messages: int = 1000) -> None:
        """End the Job with the verdict that three messages are invalid."""
        await self.end_pod(job, 42, verdict(job, MessagesVerdict.FAIL, messages, 3))
        await self._over(job)

    async def _over(self, job: Object) -> None:
        """Wait until the Job is over, which it is a moment after its pod."""
        name = job["metadata"]["name"]
        await wait_for(self.jobs, lambda jobs: all(_is_over(one) for one in jobs if one["metadata"]["name"] == name))

    async def validation(self, phase: str, name: str = "created") -> Object:
        """Return the status of the resource once its validation is in that phase."""

        async def current() -> Object:
            status: Object = (await self.watched.get(name, TOPIC_SCHEMA)).get("status", {})
            return status

        return await wait_for(current, lambda status: (status.get("validation") or {}).get("phase") == phase)

    async def gone(self, job: Object) -> None:
        async def remaining() -> list[str]:
            maps = await self.watched.shop.client.list(CONFIG_MAP, VALIDATION, label_selector=self._selector)
            return [one["metadata"]["name"] for one in (*await self.jobs(), *maps)]

        prefix: str = job["metadata"]["name"]
        await wait_for(remaining, lambda names: not any(name.startswith(prefix) for name in names))


def verdict(job: Object, answer: MessagesVerdict, messages: int = 1000, invalid: int = 0) -> str:
    """Return the termination message of the Job's pod."""
    document = VerdictDocument(
        request_hash=job["metadata"]["annotations"][REQUEST_ANNOTATION],
        verdict=answer,
        messages=messages,
        invalid=invalid,
        by_reason=(BAD,) if invalid else (),
        examples=(ExampleStatus(message="5:7:-1", reason=BAD.reason, path=BAD.path, offset=3),) if invalid else (),
    )
    return document.text.decode()


def _is_over(job: Object) -> bool:
    conditions = job.get("status", {}).get("conditions", ())
    return any(one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in conditions)
