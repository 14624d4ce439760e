"""Create and delete validation Jobs, and the ConfigMaps that they mount."""

import asyncio
from contextlib import suppress
from typing import Any, Final

from topicschema.api.kinds import CONFIG_MAP, JOB, TOPIC_SCHEMA, Object
from topicschema.api.metadata import Metadata
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.validation import ValidationStatus
from topicschema.cluster.errors import ApiRefusedError, ConflictError, ForbiddenError
from topicschema.core.history import History, Owner
from topicschema.core.schemas import SchemaInfo
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.validation import settings as validation_settings
from topicschema.reconcile.validation.jobs import (
    attempt_of,
    delete_jobs,
    jobs_of,
    may_have_job,
    of_request,
    unended_of,
)
from topicschema.reconcile.validation.observe import ValidationState
from topicschema.validation import request as validation_request
from topicschema.validation.job import manifest as job_manifest
from topicschema.validation.job.manifest import JobRequest

_READS_AT_ONCE: Final = 16


async def create_job(ctx: ReconcileContext, resource: TopicSchema, state: ValidationState) -> None:
    """Create the due Job, suspended until the limiter starts it, and then its request. Existing objects stay.

    Of the earlier failed Jobs, the last one stays, so that users can find the cause.
    """
    run, attempt = state.run, state.due_attempt
    if run is None:
        raise TypeError("nothing is requested")
    owner = Owner(resource.metadata.namespace, resource.metadata.name, resource.metadata.uid)
    # One at a time, because reading and packing take memory. Packing runs in a thread, to not block other tasks.
    async with ctx.validation.packing:
        versions = await _payloads(ctx, run.target.history)
        team = await ctx.team_of(run.settings.registry, owner.namespace)
        identity = validation_settings.JobIdentity(owner, attempt, ctx.validation.namespace, team)
        request = validation_settings.job_request(run, versions, resource.spec.topic, identity, state.due_executors)
        packed = await asyncio.to_thread(request.validation_request.pack)
        job = await _created(ctx, request, job_manifest.manifest(request, packed))
        if (job["metadata"].get("annotations") or {}).get(job_manifest.REQUEST_ANNOTATION) != packed.sha256:
            await delete_jobs(ctx, [job])  # its request was never created, and would differ now
            return
        parts = await asyncio.to_thread(job_manifest.request_parts, request, job["metadata"]["uid"], packed)
    for part in parts:
        with suppress(ConflictError):
            await ctx.client.create(CONFIG_MAP, ctx.validation.namespace, part)
    if attempt > 2:  # noqa: PLR2004 - the newest, and the one before it
        with suppress(ForbiddenError, ApiRefusedError):  # they have a time to live
            jobs = of_request(await jobs_of(ctx, resource.metadata), run.hash)
            await delete_jobs(ctx, [job for job in jobs if attempt_of(job) < attempt - 1])


async def _created(ctx: ReconcileContext, request: JobRequest, manifest: dict[str, Any]) -> Object:
    """Create the Job, or return the existing one. Raise ConflictError if it is another's or is being deleted."""
    try:
        return await ctx.client.create(JOB, request.namespace, manifest)
    except ConflictError:
        job = await ctx.client.get(JOB, request.namespace, request.name)
        is_ours = (job["metadata"].get("labels") or {}).get(job_manifest.UID_LABEL) == request.owner.uid
        if job["metadata"].get("deletionTimestamp") or not is_ours:
            raise
        return job


async def _payloads(ctx: ReconcileContext, history: History) -> dict[int, SchemaInfo]:
    """Return the payloads of all versions that messages may have. Raise InvalidRequestError if they are too large."""
    entries = [entry for entry in history.entries if not entry.is_tombstone]
    payloads: dict[int, SchemaInfo] = {}
    for start in range(0, len(entries), _READS_AT_ONCE):
        batch = entries[start : start + _READS_AT_ONCE]
        read = (ctx.storage.get(history.key, history.incarnation, entry) for entry in batch)
        infos = await asyncio.gather(*read)
        payloads |= {entry.schema_version: info for entry, info in zip(batch, infos, strict=True)}
        validation_request.check_size(sum(len(info.schema) for info in payloads.values()))
    return payloads


async def delete_unended_jobs(ctx: ReconcileContext, metadata: Metadata, before: ValidationStatus | None) -> None:
    """Delete the Jobs that still run for a resource that is suspended or has no permission to run them."""
    if not ctx.validation.runtime.image or not may_have_job(ctx, metadata, before):
        return
    await delete_jobs(ctx, unended_of(before, await jobs_of(ctx, metadata)))
    ctx.index.clear_job(Key(TOPIC_SCHEMA.plural, metadata.namespace, metadata.name))


async def delete_jobs_of(ctx: ReconcileContext, key: Key) -> None:
    """Delete all Jobs of a TopicSchema that is gone. No object in another namespace can own them.

    A Job's event enqueues its TopicSchema, so this happens after a restart, too.
    """
    if key in ctx.index.with_any_job:
        selector = job_manifest.selector_of(key.namespace, key.name)
        await delete_jobs(ctx, await ctx.client.list(JOB, ctx.validation.namespace, label_selector=selector))
        ctx.index.with_any_job.discard(key)
