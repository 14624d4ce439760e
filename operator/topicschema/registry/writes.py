"""Writes: a schema becomes the spec of a TopicSchema, which admission judges and the controller registers.

Each request repeats its steps until the store has its schema, or until it is refused: read, judge, apply, wait.
So a request whose edit another client replaced before it was registered is not lost.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final
from weakref import WeakValueDictionary

from topicschema.api import FINALIZER
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.api.metadata import Condition, ConditionStatus, ConditionType
from topicschema.api.topicschemas import DeletionPolicy, TopicSchema
from topicschema.cluster.client import ApiClient
from topicschema.cluster.errors import ApiRefusedError, ConflictError
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.history import History, Origin, Owner, VersionEntry
from topicschema.core.reasons import Category, Reason
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType, digest
from topicschema.core.strategies import Strategy
from topicschema.core.topics import TopicKey
from topicschema.core.verdict import Candidate, Outcome
from topicschema.judging.clock import utc_now
from topicschema.judging.judge import Judge
from topicschema.judging.policies import ActivePolicy
from topicschema.judging.policy_rules import choices_of
from topicschema.registry import resources, verdicts
from topicschema.registry.answers import Form, RestError, unavailable
from topicschema.registry.reads import Histories
from topicschema.registry.resources import SCHEMA_FIELDS, TopicResource, TopicWatch
from topicschema.storage.protocol import SchemaStorage, Stored

SECONDS: Final = 25.0
"""The time in which a version must be registered. PulsarAdmin waits for 60 seconds."""
_AFTER: Final = 5.0
_POLL: Final = 2.0
_NOTHING: Final = digest(b"")


@dataclass(frozen=True, slots=True)
class Accepted:
    """A schema that waits for the validation of the topic's retained messages.

    `message` names the command that shows the progress.
    """

    message: str


@dataclass(slots=True)
class _Waiting:
    """The reason why a request waits, for the message if it takes too long."""

    message: str = "another request about this topic is in progress"


class Writes:
    """Registrations and deletions. `seconds` is the time limit of each."""

    def __init__(  # noqa: PLR0913, PLR0917 - its collaborators
        self,
        client: ApiClient,
        storage: SchemaStorage,
        judge: Judge,
        histories: Histories,
        watch: TopicWatch,
        seconds: float = SECONDS,
    ) -> None:
        self._client = client
        self._storage = storage
        self._judge = judge
        self._histories = histories
        self._watch = watch
        self._seconds = seconds
        self._turns: WeakValueDictionary[TopicKey, asyncio.Lock] = WeakValueDictionary()

    async def strategy(self, key: TopicKey, active: ActivePolicy) -> Strategy | None:
        """Return the strategy that the topic's TopicSchema sets, or None."""
        history = (await self._storage.get_history(key)).history
        existing = (await self._resource(key, active, history)).decoded
        return None if existing is None else existing.spec.schema_compatibility_strategy

    async def register(self, key: TopicKey, info: SchemaInfo, active: ActivePolicy) -> int | Accepted:
        """Return the number of the schema's version, or Accepted. Raises RestError, 503 if it takes too long."""
        pulsar_version = active.policy.profile.pulsar_version
        async with self._turn(key) as waiting:
            while True:
                stored = (await self._storage.get_history(key)).history
                history = await self._judge.for_version(stored, pulsar_version)
                schema = await self._parsed(history, info, pulsar_version)
                equal = history.equal_to(schema.fingerprint)
                if equal is not None:
                    return equal.schema_version
                resource = await self._resource(key, active, history)
                with self._watch.changes_of(resource.namespace, resource.name) as changed:
                    resource = await self._resource(key, active, history)
                    await self._check(schema, resource.decoded, history, active)
                    outcome = await self._advance(key, resource, info, waiting)
                    if outcome is not None:
                        return outcome
                    await _wait(changed)

    async def delete(self, key: TopicKey, active: ActivePolicy, *, is_forced: bool) -> int:
        """Delete all versions and the TopicSchema. Return the number of the deletion, -1 if it is forced.

        The versions count no more for compatibility. A forced deletion restarts the numbers. Raises RestError.
        """
        if not active.policy.constraints.allows_deletion:
            name = active.resource.metadata.name
            message = f"policy {name} does not allow to delete schemas (constraints.allowedDeletionPolicies: Delete)"
            raise RestError(403, message)
        has_broker, number = active.resource.has_broker, None
        async with self._turn(key) as waiting:
            while True:
                stored = await self._storage.get_history(key)
                resource = await self._resource(key, active, stored.history)
                with self._watch.changes_of(resource.namespace, resource.name) as changed:
                    resource = await self._resource(key, active, stored.history)
                    try:
                        if resource.wire is None and not has_broker:
                            return await self._bury(stored, is_forced=is_forced)
                        if resource.wire is None and number is not None:
                            return number
                        if has_broker and (resource.wire is None or is_forced):
                            raise _undeletable(resource, is_forced=is_forced)
                        number = stored.history.next_version if number is None else number
                        await self._remove(resource, with_schemas=has_broker)
                    except ConflictError:
                        continue
                    waiting.message = f"{resource} is being deleted"
                    await _wait(changed)

    @asynccontextmanager
    async def _turn(self, key: TopicKey) -> AsyncIterator[_Waiting]:
        """Wait for the turn of a request about the topic. Raises RestError 503 when the time is over."""
        waiting = _Waiting()
        try:
            async with asyncio.timeout(self._seconds), self._turns.setdefault(key, asyncio.Lock()):
                yield waiting
        except TimeoutError:
            raise unavailable(f"not done within {self._seconds:g} s: {waiting.message}", _AFTER) from None
        finally:
            self._histories.forget(key)

    async def _resource(self, key: TopicKey, active: ActivePolicy, history: History) -> TopicResource:
        metadata = active.resource.metadata
        holder = Owner(metadata.namespace, metadata.name, metadata.uid)
        return await resources.find(self._client, holder, key.topic, history)

    async def _advance(
        self, key: TopicKey, resource: TopicResource, info: SchemaInfo, waiting: _Waiting
    ) -> int | Accepted | None:
        """Return the controller's result for the schema, or None after it was applied, or until it can be."""
        existing, fields = resource.decoded, resources.fields_of(info)
        topic = f"persistent://{key.topic}"
        if resource.wire is not None and existing is not None:
            resources.check_managers(resource.wire, SCHEMA_FIELDS, str(resource))
            is_settled = existing.status.observed_generation == existing.metadata.generation
            is_same = resources.has_fields(resource.wire, fields)
            if is_same and is_settled:
                return _result(existing, resource, waiting)
            waiting.message = f"{resource} is being reconciled"
            if is_same or not is_settled or existing.metadata.deletion_timestamp is not None:
                return None
            topic = existing.spec.topic
        spec, kind = {"topic": topic, **fields}, TOPIC_SCHEMA
        waiting.message = f"{resource} is being registered"
        try:
            await resources.apply(self._client, kind, resource.namespace, resource.name, spec, resource.wire)
        except ConflictError:
            return None  # another client was faster, and the next step reads what it wrote
        except ApiRefusedError as error:
            raise _refused(error) from None
        return None

    async def _parsed(self, history: History, info: SchemaInfo, pulsar_version: PulsarVersion) -> Schema:
        try:
            resources.fields_of(info)
            return await self._judge.versions.parse(history.key.topic.pulsar_namespace, info, pulsar_version)
        except InvalidSchemaError as error:
            raise verdicts.of_invalid(info, error, history) from None

    async def _check(
        self, schema: Schema, existing: TopicSchema | None, history: History, active: ActivePolicy
    ) -> None:
        """Raise RestError if the schema may not be the next version."""
        candidate = Candidate(schema) if existing is None else Candidate(schema, choices_of(existing.spec))
        verdict = await self._judge.judge(candidate, history, active.policy)
        if verdict.outcome is Outcome.INCOMPATIBLE:
            raise verdicts.of_refused(schema.info, verdict, history)

    async def _bury(self, stored: Stored, *, is_forced: bool) -> int:
        """Add a tombstone to the history, or begin a new one."""
        history = stored.history
        if is_forced:
            if stored.revision:
                fresh = History(history.key, incarnation=history.incarnation + 1, deleted=history.deleted)
                await self._storage.put(stored, fresh)
            return -1
        number = history.next_version
        tombstone = VersionEntry(
            number, SchemaType.NONE, _NOTHING, _NOTHING, Origin.REGISTRY, utc_now(), is_tombstone=True
        )
        await self._storage.put(stored, replace(history, entries=(*history.entries, tombstone), claim=None))
        return number

    async def _remove(self, resource: TopicResource, *, with_schemas: bool) -> None:
        """Delete the TopicSchema. The controller deletes its schemas at the broker, if `with_schemas` is True."""
        wire = resource.wire
        if wire is None or wire["metadata"].get("deletionTimestamp"):
            return
        resources.check_managers(wire, wire["spec"], str(resource))
        metadata = wire["metadata"]
        if with_schemas and wire["spec"].get("deletionPolicy") != DeletionPolicy.DELETE:
            fields = {name: wire["spec"][name] for name in resources.owned(wire) if name in wire["spec"]}
            spec = fields | {"deletionPolicy": DeletionPolicy.DELETE.value}
            wire = await resources.apply(self._client, TOPIC_SCHEMA, resource.namespace, resource.name, spec, wire)
        if with_schemas and FINALIZER not in (wire["metadata"].get("finalizers") or ()):
            return  # the controller adds it, and without it would delete nothing
        await self._client.delete(
            TOPIC_SCHEMA,
            resource.namespace,
            resource.name,
            uid=metadata["uid"],
            resource_version=wire["metadata"]["resourceVersion"],
        )


