"""Writing a status: by server-side apply, every field each time, only when it differs from what was read.

What a status says is the matter of each kind's report.
"""

from collections.abc import Mapping
from typing import Any

from topicschema.api.kinds import Kind
from topicschema.api.wire import encode
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ApiUnavailableError, ConflictError, NotFoundError, NotLeadingError

FIELD_MANAGER = "topicschema-controller"
ERRORS_WITHOUT_STATUS = (ConflictError, NotFoundError, NotLeadingError, ApiUnavailableError)
"""Errors of a pass at which nothing can or may be reported; the next pass will."""


async def write_status(client: ApiClient, kind: Kind, wire: Mapping[str, Any], status: object) -> str | None:
    """Make `status` the status of the object read as `wire`; its new resourceVersion, or None when nothing differed.

    ConflictError when the object moved since it was read: what was seen may no longer be so.
    """
    wanted = encode(status)
    if wire.get("status") == wanted:
        return None
    metadata = wire["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    # The resourceVersion is the precondition; a uid would be ignored here, and the object may be another one by now.
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"name": name, "namespace": namespace, "resourceVersion": metadata["resourceVersion"]},
        "status": wanted,
    }
    written = await client.apply(kind, namespace, name, body, field_manager=FIELD_MANAGER, subresource="status")
    if written.get("status") != wanted:
        # Fields that only somebody else set survive every apply of ours; a status has one writer.
        written = await client.replace(kind, namespace, name, {**written, "status": wanted}, subresource="status")
    return str(written["metadata"]["resourceVersion"])
