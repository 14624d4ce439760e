"""Jobs and pods as an API server shows them, for tests of what they mean."""

from typing import Any

from topicschema.core.history import Owner
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation.job.manifest import JobRequest, manifest
from topicschema.validation.job.result import Answer, VerdictDocument
from topicschema.validation.request import PulsarSource, ValidationRequest

Object = dict[str, Any]

OWNER = Owner("shop", "created", "uid-1")
QUESTION = ValidationRequest(
    SchemaInfo(SchemaType.STRING),
    {0: SchemaInfo(SchemaType.STRING)},
    "persistent://shop/orders/created",
    pulsar=PulsarSource("http://pulsar:8080", "pulsar://pulsar:6650"),
)
REQUEST = JobRequest(
    owner=OWNER, request_hash="sha256:" + "a" * 64, attempt=1, validation_request=QUESTION, image="validation:1"
)
UID = "uid-job"


def job(end: str = "", reason: str = "", *, suspended: bool = False) -> Object:
    """The Job, perhaps with the condition by which it ended."""
    made = manifest(REQUEST)
    made["metadata"]["uid"] = UID
    made["spec"]["suspend"] = suspended
    conditions = [{"type": end, "status": "True", "reason": reason, "lastTransitionTime": "2026-11-21T06:00:00Z"}]
    return made | {"status": {"conditions": conditions if end else []}}


def pod(state: Object | None = None, owner: str = UID, **status: Any) -> Object:
    """A pod of it in that state."""
    references = [{"kind": "Job", "name": REQUEST.name, "uid": owner, "controller": True}]
    metadata = {"name": f"{REQUEST.name}-x", "ownerReferences": references, "creationTimestamp": "2026-11-21T05:00:00Z"}
    told = [] if state is None else [{"name": "driver", "state": state}]
    return {"metadata": metadata, "status": {"phase": "Pending", "containerStatuses": told, **status}}


def ended(exit_status: int, message: str = "", reason: str = "Error", owner: str = UID) -> Object:
    """A pod of it that ended so."""
    return pod({"terminated": {"exitCode": exit_status, "message": message, "reason": reason}}, owner)


def verdict(answer: Answer, invalid: int = 0, request_hash: str = QUESTION.sha256) -> str:
    """The termination message with that verdict."""
    return VerdictDocument(request_hash=request_hash, verdict=answer, messages=10, invalid=invalid).text.decode()
