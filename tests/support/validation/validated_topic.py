"""A topic whose retained messages are asked, behind a played API server: whole passes, and Jobs as a test has them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from yarl import URL

from support.kubernetes.argo_health import assert_tools_agree
from support.kubernetes.jobs import ended
from support.kubernetes.topic import ORDERS, World, opened
from support.schemas.examples import record
from topicschema.api.kinds import CONFIG_MAP, JOB, NAMESPACE_SCHEMA_POLICY, POD, TOPIC_SCHEMA
from topicschema.core.errors import TopicSchemaError
from topicschema.core.history import Owner
from topicschema.core.schemas import Schema
from topicschema.reconcile.context import ValidationContext
from topicschema.reconcile.runtime.job_limiter import JobLimiter
from topicschema.reconcile.runtime.work_queue import Key, Result
from topicschema.reconcile.topicschema.reconciler import TopicSchemas
from topicschema.validation.job.log_protocol import report_lines
from topicschema.validation.job.manifest import ATTEMPT_ANNOTATION, REQUEST_ANNOTATION
from topicschema.validation.job.result import Answer, VerdictDocument

Object = dict[str, Any]

FILES = {"files": {"uri": "s3://archive/created", "format": "Parquet"}}
KEY = Key(TOPIC_SCHEMA.plural, "shop", "created")
TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"
WELL = {"Ready": TRUE, "Compatible": TRUE, "Registered": TRUE, "InSync": TRUE}


@dataclass
class AskedTopic:
    """The topic `created`. Its clocks stand, and `enqueued` is what was enqueued, and for when, in seconds."""

    world: World
    enqueued: list[tuple[str, float]] = field(default_factory=list)
    clock: str = "2026-11-21T12:00:00Z"
    seconds: float = 0.0
    topics: TopicSchemas = field(init=False)

    def __post_init__(self) -> None:
        ctx = replace(
            self.world.ctx,
            validation=ValidationContext("validation:1", JobLimiter(clock=count(step=60.0).__next__)),
            now=lambda: self.clock,
            clock=lambda: self.seconds,
            enqueue=lambda key, after: self.enqueued.append((key.name, after)),
        )
        ctx.index.are_topics_listed = True
        self.topics = TopicSchemas(ctx)

    def governs(self, mode: str, **validation: Any) -> None:
        """What the policy says of validating."""
        told = {"mode": mode, "source": FILES, **validation}
        self.world.api.change(
            f"/{NAMESPACE_SCHEMA_POLICY.plural}/orders", lambda there: there["spec"].update(validation=told)
        )

    def wants(self, schema: Schema | None = None, /, **spec: Any) -> None:
        """The resource as it is to be; its status stays."""
        text = (schema or record("id")).info.schema.decode()
        said = {"topic": "persistent://shop/orders/created", "type": "AVRO", "schema": text, **spec}
        try:
            self.world.api.change("/topicschemas/created", lambda there: _edited(there, said))
        except ValueError:
            self.world.api.put(TOPIC_SCHEMA, "shop", "created", {"spec": said})

    def annotated(self, value: str | None) -> None:
        """It is told to ask again; None takes that off."""
        told = {} if value is None else {"topicschema.io/revalidate": value}
        self.world.api.change("/topicschemas/created", lambda there: there["metadata"].update(annotations=told))

    async def settle(self) -> Object:
        """The status after another pass, which writes nothing."""
        before = self.world.writes
        await self.look()
        assert self.world.writes == before
        return await self.status()

    async def look(self) -> str:
        """Passes until it rests; the reason of the error that it rests with, or ""."""
        self.enqueued.clear()
        try:
            while await self.topics.reconcile(KEY) is Result.REQUEUE:
                pass
        except TopicSchemaError as error:
            return error.reason
        return ""

    def begins_anew(self) -> None:
        """Another process goes on, which has no payload in memory."""
        ctx = self.topics._ctx
        self.topics = TopicSchemas(replace(ctx, storage=self.world.store.client()))

    async def status(self) -> Object:
        wire: Object = dict(await self.world.ctx.client.get(TOPIC_SCHEMA, "shop", "created"))
        assert_tools_agree(wire)
        found: Object = wire["status"]
        return found

    async def conditions(self) -> dict[str, Object]:
        return {each["type"]: each for each in (await self.status())["conditions"]}

    async def says(self) -> dict[str, str]:
        """The statuses of the conditions once nothing is left to do."""
        await self.look()
        await self.settle()
        return {kind: each["status"] for kind, each in (await self.conditions()).items()}

    async def governed(self, **spec: Any) -> None:
        """By a policy that says this, too; None takes a field away."""

        def change(wire: Object) -> None:
            wire["spec"] = {name: value for name, value in {**wire["spec"], **spec}.items() if value is not None}
            wire["metadata"]["generation"] += 1

        self.world.api.change("/shop/namespaceschemapolicies/orders", change)
        policy = await self.world.ctx.client.get(NAMESPACE_SCHEMA_POLICY, "shop", "orders")
        pulsar = policy["spec"].get("pulsar")
        address = "" if pulsar is None else URL(pulsar["adminURL"]).authority
        storage, owner = self.world.ctx.storage, Owner("shop", "orders", policy["metadata"]["uid"])
        await storage.put_claim(await storage.get_claim(ORDERS), owner, address)

    async def jobs(self) -> list[Object]:
        """The Jobs, by attempt."""
        found = [dict(each) for each in await self.world.ctx.client.list(JOB, "shop")]
        return sorted(found, key=lambda job: int(job["metadata"]["annotations"][ATTEMPT_ANNOTATION]))

    async def newest(self) -> Object:
        return (await self.jobs())[-1]

    async def named(self) -> Object:
        """The Job that the status names."""
        name = (await self.status())["validation"]["job"]
        return next(job for job in await self.jobs() if job["metadata"]["name"] == name)

    def ends(self, job: Object, answer: Answer, when: str, messages: int | None = 10) -> None:
        """The Job's pod has that verdict and a report, and both have ended; None where there was no topic to read."""
        metadata, is_pass = job["metadata"], answer is Answer.PASS
        asked = metadata["annotations"][REQUEST_ANNOTATION]
        told = VerdictDocument(
            request_hash=asked,
            verdict=answer,
            messages=messages or 0,
            invalid=0 if is_pass else 1,
            topic_missing=True if messages is None else None,
        )
        pod = ended(0 if is_pass else 42, told.text.decode(), owner=metadata["uid"])
        labels = {"batch.kubernetes.io/job-name": metadata["name"]}
        pod["metadata"] |= {"name": f"{metadata['name']}-x", "labels": labels}
        pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = when
        self.world.api.put(POD, "shop", pod["metadata"]["name"], pod)
        self.world.api.logs[pod["metadata"]["name"]] = "\n".join(report_lines(b"{}"))
        self._over(job, "Complete" if is_pass else "Failed", "PodFailurePolicy", when)

    def fails(self, job: Object, when: str) -> None:
        """It gives no verdict."""
        self._over(job, "Failed", "BackoffLimitExceeded", when)

    def goes(self, job: Object) -> None:
        """The Job is deleted, and all that it owns."""
        name = job["metadata"]["name"]
        self.world.api.take_away(JOB, "shop", name)
        for kind, owned in ((CONFIG_MAP, f"{name}-0"), (POD, f"{name}-x")):
            if self.world.api.has(kind, "shop", owned):
                self.world.api.take_away(kind, "shop", owned)

    def _over(self, job: Object, kind: str, reason: str, when: str) -> None:
        end = {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": when}

        def edit(there: Object) -> None:
            there["spec"]["suspend"] = False
            there["status"] = {"conditions": [end]}

        self.world.api.change(f"/jobs/{job['metadata']['name']}", edit)


def _edited(there: Object, spec: Object) -> None:
    there["spec"] = spec
    there["metadata"]["generation"] += 1


@asynccontextmanager
async def asked(mode: str, **validation: Any) -> AsyncIterator[AskedTopic]:
    """The topic as its resource is made, before any pass."""
    async with opened() as world:
        topic = AskedTopic(world)
        topic.governs(mode, **validation)
        topic.wants()
        yield topic
