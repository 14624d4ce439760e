"""Writing of a status by server-side apply, with all fields, and only if it differs from the one that was read.

The `status` module of each kind computes the status.
"""

from collections.abc import Mapping
from typing import Any

from topicschema.api.kinds import Kind
from topicschema.api.wire import encode
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ApiUnavailableError, ConflictError, NotFoundError, NotLeadingError

FIELD_MANAGER = "topicschema-controller"
ERRORS_WITHOUT_STATUS = (ConflictError, NotFoundError, NotLeadingError, ApiUnavailableError)
"""Errors after which no status can or may be written. The next reconcile writes it."""


async def write_status(client: ApiClient, kind: Kind, wire: Mapping[str, Any], status: object) -> str | None:
    """Write `status` to the object read as `wire`. Return its new resourceVersion, or None if nothing differed.

    Raise ConflictError if the object changed since it was read.
    """
    desired = encode(status)
    if wire.get("status") == desired:
        return None
    metadata = wire["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    # The resourceVersion is the precondition: a uid would be ignored here, and another object may have the name now.
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"name": name, "namespace": namespace, "resourceVersion": metadata["resourceVersion"]},
        "status": desired,
    }
    written = await client.apply(kind, namespace, name, body, field_manager=FIELD_MANAGER, subresource="status")
    if written.get("status") != desired:
        # Fields of another field manager survive our apply, but the operator is the status's only writer.
        written = await client.replace(kind, namespace, name, {**written, "status": desired}, subresource="status")
    return str(written["metadata"]["resourceVersion"])
