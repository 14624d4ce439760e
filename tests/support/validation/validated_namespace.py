"""A namespace whose topics are validated, with nobody's kubelet: a test says what became of a pod, as a kubelet does.

Jobs are Kubernetes' own to work on (controller-manager); the pods that it makes stay as they are: there is no node.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from support.kubernetes.watched_namespace import WatchedShop, until
from topicschema.api.kinds import CONFIG_MAP, JOB, POD, TOPIC_SCHEMA
from topicschema.api.validation import ExampleStatus, ReasonStatus
from topicschema.validation.job.manifest import REQUEST_ANNOTATION, TOPIC_LABEL
from topicschema.validation.job.result import Answer, VerdictDocument

Object = dict[str, Any]

ENVIRONMENT = {"TOPICSCHEMA_VALIDATION_IMAGE": "registry.test/validation:1"}
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

    async def jobs(self) -> list[Object]:
        """All Jobs, oldest first."""
        found = await self.watched.shop.client.list(JOB, self.namespace, label_selector=TOPIC_LABEL)
        return sorted(found, key=lambda job: (job["metadata"]["creationTimestamp"], job["metadata"]["name"]))

    async def running(self, count: int = 1) -> list[Object]:
        """The Jobs that have been let run, once there are so many."""

        async def let_run() -> list[Object]:
            return [job for job in await self.jobs() if not job["spec"]["suspend"] and not _is_over(job)]

        return await until(let_run, lambda found: len(found) == count)

    async def pod_of(self, job: Object) -> Object:
        """The newest pod of the Job, once there is one that has not ended."""

        async def living() -> list[Object]:
            selector = f"batch.kubernetes.io/job-name={job['metadata']['name']}"
            found = await self.watched.shop.client.list(POD, self.namespace, label_selector=selector)
            return [pod for pod in found if pod["status"]["phase"] in ("Pending", "Running")]

        return (await until(living, bool))[-1]

    async def ends(self, job: Object, exit_status: int, message: str, reason: str = "Error") -> None:
        """As a kubelet tells it: the Job's pod has ended so."""
        pod = await self.pod_of(job)
        end = {"exitCode": exit_status, "message": message, "reason": reason}
        self.told(pod, {"terminated": end}, phase="Failed" if exit_status else "Succeeded")

    def told(self, pod: Object, state: Mapping[str, Any], phase: str = "Pending", **status: Any) -> None:
        """As a kubelet tells it: the pod's container is in that state."""
        container = {"name": "driver", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        body = {"status": {"phase": phase, "containerStatuses": [container], **status}}
        self.watched.shop.api.merge("pods", self.namespace, pod["metadata"]["name"], body, "status")

    async def passes(self, job: Object, messages: int = 1000) -> None:
        """Its pod says that the messages pass, and the Job is over."""
        await self.ends(job, 0, verdict(job, Answer.PASS, messages), "Completed")
        await self._over(job)

    async def fails(self, job: Object, messages: int = 1000) -> None:
        """Its pod says that three of the messages do not pass, and the Job is over."""
        await self.ends(job, 42, verdict(job, Answer.FAIL, messages, 3))
        await self._over(job)

    async def _over(self, job: Object) -> None:
        """The Job says so a moment after its pod, and until then it looks as if it ran."""
        name = job["metadata"]["name"]
        await until(self.jobs, lambda jobs: all(_is_over(one) for one in jobs if one["metadata"]["name"] == name))

    async def validation(self, phase: str, name: str = "created") -> Object:
        """The status of the resource once its validation is in that phase."""

        async def told() -> Object:
            status: Object = (await self.watched.get(name, TOPIC_SCHEMA)).get("status", {})
            return status

        return await until(told, lambda status: (status.get("validation") or {}).get("phase") == phase)

    async def gone(self, job: Object) -> None:
        """Return once the Job is gone, and its question with it."""

        async def names() -> list[str]:
            maps = await self.watched.shop.client.list(CONFIG_MAP, self.namespace)
            return [one["metadata"]["name"] for one in (*await self.jobs(), *maps)]

        mine: str = job["metadata"]["name"]
        await until(names, lambda found: not any(name.startswith(mine) for name in found))


def verdict(job: Object, answer: Answer, messages: int = 1000, invalid: int = 0) -> str:
    """What a pod of the Job leaves as its termination message."""
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
