"""Manifests of a validation Job and of the ConfigMaps with its request. `pods` makes the spec of its pods."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from topicschema.api import GROUP
from topicschema.api.kinds import CONFIG_MAP, JOB, Object
from topicschema.api.validation_pods import TemplateSpec
from topicschema.core.history import Owner
from topicschema.validation.job.pods import SecretFiles, pod
from topicschema.validation.job.result import FAILED_STATUS
from topicschema.validation.request import Packed, ValidationRequest

TOPIC_LABEL: Final = f"{GROUP}/topicschema"
"""Label with the name of the Job's TopicSchema. A name that is too long for a label is shortened."""
POLICY_LABEL: Final = f"{GROUP}/policy"
"""Label with the name of the policy of an audit. Without it, a Job belongs to a TopicSchema."""
NAMESPACE_LABEL: Final = f"{GROUP}/namespace"
UID_LABEL: Final = f"{GROUP}/uid"
TEAM_LABEL: Final = f"{GROUP}/team"
"""Labels with the namespace and the UID of the TopicSchema, and with its team. No owner is in another namespace."""
OWNER_ANNOTATION: Final = f"{GROUP}/owner"
"""Annotation with `namespace/name` of the TopicSchema."""
REQUEST_LABEL: Final = f"{GROUP}/validation-request"
ROLE_LABEL: Final = f"{GROUP}/role"
"""Label with `driver` or `executor`, which NetworkPolicies select."""
DRIVERS: Final = f"{TOPIC_LABEL},{ROLE_LABEL}=driver"
"""Selector of the pods that report verdicts."""
MANAGED: Final = "app.kubernetes.io/managed-by=topicschema"
"""Selector of all Jobs of the operator."""
ATTEMPT_ANNOTATION: Final = f"{GROUP}/attempt"
REQUEST_ANNOTATION: Final = f"{GROUP}/validation-request-sha256"
"""Annotation with the hash of the request's text. A verdict must name the same hash."""
RUN_HASH_ANNOTATION: Final = f"{GROUP}/run-config-hash"
"""Annotation with the hash of how the Job runs, which is not in the request."""
EXECUTORS_ANNOTATION: Final = f"{GROUP}/executors"
"""Annotation with the number of Spark executors of the Job."""
JOB_UID: Final = "JOB_UID"
"""Environment variable of drivers with the uid of their Job."""
CONTAINER: Final = "driver"
REQUEST_FOLDER: Final = "/request"
EXECUTOR_TEMPLATE: Final = "executor.json"
PART_BYTES: Final = 900 * 1024
"""Maximum bytes of a packed request in one ConfigMap."""
DRIVER_PORT: Final = 7078
BLOCKS_PORT: Final = 7079

_NAME_LENGTH: Final = 63  # a Job's name is also a label of its pods
_LABEL_LENGTH: Final = 63
_HASH: Final = 10
_BACKOFF_LIMIT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """Parameters of a Job: its `owner`, its validation request, and how it runs. `attempt` counts from 1.

    `namespace` is that of all Jobs. `request_hash` identifies the request without its payloads. `team` may be "".
    """

    namespace: str
    owner: Owner
    request_hash: str
    attempt: int
    validation_request: ValidationRequest
    image: str
    run_hash: str = ""
    team: str = ""
    template: TemplateSpec = field(default_factory=TemplateSpec)
    mounts: tuple[SecretFiles, ...] = ()
    active_deadline_seconds: int = 3600
    ttl_seconds_after_finished: int = 86_400

    @property
    def name(self) -> str:
        """The Job's name, the same for the same owner, request and attempt."""
        return job_name(self.owner, self.request_hash, self.attempt)


def job_name(owner: Owner, request_hash: str, attempt: int) -> str:
    """Return the name of the Job for this attempt at the request."""
    digest = hashlib.sha256(f"{owner.uid}\n{request_hash}\n{attempt}".encode()).hexdigest()[:_HASH]
    length = _NAME_LENGTH - len(digest) - len("-check-")
    return f"{owner.name.replace('.', '-')[:length].rstrip('-')}-check-{digest}"


def name_label(name: str) -> str:
    """Return the value of a label for an object of that name."""
    if len(name) <= _LABEL_LENGTH:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH]
    return f"{name[: _LABEL_LENGTH - _HASH - 1].rstrip('-.')}-{digest}"


def request_label(request_hash: str) -> str:
    """Return the value of REQUEST_LABEL."""
    return request_hash.removeprefix("sha256:")[:40]


def manifest(request: JobRequest, packed: Packed | None = None) -> Object:
    """Return the Job, suspended until the limiter starts it. `packed` is the request if it is packed already."""
    packed = packed or request.validation_request.pack()
    parts = len(_parts(packed.content))
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.name,
        "metadata": {
            "name": request.name,
            "namespace": request.namespace,
            "labels": labels(request),
            "annotations": _owner(request)
            | {
                ATTEMPT_ANNOTATION: str(request.attempt),
                REQUEST_ANNOTATION: packed.sha256,
                RUN_HASH_ANNOTATION: request.run_hash,
                EXECUTORS_ANNOTATION: str(request.validation_request.executors),
            },
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
                "metadata": _pod_metadata(request, "driver"),
                "spec": _driver(request, parts),
            },
        },
    }