def _undeletable(resource: TopicResource, *, is_forced: bool) -> RestError:
    what = "a forced deletion is the broker's alone" if is_forced else f"{resource} does not exist"
    return RestError(409, f"{what}: delete the schemas at the broker", Form.PAGE)


async def _wait(changed: asyncio.Event) -> None:
    """Wait for a change of the resource. After some time, read it anyway: the watch may be interrupted."""
    try:
        async with asyncio.timeout(_POLL):
            await changed.wait()
    except TimeoutError:
        return


def _result(existing: TopicSchema, resource: TopicResource, waiting: _Waiting) -> int | Accepted | None:
    """Return the controller's result for the current spec, or None if it goes on. Raises RestError if it refuses."""
    conditions = {each.type: each for each in existing.status.conditions}
    ready, stalled = conditions.get(ConditionType.READY), conditions.get(ConditionType.STALLED)
    if existing.spec.suspend:
        raise RestError(409, f"{resource} is suspended: nothing is registered", Form.PAGE)
    if stalled is not None and stalled.status is ConditionStatus.TRUE:
        is_invalid = Reason.of(stalled.reason).category is Category.INVALID
        raise RestError(422 if is_invalid else 409, f"{_message_of(stalled)} ({resource})", Form.PAGE)
    if ready is not None and ready.status is ConditionStatus.TRUE:
        if existing.status.schema_version is None:
            raise RestError(409, f"{_message_of(ready)} ({resource})", Form.PAGE)
        return existing.status.schema_version
    if ready is not None and ready.reason == Reason.VALIDATING:
        where = f"kubectl get topicschema {resource.name} -n {resource.namespace} -o yaml"
        return Accepted(f"{_message_of(ready)}; see {where}")
    waiting.message = f"{_message_of(ready)} ({resource})" if ready is not None else waiting.message
    return None


def _message_of(condition: Condition) -> str:
    return f"{condition.reason}: {condition.message}"


def _refused(error: ApiRefusedError) -> RestError:
    """Return the answer to a schema that the API server or the webhook refuses."""
    message = "; ".join(f"{field}: {text}" for field, text in error.causes) or error.message
    return RestError(422, message, Form.PAGE)
