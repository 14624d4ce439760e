"""The Job that asks a question, and the ConfigMaps that it mounts the question from: manifests, nothing is sent here.

What its pods may do is `pods`' matter; when a Job is made is `reconcile`'s, and what its end means `outcome`'s.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from topicschema.api import GROUP
from topicschema.api.kinds import CONFIG_MAP, JOB, TOPIC_SCHEMA
from topicschema.api.validation_pods import TemplateSpec
from topicschema.core.history import Owner
from topicschema.validation.job.pods import SecretFiles, pod
from topicschema.validation.job.result import FAILED_STATUS
from topicschema.validation.request import Packed, ValidationRequest

Object = dict[str, Any]

TOPIC_LABEL: Final = f"{GROUP}/topicschema"
"""Whose Job it is; a name that is too long for a label's value is shortened."""
QUESTION_LABEL: Final = f"{GROUP}/question"
ROLE_LABEL: Final = f"{GROUP}/role"
"""`driver` or `executor`: what NetworkPolicies select."""
DRIVERS: Final = f"{TOPIC_LABEL},{ROLE_LABEL}=driver"
"""What selects the pods that leave verdicts."""
ATTEMPT_ANNOTATION: Final = f"{GROUP}/attempt"
QUESTION_ANNOTATION: Final = f"{GROUP}/question-sha256"
"""The hash of the question's text, which a verdict must name."""
MEANS_ANNOTATION: Final = f"{GROUP}/means"
"""A hash of how the question is asked, which makes it no other question."""
CONTAINER: Final = "driver"
QUESTION_FOLDER: Final = "/question"
EXECUTOR_TEMPLATE: Final = "executor.json"
PART_BYTES: Final = 900 * 1024
"""Of a packed question, in one ConfigMap."""
DRIVER_PORT: Final = 7078
BLOCKS_PORT: Final = 7079

_NAME_LENGTH: Final = 63  # a Job's name is a label of its pods
_LABEL_LENGTH: Final = 63
_HASH: Final = 10
_BACKOFF_LIMIT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A question to be asked for `owner`, the `attempt`-th time (from 1), and by what.

    `asked` is the hash that tells this question from others before it is put together.
    """

    owner: Owner
    asked: str
    attempt: int
    question: ValidationRequest
    image: str
    means: str = ""
    template: TemplateSpec = field(default_factory=TemplateSpec)
    mounts: tuple[SecretFiles, ...] = ()
    active_deadline_seconds: int = 3600
    ttl_seconds_after_finished: int = 86_400

    @property
    def name(self) -> str:
        """The Job's: the same for the same owner, question and attempt."""
        return job_name(self.owner, self.asked, self.attempt)


def job_name(owner: Owner, asked: str, attempt: int) -> str:
    """The name of the Job that asks this question so manieth."""
    digest = hashlib.sha256(f"{owner.uid}\n{asked}\n{attempt}".encode()).hexdigest()[:_HASH]
    room = _NAME_LENGTH - len(digest) - len("-check-")
    return f"{owner.name.replace('.', '-')[:room].rstrip('-')}-check-{digest}"


def topic_label(name: str) -> str:
    """The value of TOPIC_LABEL for a TopicSchema of that name."""
    if len(name) <= _LABEL_LENGTH:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH]
    return f"{name[: _LABEL_LENGTH - _HASH - 1].rstrip('-.')}-{digest}"


def question_label(asked: str) -> str:
    """The value of QUESTION_LABEL."""
    return asked.removeprefix("sha256:")[:40]


def manifest(request: JobRequest, packed: Packed | None = None) -> Object:
    """The Job, suspended: it waits for its turn, and for its question's ConfigMaps.

    `packed` is the question where it is packed already.
    """
    packed = packed or request.question.pack()
    parts = len(_parts(packed.content))
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.name,
        "metadata": {
            "name": request.name,
            "namespace": request.owner.namespace,
            "labels": _labels(request),
            "annotations": {
                ATTEMPT_ANNOTATION: str(request.attempt),
                QUESTION_ANNOTATION: packed.sha256,
                MEANS_ANNOTATION: request.means,
            },
            "ownerReferences": [
                _reference(TOPIC_SCHEMA.api_version, TOPIC_SCHEMA.name, request.owner.name, request.owner.uid)
            ],
        },
        "spec": {
            "suspend": True,
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": _BACKOFF_LIMIT,
            "activeDeadlineSeconds": request.active_deadline_seconds,
            "ttlSecondsAfterFinished": request.ttl_seconds_after_finished,
            "podFailurePolicy": {"rules": _failure_rules()},
            "template": {
                "metadata": {"labels": _labels(request) | {ROLE_LABEL: "driver"}},
                "spec": _driver(request, parts),
            },
        },
    }


