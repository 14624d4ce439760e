"""All reads of a pass over a TopicSchema: policy, history, whether another holder of the topic still exists.

What follows from them is `core.plan`'s and `report`'s matter.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from topicschema.api import FINALIZER
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.api.metadata import Metadata
from topicschema.api.topicschemas import DeletionPolicy, TopicSchema
from topicschema.api.wire import decode
from topicschema.cluster.errors import NotFoundError
from topicschema.core import plan
from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.history import History, Owner
from topicschema.core.policy import Policy
from topicschema.core.schemas import PulsarLine, Schema
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.core.verdict import Candidate, Verdict
from topicschema.reconcile.candidates import sources_of
from topicschema.reconcile.doorbell import history_key
from topicschema.reconcile.surroundings import Surroundings
from topicschema.storage.protocol import Stored


@dataclass(frozen=True, slots=True)
class Observation:
    """A resource, its topic's record, and what its schema is judged to be; the last four are None at a farewell."""

    resource: TopicSchema
    stored: Stored | None = None
    policy: Policy | None = None
    schema: Schema | None = None
    verdict: Verdict | None = None

    @property
    def candidate(self) -> Candidate:
        """What is judged."""
        if self.schema is None:
            raise TypeError("nothing was parsed")
        return Candidate(self.schema, self.resource.spec.schema_compatibility_strategy)

    @property
    def line(self) -> PulsarLine:
        """The line whose parser took the schema."""
        if self.policy is None:
            raise TypeError("nothing was parsed")
        return self.policy.profile.line

    @property
    def source_hash(self) -> str | None:
        """The hash of the sources that the schema is compiled from, if it is."""
        sources = sources_of(self.resource.spec)
        return None if sources is None else sources.source_hash

    @property
    def planned(self) -> tuple[plan.Action, ...]:
        """The next action."""
        metadata, spec = self.resource.metadata, self.resource.spec
        owner = owner_of(metadata)
        stored = self.stored
        if stored is None:
            # Nothing on record is known to be ours: only the resource itself is left to deal with.
            return (plan.RemoveFinaliser(),) if FINALIZER in metadata.finalizers else ()
        return plan.plan(
            plan.Observed(
                owner=owner,
                history=stored.history,
                is_on_record=bool(stored.revision),
                verdict=self.verdict,
                is_being_deleted=metadata.deletion_timestamp is not None,
                is_suspended=spec.suspend,
                deletes_record=spec.deletion_policy is DeletionPolicy.DELETE,
                has_finaliser=FINALIZER in metadata.finalizers,
                is_source_on_record=self._is_source_on_record(stored.history),
            )
        )

    def _is_source_on_record(self, history: History) -> bool:
        source_hash = self.source_hash
        if source_hash is None or self.verdict is None:
            return True
        known = history.compiled_from(source_hash)
        return known is not None and known.schema_version == self.verdict.schema_version


def owner_of(metadata: Metadata) -> Owner:
    """The resource as the holder of a claim."""
    return Owner(metadata.namespace, metadata.name, metadata.uid)


async def observe(around: Surroundings, resource: TopicSchema) -> Observation:
    """What a pass over a living resource sees, judged; the errors of design section 8 where it cannot be judged."""
    topic = Topic.parse(resource.spec.topic)
    found = await around.policies.find(resource.metadata.namespace, topic.pulsar_namespace)
    if found is None:
        raise WaitingError("PolicyMissing", f"no NamespaceSchemaPolicy here governs {topic.pulsar_namespace}")
    stored = await around.storage.get_history(found.key(topic))
    around.echoes.know(history_key(stored.history.key.history_name), stored.revision)
    await _refuse_if_held(around, stored, owner_of(resource.metadata))
    _refuse_if_lost(stored, resource)
    schema = await around.judge.schema_of(resource.spec, found.policy.profile.line, stored.history)
    return await judged(around, Observation(resource, stored, found.policy, schema))


async def judged(around: Surroundings, seen: Observation) -> Observation:
    """The same observation with the verdict that follows from its history."""
    if seen.stored is None or seen.policy is None:
        raise TypeError("nothing to judge by")
    verdict = await around.judge.judge(seen.candidate, seen.stored.history, seen.policy)
    return Observation(seen.resource, seen.stored, seen.policy, seen.schema, verdict)


async def observe_farewell(around: Surroundings, wire: Mapping[str, Any]) -> Observation | None:
    """What a pass over a resource that is being deleted sees; None when its spec cannot even be read."""
    try:
        resource = decode(TopicSchema, wire)
        topic = Topic.parse(resource.spec.topic)
    except StalledError:
        return None
    async for key in _possible_keys(around, resource.metadata.namespace, topic):
        stored = await around.storage.get_history(key)
        if stored.history.claim == owner_of(resource.metadata):
            is_anothers = await _is_governed_elsewhere(around, key, resource.metadata.namespace)
            return Observation(resource) if is_anothers else Observation(resource, stored)
    return Observation(resource)


async def _possible_keys(around: Surroundings, namespace: str, topic: Topic) -> AsyncIterator[TopicKey]:
    # Not by the policy alone: a namespace that is deleted may lose its policy before its topics.
    expected = around.policies.expected_key(namespace, topic)
    if expected is not None:
        yield expected
    for key in await around.claims.list_keys(topic.pulsar_namespace):
        yield TopicKey(key.pulsar_cluster, topic)


async def _is_governed_elsewhere(around: Surroundings, key: TopicKey, namespace: str) -> bool:
    # Whoever lost the Pulsar namespace to another tenant has no say in its records any more.
    topic = key.topic
    claim = await around.claims.get_claim(PulsarNamespaceKey(key.pulsar_cluster, topic.tenant, topic.namespace))
    return claim.owner is not None and claim.owner.namespace != namespace


async def _refuse_if_held(around: Surroundings, stored: Stored, owner: Owner) -> None:
    holder = stored.history.claim
    if holder is None or holder == owner or not await _exists(around, holder):
        return
    name = f"TopicSchema {holder.name}" if holder.namespace == owner.namespace else "another TopicSchema"
    raise StalledError("TopicClaimed", f"{name} already holds the topic {stored.history.key.topic}")


def _refuse_if_lost(stored: Stored, resource: TopicSchema) -> None:
    """A status is written after the record, and of this resource only: what it tells of was there."""
    if resource.status.version_count and not stored.history.entries:
        key = stored.history.key
        raise StalledError(
            "HistoryLost",
            f"the status tells of {resource.status.version_count} versions, but topic {key.topic} has no history for "
            f"Pulsar cluster {key.pulsar_cluster}; restore {key.history_name} and its versions, or, to begin again "
            "with version 0, delete this resource and create it anew",
        )


async def _exists(around: Surroundings, holder: Owner) -> bool:
    try:
        wire = await around.client.get(TOPIC_SCHEMA, holder.namespace, holder.name)
    except NotFoundError:
        return False
    # Another one of the same name is not the one that claimed.
    return decode(Metadata, wire.get("metadata")).uid == holder.uid