def request_parts(request: JobRequest, job_uid: str, packed: Packed | None = None) -> tuple[Object, ...]:
    """Return the ConfigMaps of the request, which the Job of that uid owns. Create them in this order."""
    parts = _parts((packed or request.validation_request.pack()).content)
    contents = [{"binaryData": {part_name(n): base64.b64encode(part).decode()}} for n, part in enumerate(parts)]
    if request.validation_request.executors:
        contents[0]["data"] = {EXECUTOR_TEMPLATE: json.dumps(_executor(request), sort_keys=True)}
    return tuple(
        {
            "apiVersion": CONFIG_MAP.api_version,
            "kind": CONFIG_MAP.name,
            "metadata": {
                "name": part_map(request.name, n),
                "namespace": request.namespace,
                "labels": labels(request),
                "ownerReferences": [_reference(JOB.api_version, JOB.name, request.name, job_uid)],
            },
            "immutable": True,
            **content,
        }
        for n, content in enumerate(contents)
    )


def part_map(job: str, number: int) -> str:
    """Return the name of the ConfigMap with that part of a Job's request."""
    return f"{job}-{number}"


def last_part(job: Mapping[str, Any]) -> str:
    """Return the name of the ConfigMap with the last part of a Job's request, or "" if it has none."""
    mounted = job["spec"]["template"]["spec"].get("volumes", ())
    names = [
        source["configMap"]["name"]
        for volume in mounted
        if volume["name"] == "request"
        for source in volume["projected"]["sources"]
    ]
    return names[-1] if names else ""


def part_name(number: int) -> str:
    """Return the name of a part's file in REQUEST_FOLDER. Joined in this order, the parts are the packed request."""
    return f"request.xz.{number:03}"


def _parts(packed: bytes) -> list[bytes]:
    return [packed[start : start + PART_BYTES] for start in range(0, len(packed), PART_BYTES)]


def labels(request: JobRequest) -> dict[str, str]:
    """Return the labels of a Job and its objects."""
    return {
        "app.kubernetes.io/managed-by": "topicschema",
        "app.kubernetes.io/component": "validation",
        TOPIC_LABEL: name_label(request.owner.name),
        NAMESPACE_LABEL: request.owner.namespace,
        UID_LABEL: request.owner.uid,
        REQUEST_LABEL: request_label(request.request_hash),
    } | ({TEAM_LABEL: request.team} if request.team else {})


def selector_of(namespace: str, name: str) -> str:
    """Return the selector of the Jobs of a TopicSchema of this name, with those of a former one."""
    return f"{NAMESPACE_LABEL}={namespace},{TOPIC_LABEL}={name_label(name)}"


def _owner(request: JobRequest) -> dict[str, str]:
    return {OWNER_ANNOTATION: f"{request.owner.namespace}/{request.owner.name}"}


def _pod_metadata(request: JobRequest, role: str) -> Object:
    return pod_metadata(request.template, labels(request), _owner(request), role)


def pod_metadata(
    template: TemplateSpec, own_labels: Mapping[str, str], annotations: Mapping[str, str], role: str
) -> Object:
    """Return labels and annotations of a pod. Those of the template never replace the operator's."""
    return {
        "labels": {**template.labels, **own_labels, ROLE_LABEL: role},
        "annotations": {**template.annotations, **annotations},
    }


def _reference(api_version: str, kind: str, name: str, uid: str) -> Object:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}


def _failure_rules() -> list[Object]:
    """Return the rules of the Job's pod failure policy.

    A verdict ends the Job, and a disruption of the node does not count as a failure.
    """
    of_verdict = {"containerName": CONTAINER, "operator": "In", "values": [FAILED_STATUS]}
    disrupted = [{"type": "DisruptionTarget", "status": "True"}]
    return [
        {"action": "FailJob", "onExitCodes": of_verdict},
        {"action": "Ignore", "onPodConditions": disrupted},
    ]


def _driver(request: JobRequest, parts: int) -> Object:
    made = pod(CONTAINER, request.image, request.template, request.mounts)
    maps = [part_map(request.name, n) for n in range(parts)]
    return driver_pod(made, "driver", maps, has_executors=request.validation_request.executors > 0)


def driver_pod(made: Object, program: str, config_maps: Sequence[str], *, has_executors: bool) -> Object:
    """Return the spec of a pod as that of a driver. `config_maps` are the names of those in REQUEST_FOLDER.

    `program` is that of the image's entry point.
    """
    (container,) = made["containers"]
    container |= {
        "args": [program, REQUEST_FOLDER],
        "env": [*container["env"], *_identity()],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    if has_executors:
        container["env"].append({"name": "TOPICSCHEMA_EXECUTOR_IMAGE", "value": container["image"]})
        container["ports"] = [
            {"name": "driver", "containerPort": DRIVER_PORT},
            {"name": "blocks", "containerPort": BLOCKS_PORT},
        ]
    sources = [{"configMap": {"name": name}} for name in config_maps]
    made["volumes"].append({"name": "request", "projected": {"sources": sources}})
    container["volumeMounts"].append({"name": "request", "mountPath": REQUEST_FOLDER, "readOnly": True})
    return made | {"automountServiceAccountToken": has_executors}


def _executor(request: JobRequest) -> Object:
    made = pod("executor", request.image, request.template, request.mounts)
    return executor_template(made, _pod_metadata(request, "executor"))


def executor_template(made: Object, metadata: Object) -> Object:
    """Return the pod template from which a driver creates its executors. Spark adds the command."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": made | {"automountServiceAccountToken": False},
    }


def _identity() -> list[Object]:
    """Return the pod's name, namespace and IP, and the uid of its Job, as environment variables.

    Executors connect to the driver by this IP, and are owned by this pod.
    """
    fields = {
        "POD_NAME": "metadata.name",
        "POD_NAMESPACE": "metadata.namespace",
        "POD_IP": "status.podIP",
        JOB_UID: "metadata.labels['batch.kubernetes.io/controller-uid']",
    }
    return [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]
