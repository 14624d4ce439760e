"""Jobs and pods as an API server returns them."""

from typing import Any

from topicschema.core.history import Owner
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation.job.manifest import JobRequest, manifest
from topicschema.validation.job.result import MessagesVerdict, VerdictDocument
from topicschema.validation.request import PulsarSource, ValidationRequest

Object = dict[str, Any]

OWNER = Owner("shop", "created", "uid-1")
VALIDATION_REQUEST = ValidationRequest(
    SchemaInfo(SchemaType.STRING),
    {0: SchemaInfo(SchemaType.STRING)},
    "persistent://shop/orders/created",
    pulsar=PulsarSource("http://pulsar:8080", "pulsar://pulsar:6650"),
)
REQUEST = JobRequest(
    owner=OWNER,
    request_hash="sha256:" + "a" * 64,
    attempt=1,
    validation_request=VALIDATION_REQUEST,
    image="validation:1",
)
UID = "uid-job"


def job(end: str = "", reason: str = "", *, suspended: bool = False) -> Object:
    """Return the Job; with an `end`, also the condition by which it ended."""
    wire = manifest(REQUEST)
    wire["metadata"]["uid"] = UID
    wire["spec"]["suspend"] = suspended
    conditions = [{"type": end, "status": "True", "reason": reason, "lastTransitionTime": "2026-11-21T06:00:00Z"}]
    return wire | {"status": {"conditions": conditions if end else []}}


def pod(state: Object | None = None, owner: str = UID, **status: Any) -> Object:
    references = [{"kind": "Job", "name": REQUEST.name, "uid": owner, "controller": True}]
    metadata = {"name": f"{REQUEST.name}-x", "ownerReferences": references, "creationTimestamp": "2026-11-21T05:00:00Z"}
    containers = [] if state is None else [{"name": "driver", "state": state}]
    return {"metadata": metadata, "status": {"phase": "Pending", "containerStatuses": containers, **status}}


def ended_pod(exit_status: int, message: str = "", reason: str = "Error", owner: str = UID) -> Object:
    """Return a pod of the Job that ended in that way."""
    return pod({"terminated": {"exitCode": exit_status, "message": message, "reason": reason}}, owner)


def verdict(answer: MessagesVerdict, invalid: int = 0, request_hash: str = VALIDATION_REQUEST.sha256) -> str:
    """Return the termination message with that verdict."""
    return VerdictDocument(request_hash=request_hash, verdict=answer, messages=10, invalid=invalid).text.decode()
