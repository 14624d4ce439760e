"""Reads of a TopicSchema's Jobs, their requests, their pods, and the Events and logs of these.

The Jobs of a former TopicSchema of the same name are deleted.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from topicschema.api.kinds import CONFIG_MAP, JOB, OLD_EVENT, POD, TOPIC_SCHEMA, Object
from topicschema.api.metadata import Metadata
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.validation import ValidationStatus
from topicschema.cluster.errors import ApiRefusedError, ConflictError, ForbiddenError, NotFoundError
from topicschema.core.errors import TopicSchemaError
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.validation.job import log_protocol, manifest
from topicschema.validation.job.outcome import ended

_PROGRESS_LINES: Final = 50
_PROGRESS_BYTES: Final = 64 * 1024


def may_have_job(ctx: ReconcileContext, metadata: Metadata, before: ValidationStatus | None) -> bool:
    """Return True if the resource may have a Job, by its status, or by an event if the status was lost."""
    return (before is not None and not before.is_final) or ctx.index.may_have_job(_key(metadata))


async def jobs_of(ctx: ReconcileContext, metadata: Metadata) -> list[Object]:
    """Return the Jobs of this resource, and delete those of a former one of the same name."""
    key, index = _key(metadata), ctx.index
    selector = manifest.selector_of(metadata.namespace, metadata.name)
    was_marked = index.may_have_job(key)
    index.clear_job(key)  # before the list, which may lack a Job whose event arrives in the meantime
    try:
        listed = await ctx.client.list(JOB, ctx.validation.namespace, label_selector=selector)
    except BaseException:
        if was_marked:
            index.mark_job(key)
        raise
    present = [job for job in listed if not job["metadata"].get("deletionTimestamp")]
    jobs: list[Object] = [job for job in present if _is_of(metadata, job)]
    await delete_jobs(ctx, [job for job in present if job not in jobs])
    if any(ended(job) is None for job in jobs):
        index.mark_job(key)
    return jobs


def unended_of(before: ValidationStatus | None, jobs: Sequence[Object]) -> list[Object]:
    """Return the Jobs that have not ended, except that with the status's verdict, which ends soon."""
    final = before.job if before is not None and before.is_final else None
    return [job for job in jobs if ended(job) is None and job["metadata"]["name"] != final]


def of_request(jobs: Sequence[Object], request: str) -> list[Object]:
    """Return the Jobs of the request with this hash."""
    label = manifest.request_label(request)
    return [job for job in jobs if job["metadata"]["labels"].get(manifest.REQUEST_LABEL) == label]


async def obsolete_jobs_of(ctx: ReconcileContext, resource: TopicSchema, request: str) -> tuple[Object, ...]:
    """Return the Jobs of other requests, of a topic whose verdict is known.

    An edit that is reverted before the status names its run leaves such a Job.
    """
    if not ctx.validation.runtime.image or not may_have_job(ctx, resource.metadata, None):
        return ()
    try:
        jobs = await jobs_of(ctx, resource.metadata)
    except (ForbiddenError, ApiRefusedError):  # the status has no field for it
        return ()
    ours = of_request(jobs, request)
    return tuple(job for job in unended_of(resource.status.validation, jobs) if job not in ours)


def _key(metadata: Metadata) -> Key:
    return Key(TOPIC_SCHEMA.plural, metadata.namespace, metadata.name)


def _is_of(metadata: Metadata, job: Object) -> bool:
    return bool(job["metadata"]["labels"].get(manifest.UID_LABEL) == metadata.uid)


async def delete_jobs(ctx: ReconcileContext, obsolete_jobs: Sequence[Object]) -> None:
    """Delete these Jobs. Kubernetes deletes their pods and requests."""
    for job in obsolete_jobs:
        metadata = job["metadata"]
        with suppress(NotFoundError, ConflictError):
            await ctx.client.delete(JOB, metadata["namespace"], metadata["name"], uid=metadata["uid"])


def attempt_of(job: Object) -> int:
    """Return the Job's attempt number, from 1."""
    return _number(job, manifest.ATTEMPT_ANNOTATION) or 1


def executors_of(job: Object) -> int:
    """Return the Job's number of Spark executors."""
    return _number(job, manifest.EXECUTORS_ANNOTATION)


def _number(job: Object, annotation: str) -> int:
    number = (job["metadata"].get("annotations") or {}).get(annotation, "")
    return int(number) if number.isdecimal() else 0


async def config_map_exists(ctx: ReconcileContext, namespace: str, name: str) -> bool:
    """Return True if there is a ConfigMap of that name."""
    try:
        await ctx.client.get(CONFIG_MAP, namespace, name)
    except NotFoundError:
        return False
    return True


async def pods_of(ctx: ReconcileContext, job: Object) -> list[Object]:
    """Return the Job's pods, the newest last."""
    metadata = job["metadata"]
    selector = f"batch.kubernetes.io/job-name={metadata['name']}"
    pods = await ctx.client.list(POD, metadata["namespace"], label_selector=selector)
    return sorted(pods, key=lambda pod: pod["metadata"].get("creationTimestamp") or "")


async def events_of(ctx: ReconcileContext, job: Object, pods: Sequence[Object]) -> Sequence[Object]:
    """Return the Events of a Job without a pod, or of a pending pod."""
    about = pods[-1] if pods else job
    if ended(job) is not None or (about.get("status") or {}).get("phase") not in (None, "Pending"):
        return ()
    selector = f"involvedObject.uid={about['metadata']['uid']}"
    return await ctx.client.list(OLD_EVENT, job["metadata"]["namespace"], field_selector=selector)


async def percent_of(ctx: ReconcileContext, namespace: str, pod: str) -> int:
    """Return the progress in percent by the pod's log, or 0 if the log cannot be read now."""
    with suppress(TopicSchemaError):
        log = await ctx.client.log(namespace, pod, manifest.CONTAINER, lines=_PROGRESS_LINES, limit=_PROGRESS_BYTES)
        progress = log_protocol.progress_in(log.splitlines()) or {}
        return int(progress.get("percent", 0))
    return 0
