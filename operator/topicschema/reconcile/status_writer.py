"""Writing of changed statuses by server-side apply, and Events for the user about errors and risks.

The `status` module of each kind computes the status. Success emits no Event, to save one write for each version.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from topicschema.api.kinds import Kind
from topicschema.api.metadata import Condition, ConditionStatus, ConditionType
from topicschema.api.wire import encode
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ApiUnavailableError, ConflictError, NotFoundError, NotLeadingError
from topicschema.cluster.events import object_reference
from topicschema.core.reasons import Reason
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.storage.errors import StorageUnavailableError

FIELD_MANAGER = "topicschema-controller"
ERRORS_WITHOUT_STATUS = (ConflictError, NotFoundError, NotLeadingError, ApiUnavailableError, StorageUnavailableError)
"""Errors after which no status can or may be written. The next reconcile writes it.

A store that is away for a minute is no reason to write the status of every resource twice.
"""


async def write(ctx: ReconcileContext, kind: Kind, wire: Mapping[str, Any], status: Any) -> None:
    """Write `status` to the resource read as `wire`, and emit its Events.

    Raise ConflictError if the resource changed.
    """
    metadata = wire["metadata"]
    key = Key(kind.plural, metadata.get("namespace", ""), metadata["name"])
    with ctx.own_writes.suppress(key, lambda: ctx.enqueue(key, 0.0)):
        written = await _apply(ctx.client, kind, wire, status)
        ctx.own_writes.record(key, written or metadata["resourceVersion"])
    ctx.index.record_conditions(key, kind, status.conditions)
    if written is not None:
        await _emit_events(ctx, kind, wire, status.conditions)


async def _apply(client: ApiClient, kind: Kind, wire: Mapping[str, Any], status: object) -> str | None:
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
        "metadata": {
            "name": name,
            **({"namespace": namespace} if namespace else {}),
            "resourceVersion": metadata["resourceVersion"],
        },
        "status": desired,
    }
    written = await client.apply(kind, namespace, name, body, field_manager=FIELD_MANAGER, subresource="status")
    if written.get("status") != desired:
        # Fields of another field manager survive our apply, but the operator is the status's only writer.
        written = await client.replace(kind, namespace, name, {**written, "status": desired}, subresource="status")
    return str(written["metadata"]["resourceVersion"])


async def _emit_events(
    ctx: ReconcileContext, kind: Kind, wire: Mapping[str, Any], conditions: Iterable[Condition]
) -> None:
    reported = tuple(conditions)
    is_stalled = any(condition.type is ConditionType.STALLED for condition in reported)
    for condition in reported:
        is_due = condition.type is ConditionType.STALLED
        if condition.reason == Reason.CONSUMER_RISK or (_is_unreadable(condition) and not is_stalled):
            is_due = not _was_emitted(wire, condition)
        if is_due:
            about = object_reference(kind, wire)
            await ctx.events.record(about, "Warning", condition.reason, condition.message, "Reconcile")


def _is_unreadable(condition: Condition) -> bool:
    """Return True if the validation has unreadable messages."""
    return condition.type is ConditionType.VALIDATED and condition.status is ConditionStatus.FALSE


def _was_emitted(wire: Mapping[str, Any], condition: Condition) -> bool:
    """Return True if the status in `wire` has the same condition. Its Event was emitted then."""
    before = (wire.get("status") or {}).get("conditions") or ()
    reported = ((one.get("type"), one.get("reason"), one.get("message")) for one in before)
    return (condition.type.value, condition.reason, condition.message) in reported
