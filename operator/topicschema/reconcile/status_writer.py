"""Writing of changed statuses, and Events for the user about errors and risks.

The `status` module of each kind computes the status. Success emits no Event, to save one write for each version.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from topicschema.api.kinds import Kind
from topicschema.api.metadata import Condition, ConditionStatus, ConditionType
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.conditions import CONSUMER_RISK
from topicschema.reconcile.runtime.status_apply import write_status
from topicschema.reconcile.runtime.work_queue import Key


async def write(ctx: ReconcileContext, kind: Kind, wire: Mapping[str, Any], status: Any) -> None:
    """Write `status` to the resource read as `wire`, and emit its Events.

    Raise ConflictError if the resource changed.
    """
    metadata = wire["metadata"]
    key = Key(kind.plural, metadata["namespace"], metadata["name"])
    with ctx.own_writes.suppress(key, lambda: ctx.enqueue(key, 0.0)):
        written = await write_status(ctx.client, kind, wire, status)
        ctx.own_writes.record(key, written or metadata["resourceVersion"])
    if written is not None:
        await _emit_events(ctx, kind, wire, status.conditions)


def object_reference(kind: Kind, wire: Mapping[str, Any]) -> dict[str, str]:
    """Return the ObjectReference of the resource read as `wire`, for an Event."""
    metadata = wire["metadata"]
    named = {name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion")}
    return {"apiVersion": kind.api_version, "kind": kind.name, **named}


async def _emit_events(
    ctx: ReconcileContext, kind: Kind, wire: Mapping[str, Any], conditions: Iterable[Condition]
) -> None:
    reported = tuple(conditions)
    is_stalled = any(condition.type is ConditionType.STALLED for condition in reported)
    for condition in reported:
        is_due = condition.type is ConditionType.STALLED
        if condition.reason == CONSUMER_RISK or (_is_unreadable(condition) and not is_stalled):
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
