"""Telling people: the status where it differs from what was read, and an Event where a person must act, or should know.

What a status says is the matter of each kind's report. What is well is not worth an Event: that would be one more write
for each version.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from topicschema.api.kinds import Kind
from topicschema.api.metadata import Condition, ConditionStatus, ConditionType
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.report import CONSUMER_RISK
from topicschema.reconcile.status_write import write_status
from topicschema.reconcile.work_queue import Key

ACCESS_DENIED = frozenset({"BrokerForbidden", "TenantMissing", "NamespaceMissing"})
"""Reasons that hold for all topics of a policy, which its broker gives as quickly as any answer."""
_SPREAD_SECONDS = 0.05  # between two keys: as fast as a broker is asked


def enqueue_denied(ctx: ReconcileContext, namespace: str, pulsar_namespace: str) -> None:
    """Enqueue all topics that were denied access to a Pulsar namespace, once one of them has it again."""
    for number, key in enumerate(ctx.index.pop_denied(namespace, pulsar_namespace)):
        ctx.enqueue(key, number * _SPREAD_SECONDS)


async def report(ctx: ReconcileContext, kind: Kind, wire: Mapping[str, Any], status: Any) -> None:
    """Make `status` the status of the resource read as `wire`, and tell of it; ConflictError when it moved."""
    metadata = wire["metadata"]
    key = Key(kind.plural, metadata["namespace"], metadata["name"])
    with ctx.own_writes.suppress(key, lambda: ctx.enqueue(key, 0.0)):
        written = await write_status(ctx.client, kind, wire, status)
        ctx.own_writes.record(key, written or metadata["resourceVersion"])
    if written is not None:
        await _tell(ctx, kind, wire, status.conditions)


def regarding(kind: Kind, wire: Mapping[str, Any]) -> dict[str, str]:
    """The resource read as `wire`, as an Event names it."""
    metadata = wire["metadata"]
    named = {name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion")}
    return {"apiVersion": kind.api_version, "kind": kind.name, **named}


async def _tell(ctx: ReconcileContext, kind: Kind, wire: Mapping[str, Any], conditions: Iterable[Condition]) -> None:
    said = tuple(conditions)
    is_stalled = any(condition.type is ConditionType.STALLED for condition in said)
    for condition in said:
        is_told = condition.type is ConditionType.STALLED
        if condition.reason == CONSUMER_RISK or (_is_found(condition) and not is_stalled):
            is_told = not _is_told(wire, condition)
        if is_told:
            about = regarding(kind, wire)
            await ctx.events.record(about, "Warning", condition.reason, condition.message, "Reconcile")


def _is_found(condition: Condition) -> bool:
    """Whether messages cannot be read."""
    return condition.type is ConditionType.VALIDATED and condition.status is ConditionStatus.FALSE


def _is_told(wire: Mapping[str, Any], condition: Condition) -> bool:
    """Whether the status that was there says the same; a risk stays as long as its version, and is told once."""
    before = (wire.get("status") or {}).get("conditions") or ()
    said = ((one.get("type"), one.get("reason"), one.get("message")) for one in before)
    return (condition.type.value, condition.reason, condition.message) in said
