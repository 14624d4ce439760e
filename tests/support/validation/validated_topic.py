"""A topic whose retained messages are validated, at a fake API server: whole reconciles, and Jobs that a test ends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from support.kubernetes.api_server import FakeApiServer
from support.kubernetes.argo_health import assert_tools_agree
from support.kubernetes.jobs import ended_pod
from support.kubernetes.topic import World, open_topic
from support.pulsar.schema_service_rest import FakeSchemaBroker
from support.schemas.examples import record
from topicschema.api.kinds import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    JOB,
    NAMESPACE,
    NAMESPACE_SCHEMA_POLICY,
    POD,
    TOPIC_SCHEMA,
)
from topicschema.core.errors import TopicSchemaError
from topicschema.core.schemas import Schema
from topicschema.reconcile.context import ValidationContext
from topicschema.reconcile.runtime.job_limiter import JobLimiter
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult
from topicschema.reconcile.topicschema.reconciler import TopicSchemaReconciler
from topicschema.validation.job.log_protocol import report_lines
from topicschema.validation.job.manifest import ATTEMPT_ANNOTATION, REQUEST_ANNOTATION
from topicschema.validation.job.pods import Runtime
from topicschema.validation.job.result import MessagesVerdict, VerdictDocument

Object = dict[str, Any]

VALIDATION = "topicschema-validation"
"""The namespace of the Jobs."""
FILES = {"files": {"uri": "s3://archive/created", "format": "Parquet"}}
JOBS = f"/apis/batch/v1/namespaces/{VALIDATION}/jobs"
KEY = Key(TOPIC_SCHEMA.plural, "shop", "created")
POLICY = Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders")
TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"
WELL = {"Ready": TRUE, "Compatible": TRUE, "Registered": TRUE, "InSync": TRUE}


@dataclass
class ValidatedTopic:
    """The topic `created`. Its clocks stand still; `enqueued` are the enqueued keys with their delays in seconds."""

    world: World
    enqueued: list[tuple[str, float]] = field(default_factory=list)
    clock: str = "2026-11-21T12:00:00Z"
    seconds: float = 0.0
    topics: TopicSchemaReconciler = field(init=False)
    api: FakeApiServer = field(init=False)
    broker: FakeSchemaBroker = field(init=False)

    def __post_init__(self) -> None:
        self.api, self.broker = self.world.api, self.world.broker
        ctx = replace(
            self.world.ctx,
            validation=ValidationContext(
                Runtime("validation:1"), VALIDATION, JobLimiter(VALIDATION, clock=count(step=60.0).__next__)
            ),
            now=lambda: self.clock,
            clock=lambda: self.seconds,
            enqueue=lambda key, after: self.enqueued.append((key.name, after)),
        )
        ctx.index.are_topics_listed = True
        self.topics = TopicSchemaReconciler(ctx)

    def set_policy_validation(self, mode: str, **validation: Any) -> None:
        self.world.set_policy(validation={"mode": mode, "source": FILES, **validation})

    def set_runs(self, **validation: Any) -> None:
        """Set the registry's settings of runs."""
        self.world.set_registry(pulsar=self.world.pulsar, validation=validation)

    def set_topic(self, schema: Schema | None = None, /, **spec: Any) -> None:
        """Set the resource's spec. Its status stays."""
        text = (schema or record("id")).info.schema.decode()
        resource_spec = {"topic": "persistent://shop/orders/created", "type": "AVRO", "schema": text, **spec}
        try:
            self.api.change("/topicschemas/created", lambda wire: _edit(wire, resource_spec))
        except ValueError:
            self.api.put(TOPIC_SCHEMA, "shop", "created", {"spec": resource_spec})

    async def apply(self, schema: Schema | None = None, /, **spec: Any) -> str:
        """Set the resource's spec, and return as `reconcile`."""
        self.set_topic(schema, **spec)
        return await self.reconcile()

    def set_metadata(self, **metadata: Any) -> None:
        self.api.change("/topicschemas/created", lambda wire: wire["metadata"].update(metadata))

    def begin_deletion(self) -> None:
        self.set_metadata(deletionTimestamp=self.clock)

    def put_namespace(self) -> None:
        """Create the Kubernetes namespace and the CRD, which deletions read."""
        self.api.put(CUSTOM_RESOURCE_DEFINITION, "", TOPIC_SCHEMA.crd_name, {})
        self.api.put(NAMESPACE, "", "shop", {})

    def annotate(self, value: str | None) -> None:
        """Set the annotation that requests another validation; None removes it."""
        self.set_metadata(annotations={} if value is None else {"topicschema.io/revalidate": value})

    async def settle(self) -> Object:
        """Check that another reconcile writes nothing, and return the status."""
        before = self.world.writes
        await self.reconcile()
        assert self.world.writes == before
        return await self.status()

    async def reconcile(self) -> str:
        """Reconcile until nothing is requeued. Return the reason of the error that it ends with, or ""."""
        self.enqueued.clear()
        try:
            while await self.topics.reconcile(KEY) is ReconcileResult.REQUEUE:
                pass
        except TopicSchemaError as error:
            return error.reason
        return ""

    def restart(self) -> None:
        """Continue as another process, which has no payload in memory."""
        ctx = self.topics._ctx
        self.topics = TopicSchemaReconciler(replace(ctx, storage=self.world.store.client()))

    async def status(self) -> Object:
        wire: Object = dict(await self.world.ctx.client.get(TOPIC_SCHEMA, "shop", "created"))
        assert_tools_agree(wire)
        status: Object = wire["status"]
        return status

    async def conditions(self) -> dict[str, Object]:
        return {each["type"]: each for each in (await self.status())["conditions"]}

    async def settled_statuses(self) -> dict[str, str]:
        """Return the statuses of the conditions once nothing is left to do."""
        await self.reconcile()
        await self.settle()
        return {kind: each["status"] for kind, each in (await self.conditions()).items()}

    async def jobs(self) -> list[Object]:
        """Return the Jobs, by attempt."""
        jobs = [dict(each) for each in await self.world.ctx.client.list(JOB, VALIDATION)]
        return sorted(jobs, key=lambda job: int(job["metadata"]["annotations"][ATTEMPT_ANNOTATION]))

    async def newest(self) -> Object:
        return (await self.jobs())[-1]

    async def current_job(self) -> Object:
        name = (await self.status())["validation"]["job"]
        return next(job for job in await self.jobs() if job["metadata"]["name"] == name)

    def finish_job(
        self, job: Object, answer: MessagesVerdict = MessagesVerdict.PASS, when: str = "", messages: int | None = 10
    ) -> None:
        """End the Job and its pod with that verdict and a report; `messages` is None if the topic did not exist."""
        when = when or self.clock
        metadata, is_pass = job["metadata"], answer is MessagesVerdict.PASS
        document = VerdictDocument(
            request_hash=metadata["annotations"][REQUEST_ANNOTATION],
            verdict=answer,
            messages=messages or 0,
            invalid=0 if is_pass else 1,
            topic_missing=True if messages is None else None,
        )
        pod = ended_pod(0 if is_pass else 42, document.text.decode(), owner=metadata["uid"])
        labels = {"batch.kubernetes.io/job-name": metadata["name"]}
        pod["metadata"] |= {"name": f"{metadata['name']}-x", "labels": labels}
        pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = when
        self.api.put(POD, VALIDATION, pod["metadata"]["name"], pod)
        self.api.logs[pod["metadata"]["name"]] = "\n".join(report_lines(b"{}"))
        self._over(job, "Complete" if is_pass else "Failed", "PodFailurePolicy", when)

    async def finish(
        self, answer: MessagesVerdict = MessagesVerdict.PASS, when: str = "", messages: int | None = 10
    ) -> str:
        """End the Job that the status names, and reconcile."""
        self.finish_job(await self.current_job(), answer, when, messages)
        return await self.reconcile()

    def fail_job(self, job: Object, when: str) -> None:
        """End the Job without a verdict."""
        self._over(job, "Failed", "BackoffLimitExceeded", when)

    def delete_job(self, job: Object) -> None:
        """Delete the Job and all that it owns."""
        name = job["metadata"]["name"]
        self.api.delete(JOB, VALIDATION, name)
        for kind, owned in ((CONFIG_MAP, f"{name}-0"), (POD, f"{name}-x")):
            if self.api.has(kind, VALIDATION, owned):
                self.api.delete(kind, VALIDATION, owned)

    def _over(self, job: Object, kind: str, reason: str, when: str) -> None:
        end = {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": when}

        def edit(wire: Object) -> None:
            wire["spec"]["suspend"] = False
            wire["status"] = {"conditions": [end]}

        self.api.change(f"/jobs/{job['metadata']['name']}", edit)


def _edit(wire: Object, spec: Object) -> None:
    wire["spec"] = spec
    wire["metadata"]["generation"] += 1


@asynccontextmanager
async def open_validated_topic(mode: str, **validation: Any) -> AsyncIterator[ValidatedTopic]:
    """Yield the topic with a new resource, before any reconcile."""
    async with open_topic() as world:
        world.set_registry(pulsar=world.pulsar, validation={})
        topic = ValidatedTopic(world)
        topic.set_policy_validation(mode, **validation)
        topic.set_topic()
        yield topic
