"""The whole report of a run, from its driver's log into a ConfigMap of the TopicSchema."""

import asyncio
import base64
import hashlib
import json
import logging
import lzma
from dataclasses import replace
from typing import Any, Final

from topicschema import telemetry
from topicschema.api.kinds import CONFIG_MAP, TOPIC_SCHEMA
from topicschema.api.metadata import Metadata
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.validation import ValidationStatus
from topicschema.cluster.errors import ApiRefusedError, ForbiddenError
from topicschema.core.errors import TopicSchemaError
from topicschema.reconcile import validating_report
from topicschema.reconcile.policies import FoundPolicy
from topicschema.reconcile.status_write import FIELD_MANAGER
from topicschema.reconcile.surroundings import Surroundings
from topicschema.reconcile.validating import Inquiry, may_show_values
from topicschema.spark import jobs, marks
from topicschema.spark.page import page

_LOG = logging.getLogger(__name__)
_LINES: Final = 2_000
_LOG_BYTES: Final = 4 * 1024 * 1024
_MAX_BYTES: Final = 900 * 1024
_NAME: Final = 200
_HASH: Final = 8
_EMPTIED: Final = "the report showed what messages hold, which includeValues no longer asks for"


async def with_report(
    around: Surroundings, metadata: Metadata, seen: Inquiry, told: ValidationStatus | None
) -> ValidationStatus | None:
    """The same status, with the name of the report where one could be kept: a verdict counts without it."""
    found = validating_report.document(seen)
    if found is None or told is None or told == seen.recorded or seen.job is None:
        return told
    telemetry.VALIDATIONS.add(told.phase.value)
    job = seen.job["metadata"]["name"]
    is_page_wanted = seen.wanted is not None and bool(seen.wanted.spec.page)
    # What a log holds is a tenant's word: however many there are, few are in memory at once.
    async with around.validation.reading:
        report = await _read(around, metadata.namespace, found[1])
        if report is None:
            return told
        body = await asyncio.to_thread(manifest, metadata, job, report, is_page_wanted=is_page_wanted)
    return replace(told, report=body["metadata"]["name"]) if await _kept(around, body) else told


async def without_values(
    around: Surroundings, resource: TopicSchema, found: FoundPolicy | None, told: ValidationStatus | None
) -> None:
    """Empty the report that the status named until now, where it may show values that are no longer to be shown."""
    before, metadata = resource.status.validation, resource.metadata
    said = None if found is None else found.resource.spec.validation
    if before is None or before.report is None or (said is not None and said.include_values):
        return
    if may_show_values(before) and (told is None or told.report is None):
        await _kept(around, _manifest(metadata, {"data": {"note": _EMPTIED}}))


async def _kept(around: Surroundings, body: dict[str, Any]) -> bool:
    """Whether the ConfigMap was taken: a report that is refused, by a quota or a policy, loses no verdict."""
    namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
    try:
        await around.client.apply(CONFIG_MAP, namespace, name, body, field_manager=FIELD_MANAGER)
    except (ApiRefusedError, ForbiddenError) as error:
        _LOG.warning("report not kept", extra={"fields": {"namespace": namespace, "name": name, "why": error.message}})
        return False
    return True


async def _read(around: Surroundings, namespace: str, pod: str) -> bytes | None:
    """The report; None where the log is gone, cannot be read, or has none: its node may never come back."""
    try:
        log = await around.client.log(namespace, pod, jobs.CONTAINER, lines=_LINES, limit=_LOG_BYTES)
        return await asyncio.to_thread(lambda: marks.report_in(log.splitlines()))
    except TopicSchemaError as error:
        _LOG.warning("no report", extra={"fields": {"namespace": namespace, "pod": pod, "reason": error.reason}})
        return None


def manifest(metadata: Metadata, job: str, report: bytes, *, is_page_wanted: bool = False) -> dict[str, Any]:
    """The ConfigMap, of which a resource has one; a report that is too large for it is packed, or only told of."""
    return _manifest(metadata, _content(job, report, is_page_wanted=is_page_wanted))


def _manifest(metadata: Metadata, content: dict[str, Any]) -> dict[str, Any]:
    digest = hashlib.sha256(metadata.uid.encode()).hexdigest()[:_HASH]
    owner = {"apiVersion": TOPIC_SCHEMA.api_version, "kind": TOPIC_SCHEMA.name}
    return {
        "apiVersion": CONFIG_MAP.api_version,
        "kind": CONFIG_MAP.name,
        "metadata": {
            "name": f"{metadata.name[:_NAME].rstrip('-.')}-validation-{digest}",
            "namespace": metadata.namespace,
            "labels": {jobs.TOPIC_LABEL: jobs.topic_label(metadata.name)},
            "ownerReferences": [owner | {"name": metadata.name, "uid": metadata.uid, "controller": True}],
        },
        **content,
    }


def _content(job: str, report: bytes, *, is_page_wanted: bool) -> dict[str, Any]:
    told = {"job": job}
    text = report.decode(errors="replace")
    if len(text.encode()) <= _MAX_BYTES:  # not the report's own: what is no UTF-8 is longer afterwards
        told |= {"report.json": text}
        shown = _page(report) if is_page_wanted else ""
        return {"data": told | ({"report.html": shown} if shown else {})}
    # More than a page is for: it would be larger still.
    packed = lzma.compress(report, preset=1)
    if len(packed) <= _MAX_BYTES:
        return {"data": told, "binaryData": {"report.json.xz": base64.b64encode(packed).decode()}}
    return {"data": told | {"note": f"the report has {len(report)} bytes: too much to be kept; the Job's log has it"}}


def _page(report: bytes) -> str:
    """The page; "" where it would not fit beside the report, or the report is none: it is only a pod's word."""
    try:
        shown = page(json.loads(report))
    except Exception as error:  # noqa: BLE001 - whatever a pod may have written there
        _LOG.warning("no page", extra={"fields": {"reason": type(error).__name__}})
        return ""
    return shown if len(shown.encode()) + len(report) <= _MAX_BYTES else ""
