"""Recorder of Events (events.k8s.io/v1). A failure to write one never fails the work that it reports.

A repeated message about the same object is one Event with a count: its name is a hash of the message.
"""

import hashlib
import logging
from collections.abc import Mapping
from typing import Any

from topicschema import telemetry
from topicschema.api.kinds import EVENT, Kind, Object
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ConflictError
from topicschema.cluster.microtime import micro_time
from topicschema.core.errors import TopicSchemaError

_LOG = logging.getLogger(__name__)
_CONTROLLER = "topicschema.io/controller"
_MAX_NOTE = 1024
_DEFAULT = "default"
_MAX_REASON = 128
_DIGITS = 40


class EventRecorder:
    """Writer of Events in the namespace of the object concerned, or in `default` for an object without one.

    `reporting_instance` is the name of this process.
    """

    def __init__(self, client: ApiClient, reporting_instance: str) -> None:
        self._client = client
        self._instance = reporting_instance[:_MAX_REASON]

    async def record(self, regarding: Mapping[str, str], type: str, reason: str, note: str, action: str) -> None:  # noqa: A002 - the API's word
        """Write an Event about the object that `regarding` names (apiVersion, kind, namespace, name, uid).

        `type` is Normal or Warning, `note` is cut to the API's limit. A failed write is counted and logged, never
        raised.
        """
        digest = hashlib.sha256("\n".join((regarding["uid"], reason, note)).encode(errors="replace")).hexdigest()
        event: Object = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.name,
            "metadata": {
                "name": f"topicschema-{digest[:_DIGITS]}",
                "namespace": regarding.get("namespace", _DEFAULT),
            },
            "eventTime": micro_time(),
            "type": type,
            "reason": reason[:_MAX_REASON],
            "action": action[:_MAX_REASON],
            "note": shortened(note),
            "regarding": dict(regarding),
            "reportingController": _CONTROLLER,
            "reportingInstance": self._instance,
        }
        try:
            await self._write(event)
        except TopicSchemaError as error:
            telemetry.EVENT_WRITE_FAILURES.inc()
            _LOG.warning("could not write an Event: %s", error.message)

    async def _write(self, event: Object) -> None:
        namespace, name = event["metadata"]["namespace"], event["metadata"]["name"]
        try:
            await self._client.create(EVENT, namespace, event)
        except ConflictError:
            existing = await self._client.get(EVENT, namespace, name)
            count = (existing.get("series") or {}).get("count", 1) + 1
            series = {"series": {"count": count, "lastObservedTime": event["eventTime"]}}
            await self._client.patch(EVENT, namespace, name, series)


def object_reference(kind: Kind, wire: Mapping[str, Any]) -> dict[str, str]:
    """Return the ObjectReference of the object read as `wire`, for an Event."""
    metadata = wire["metadata"]
    named = {name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion") if metadata.get(name)}
    return {"apiVersion": kind.api_version, "kind": kind.name, **named}


def shortened(note: str) -> str:
    """Return the note cut to 1,024 bytes of UTF-8, ending in … if it was cut."""
    encoded = note.encode(errors="replace")
    if len(encoded) <= _MAX_NOTE:
        return note
    return encoded[: _MAX_NOTE - len("…".encode())].decode(errors="ignore") + "…"
