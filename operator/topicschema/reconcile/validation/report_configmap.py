"""The report of a run: copied from its driver's log into a ConfigMap of the TopicSchema, and deleted later."""

import asyncio
import base64
import hashlib
import logging
import lzma
from dataclasses import replace
from typing import Any, Final

from topicschema import telemetry
from topicschema.api.kinds import CONFIG_MAP, TOPIC_SCHEMA
from topicschema.api.metadata import Metadata
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.validation import ValidationStatus
from topicschema.api.wire import encode
from topicschema.cluster.errors import (
    ApiRefusedError,
    ApiUnavailableError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
)
from topicschema.cluster.events import object_reference
from topicschema.core.errors import TopicSchemaError
from topicschema.core.reasons import Reason
from topicschema.judging.policies import ActivePolicy
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.status_writer import FIELD_MANAGER
from topicschema.reconcile.validation.observe import ValidationState
from topicschema.validation.job import log_protocol
from topicschema.validation.job import manifest as job_manifest
from topicschema.validation.job.outcome import Failed, Passed

_LOG = logging.getLogger(__name__)
_LINES: Final = 2_000
_LOG_BYTES: Final = 4 * 1024 * 1024
_MAX_BYTES: Final = 900 * 1024
_NAME: Final = 200
_HASH: Final = 8
_AGAIN: Final = 300.0


async def with_report(
    ctx: ReconcileContext, metadata: Metadata, state: ValidationState, status: ValidationStatus | None
) -> ValidationStatus | None:
    """Store the report of a new verdict, and return the status with its name. The verdict is valid without it."""
    outcome = state.outcome
    if not isinstance(outcome, Passed | Failed) or status is None or status == state.recorded:
        return status
    telemetry.VALIDATIONS.labels(status.phase.value).inc()
    # A tenant controls the size of a log, so only few are in memory at once.
    async with ctx.validation.reading:
        report = await _read(ctx, outcome.pod)
        if report is None:
            return status
        body = await asyncio.to_thread(manifest, metadata, status.job or "", report)
    return replace(status, report=body["metadata"]["name"]) if await _is_stored(ctx, body) else status


async def without_values(ctx: ReconcileContext, resource: TopicSchema, governing: ActivePolicy | None) -> TopicSchema:
    """Return the resource without message values, and delete the report with them, unless includeValues is set.

    If the report cannot be deleted, the status still names it, and each reconcile tries again.
    """
    status, key = resource.status, Key(TOPIC_SCHEMA.plural, resource.metadata.namespace, resource.metadata.name)
    state, before = status.report_state, status.validation
    name = state.report_with_values
    if name is None or await _includes_values(ctx, governing):
        return resource
    if before is not None:
        examples = tuple(replace(each, value=None) for each in before.examples)
        status = replace(status, validation=replace(before, examples=examples, report=None))
    try:
        await ctx.client.delete(CONFIG_MAP, key.namespace, name)
    except NotFoundError:
        pass
    except (ApiRefusedError, ApiUnavailableError, ConflictError, ForbiddenError) as error:
        ctx.enqueue(key, _AGAIN)
        await _emit_not_deleted(ctx, resource.metadata, name, error)
        return replace(resource, status=status)
    return replace(resource, status=replace(status, internal=replace(state, report_with_values=None)))


async def report_with_values(
    ctx: ReconcileContext, resource: TopicSchema, governing: ActivePolicy | None, after: ValidationStatus | None
) -> str | None:
    """Return the name of the ConfigMap that may have message values with the new status `after`, or None.

    The name is set when a Job with includeValues starts, because the controller may end between report and status.
    """
    before = resource.status.report_state.report_with_values
    if after is None or after == resource.status.validation:
        return before
    if await _includes_values(ctx, governing):
        return before if after.job is None else name_of(resource.metadata)
    return before if after.report is None else None  # the new report replaced it


async def _includes_values(ctx: ReconcileContext, governing: ActivePolicy | None) -> bool:
    if governing is None:
        return False
    runs = (await ctx.registries.get(governing.resource.spec.registry)).spec.validation
    return runs is not None and bool(runs.include_values)


async def _emit_not_deleted(ctx: ReconcileContext, metadata: Metadata, name: str, error: TopicSchemaError) -> None:
    message = (
        f"ConfigMap {name} has values of messages, includeValues is off, and the operator cannot delete it: "
        f"{error.message}; delete it, or permit the operator to delete it: it tries again every five minutes"
    )
    about = object_reference(TOPIC_SCHEMA, {"metadata": encode(metadata)})
    await ctx.events.record(about, "Warning", Reason.REDACTION_FAILED, message, "Validate")


async def _is_stored(ctx: ReconcileContext, body: dict[str, Any]) -> bool:
    """Store the ConfigMap. Return False if the API server refuses it, for instance by a quota."""
    namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
    try:
        await ctx.client.apply(CONFIG_MAP, namespace, name, body, field_manager=FIELD_MANAGER)
    except (ApiRefusedError, ForbiddenError) as error:
        fields = {"namespace": namespace, "name": name, "why": error.message}
        _LOG.warning("could not store the validation report", extra={"fields": fields})
        return False
    return True


async def _read(ctx: ReconcileContext, pod: str) -> bytes | None:
    """Return the report, or None if the log is missing or unreadable or has none. Its node may be lost forever."""
    namespace = ctx.validation.namespace
    try:
        log = await ctx.client.log(namespace, pod, job_manifest.CONTAINER, lines=_LINES, limit=_LOG_BYTES)
        return await asyncio.to_thread(lambda: log_protocol.report_in(log.splitlines()))
    except TopicSchemaError as error:
        fields = {"namespace": namespace, "pod": pod, "reason": error.reason}
        _LOG.warning("validation report not found in pod log", extra={"fields": fields})
        return None


def manifest(metadata: Metadata, job: str, report: bytes) -> dict[str, Any]:
    """Return the ConfigMap, one for each resource. A report that is too large is compressed, or replaced by a note."""
    owner = {"apiVersion": TOPIC_SCHEMA.api_version, "kind": TOPIC_SCHEMA.name}
    return {
        "apiVersion": CONFIG_MAP.api_version,
        "kind": CONFIG_MAP.name,
        "metadata": {
            "name": name_of(metadata),
            "namespace": metadata.namespace,
            "labels": {job_manifest.TOPIC_LABEL: job_manifest.name_label(metadata.name)},
            "ownerReferences": [owner | {"name": metadata.name, "uid": metadata.uid, "controller": True}],
        },
        **_content(job, report),
    }


def name_of(metadata: Metadata) -> str:
    """Return the name of the ConfigMap with a resource's report."""
    digest = hashlib.sha256(metadata.uid.encode()).hexdigest()[:_HASH]
    return f"{metadata.name[:_NAME].rstrip('-.')}-validation-{digest}"


def _content(job: str, report: bytes) -> dict[str, Any]:
    data = {"job": job}
    text = report.decode(errors="replace")
    if len(text.encode()) <= _MAX_BYTES:  # not the report's length, because replaced invalid UTF-8 is longer
        return {"data": data | {"report.json": text}}
    packed = lzma.compress(report, preset=1)
    if len(packed) <= _MAX_BYTES:
        return {"data": data, "binaryData": {"report.json.xz": base64.b64encode(packed).decode()}}
    return {
        "data": data
        | {"note": f"the report has {len(report)} bytes, which is too much for a ConfigMap; the Job's log has it"}
    }