def question_parts(request: JobRequest, job_uid: str, packed: Packed | None = None) -> tuple[Object, ...]:
    """The ConfigMaps of the question, which end with the Job of that uid; the last of them is to be made last."""
    parts = _parts((packed or request.question.pack()).content)
    contents = [{"binaryData": {part_name(n): base64.b64encode(part).decode()}} for n, part in enumerate(parts)]
    if request.question.executors:
        contents[0]["data"] = {EXECUTOR_TEMPLATE: json.dumps(_executor(request), sort_keys=True)}
    return tuple(
        {
            "apiVersion": CONFIG_MAP.api_version,
            "kind": CONFIG_MAP.name,
            "metadata": {
                "name": part_map(request.name, n),
                "namespace": request.owner.namespace,
                "labels": _labels(request),
                "ownerReferences": [_reference(JOB.api_version, JOB.name, request.name, job_uid)],
            },
            "immutable": True,
            **content,
        }
        for n, content in enumerate(contents)
    )


def part_map(job: str, number: int) -> str:
    """The name of the ConfigMap with that part of a Job's question."""
    return f"{job}-{number}"


def last_part(job: Mapping[str, Any]) -> str:
    """The name of the ConfigMap with the last part of the question of a Job as it was read; "" where it has none."""
    mounted = job["spec"]["template"]["spec"].get("volumes", ())
    names = [
        source["configMap"]["name"]
        for volume in mounted
        if volume["name"] == "question"
        for source in volume["projected"]["sources"]
    ]
    return names[-1] if names else ""


def part_name(number: int) -> str:
    """The file in QUESTION_FOLDER; put together in this order they are the packed question."""
    return f"question.xz.{number:03}"


def _parts(packed: bytes) -> list[bytes]:
    return [packed[start : start + PART_BYTES] for start in range(0, len(packed), PART_BYTES)]


def _labels(request: JobRequest) -> dict[str, str]:
    return {
        "app.kubernetes.io/managed-by": "topicschema",
        "app.kubernetes.io/component": "validation",
        TOPIC_LABEL: topic_label(request.owner.name),
        QUESTION_LABEL: question_label(request.asked),
    }


def _reference(api_version: str, kind: str, name: str, uid: str) -> Object:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}


def _failure_rules() -> list[Object]:
    """A verdict is never asked for again; what a node's end takes along does not count as a try."""
    of_verdict = {"containerName": CONTAINER, "operator": "In", "values": [FAILED_STATUS]}
    disrupted = [{"type": "DisruptionTarget", "status": "True"}]
    return [
        {"action": "FailJob", "onExitCodes": of_verdict},
        {"action": "Ignore", "onPodConditions": disrupted},
    ]


def _driver(request: JobRequest, parts: int) -> Object:
    question = [{"configMap": {"name": part_map(request.name, n)}} for n in range(parts)]
    made = pod(CONTAINER, request.image, request.template, request.mounts)
    (container,) = made["containers"]
    container |= {
        "args": ["driver", QUESTION_FOLDER],
        "env": [*container["env"], *_identity()],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    if request.question.executors:
        container["env"].append({"name": "TOPICSCHEMA_EXECUTOR_IMAGE", "value": request.image})
        container["ports"] = [
            {"name": "driver", "containerPort": DRIVER_PORT},
            {"name": "blocks", "containerPort": BLOCKS_PORT},
        ]
    made["volumes"].append({"name": "question", "projected": {"sources": question}})
    container["volumeMounts"].append({"name": "question", "mountPath": QUESTION_FOLDER, "readOnly": True})
    return made | {"automountServiceAccountToken": request.question.executors > 0}


def _executor(request: JobRequest) -> Object:
    """The pod from which the driver makes its executors; what they run, Spark adds."""
    made = pod("executor", request.image, request.template, request.mounts)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": _labels(request) | {ROLE_LABEL: "executor"}},
        "spec": made | {"automountServiceAccountToken": False},
    }


def _identity() -> list[Object]:
    """Who the pod is, for a driver that has executors call it, and that is to own them."""
    fields = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_IP": "status.podIP"}
    return [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]
