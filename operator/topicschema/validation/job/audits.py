"""CronJob of a policy's audits, its ConfigMap, and the termination message of its pods."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from topicschema.api.audits import AuditFigures, AuditSpec
from topicschema.api.kinds import CONFIG_MAP, CRON_JOB, Object
from topicschema.api.registries import OAuth2Spec
from topicschema.api.validation_pods import TemplateSpec
from topicschema.api.wire import decode, encode
from topicschema.core.errors import StalledError
from topicschema.validation.job.manifest import (
    CONTAINER,
    EXECUTOR_TEMPLATE,
    NAMESPACE_LABEL,
    OWNER_ANNOTATION,
    POLICY_LABEL,
    REQUEST_FOLDER,
    RUN_HASH_ANNOTATION,
    TEAM_LABEL,
    driver_pod,
    executor_template,
    name_label,
    pod_metadata,
)
from topicschema.validation.job.pods import SecretFiles, pod
from topicschema.validation.job.result import MAX_BYTES

CONFIG_FILE: Final = "audit.json"
CA_FILE: Final = "ca.pem"
CA_PATH: Final = f"{REQUEST_FOLDER}/{CA_FILE}"
"""Path of the broker's CA certificates in a driver."""
FORMAT: Final = 1
_NAME_LENGTH: Final = 52  # a CronJob's name is the beginning of those of its Jobs
_HASH: Final = 10
_DEADLINE: Final = 86_400
_BACKOFF_LIMIT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditConfig:
    """Configuration of an audit in a pod: `options` of `pulsar-messages`, and the URI of the folder of the tables."""

    options: Mapping[str, str]
    output: str
    proposed: str
    max_executors: int
    event_log: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """Audits of one policy and how they run. `namespace` is that of all Jobs, `ca` has certificates or is ""."""

    namespace: str
    policy: tuple[str, str]
    spec: AuditSpec
    config: AuditConfig
    image: str
    ca: str = ""
    team: str = ""
    template: TemplateSpec = field(default_factory=TemplateSpec)
    mounts: tuple[SecretFiles, ...] = ()

    @property
    def name(self) -> str:
        """Name of the CronJob and its ConfigMap."""
        return audit_name(*self.policy)


def audit_name(namespace: str, policy: str) -> str:
    """Return the name of the CronJob of a policy, which is the same for a later policy of the same name."""
    digest = hashlib.sha256(f"{namespace}/{policy}".encode()).hexdigest()[:_HASH]
    return f"{policy.replace('.', '-')[: _NAME_LENGTH - len('-audit-') - _HASH].rstrip('-')}-audit-{digest}"


def audit_selector(namespace: str, policy: str) -> str:
    """Return the selector of the Jobs of a policy of this name."""
    return f"{NAMESPACE_LABEL}={namespace},{POLICY_LABEL}={name_label(policy)}"


def cron_job(request: AuditRequest) -> Object:
    """Return the CronJob. Its Jobs are suspended until the limiter starts them."""
    spec, metadata = request.spec, {"labels": _labels(request), "annotations": _annotations(request)}
    made = pod(CONTAINER, request.image, request.template, request.mounts)
    has_executors = request.config.max_executors > 0
    return {
        "apiVersion": CRON_JOB.api_version,
        "kind": CRON_JOB.name,
        "metadata": {"name": request.name, "namespace": request.namespace, **metadata},
        "spec": {
            "schedule": spec.schedule,
            **({} if spec.time_zone is None else {"timeZone": spec.time_zone}),
            "suspend": spec.suspend,
            "concurrencyPolicy": "Forbid",
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {
                "metadata": metadata,
                "spec": {
                    "suspend": True,
                    "backoffLimit": _BACKOFF_LIMIT,
                    "activeDeadlineSeconds": _DEADLINE,
                    "podReplacementPolicy": "Failed",
                    "template": {
                        "metadata": pod_metadata(request.template, _labels(request), _annotations(request), "driver"),
                        "spec": driver_pod(made, "audit", [request.name], has_executors=has_executors),
                    },
                },
            },
        },
    }


def run_hash(request: AuditRequest) -> str:
    """Return the hash of all that decides what runs, and when."""
    content = json.dumps([cron_job(request), encode(request.config), request.ca], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def config_map(request: AuditRequest, cron_job_uid: str) -> Object:
    """Return the ConfigMap that the pods mount. The CronJob of that uid owns it. RUN_HASH_ANNOTATION has `run_hash`."""
    metadata = pod_metadata(request.template, _labels(request), _annotations(request), "executor")
    executor = pod("executor", request.image, request.template, request.mounts)
    owner = {"apiVersion": CRON_JOB.api_version, "kind": CRON_JOB.name, "name": request.name, "uid": cron_job_uid}
    return {
        "apiVersion": CONFIG_MAP.api_version,
        "kind": CONFIG_MAP.name,
        "metadata": {
            "name": request.name,
            "namespace": request.namespace,
            "labels": _labels(request),
            "annotations": _annotations(request) | {RUN_HASH_ANNOTATION: run_hash(request)},
            "ownerReferences": [owner],
        },
        "data": {
            CONFIG_FILE: json.dumps(encode(request.config), sort_keys=True),
            EXECUTOR_TEMPLATE: json.dumps(executor_template(executor, metadata), sort_keys=True),
            **({CA_FILE: request.ca} if request.ca else {}),
        },
    }


def flow_options(flow: OAuth2Spec) -> Iterator[tuple[str, str]]:
    """Yield the options of `pulsar-messages` for the flow, without its secret."""
    yield "oauth2IssuerUrl", flow.issuer_url
    yield "oauth2ClientId", flow.client_id
    for name, value in (("oauth2Audience", flow.audience), ("oauth2Scope", flow.scope)):
        if value:
            yield name, value


def _labels(request: AuditRequest) -> dict[str, str]:
    namespace, name = request.policy
    return {
        "app.kubernetes.io/managed-by": "topicschema",
        "app.kubernetes.io/component": "validation",
        POLICY_LABEL: name_label(name),
        NAMESPACE_LABEL: namespace,
    } | ({TEAM_LABEL: request.team} if request.team else {})


def _annotations(request: AuditRequest) -> dict[str, str]:
    return {OWNER_ANNOTATION: "/".join(request.policy)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditDocument:
    """End of a complete audit.

    `newly_invalid` are topics with messages that cannot be read, of which the former audit had no such message.
    """

    figures: AuditFigures
    newly_invalid: tuple[str, ...] = ()
    format: int = FORMAT

    @property
    def text(self) -> bytes:
        """The JSON, with as many findings and topics as a termination message has space for."""
        document = self
        while len(text := _written(document)) > MAX_BYTES:
            figures = document.figures
            if len(document.newly_invalid) > len(figures.findings):
                document = replace(document, newly_invalid=document.newly_invalid[:-1])
            else:
                document = replace(document, figures=replace(figures, findings=figures.findings[:-1]))
        return text


def read_document(text: str) -> AuditDocument | None:
    """Return the document in a termination message. Return None if it has none, or one of another format."""
    try:
        document = decode(AuditDocument, json.loads(text))
    except (ValueError, TypeError, RecursionError, StalledError):
        return None
    return document if document.format == FORMAT else None


def _written(document: AuditDocument) -> bytes:
    wire: Any = encode(document)
    return json.dumps(wire, separators=(",", ":"), ensure_ascii=True).encode()
