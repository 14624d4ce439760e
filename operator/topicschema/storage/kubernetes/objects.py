"""Compare-and-swap of whole objects. Histories and claims change in no other way."""

from collections.abc import Mapping
from typing import Any

from topicschema.api.kinds import Kind, Object
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ConflictError, NotFoundError

JSON_PATCH = "application/json-patch+json"
REUSED_ANNOTATION = "topicschema.io/reused-at"
"""Annotation on a payload that a writer reused. Until then no history may have needed it."""


def revision(wire: Object) -> str:
    """Return the object's resourceVersion."""
    return str(wire["metadata"]["resourceVersion"])


async def swap(client: ApiClient, kind: Kind, wire: Object, expected: str) -> str:
    """Create `wire` (`expected` is ""), or replace the spec of the revision `expected`. Return the new revision.

    Raises ConflictError if the object changed or is gone. Metadata of other writers stays.
    """
    namespace, name = wire["metadata"]["namespace"], wire["metadata"]["name"]
    if not expected:
        return revision(await client.create(kind, namespace, wire))
    # An outdated resourceVersion in a patch is answered with 409, a failed `test` would be 422.
    patch = [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": expected},
        {"op": "replace", "path": "/spec", "value": wire["spec"]},
    ]
    try:
        return revision(await client.patch(kind, namespace, name, patch, content_type=JSON_PATCH))
    except NotFoundError as error:
        raise ConflictError(f"{name} is gone since it was read") from error


async def delete_as_listed(client: ApiClient, kind: Kind, metadata: Mapping[str, Any]) -> bool:
    """Delete the object if it still has the revision in `metadata`. Return True if it was deleted."""
    uid, resource_version = metadata["uid"], metadata["resourceVersion"]
    try:
        await client.delete(kind, metadata["namespace"], metadata["name"], uid=uid, resource_version=resource_version)
    except (NotFoundError, ConflictError):
        return False
    return True
