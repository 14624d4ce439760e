"""Review of a NamespaceSchemaPolicy: the right of its namespace to the claim, and the topics that a change affects.

A change never needs the topics' consent. The review warns of the schemas that it would refuse, as far as two seconds
allow. The controller reports the rest in the policy's status.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from topicschema.admission import brokers, messages, validation_settings
from topicschema.admission.review import Cause, Review, ReviewResponse, allow, deny
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.cluster.errors import NotFoundError
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import History, Owner
from topicschema.core.policy import Policy, counted_strategy, effective_strategy, violations
from topicschema.core.reasons import Reason
from topicschema.core.topics import PulsarNamespaceKey, TopicKey
from topicschema.judging.clock import utc_now
from topicschema.judging.holders import holds_namespace, may_govern
from topicschema.judging.judge import Judge
from topicschema.judging.policies import (
    ActivePolicy,
    ObjectReader,
    owner_of,
)
from topicschema.judging.policy_rules import counted_choices, missing, policy_of
from topicschema.judging.recheck import Recheck
from topicschema.judging.registries import Registries, RegistryNotFoundError
from topicschema.storage.protocol import SchemaStorage, StoredClaim

_LOG = logging.getLogger(__name__)
_FIELD = "spec.pulsarNamespace"
_MAX_TOPICS = 200
_MAX_SECONDS = 2.0
_AT_ONCE = 4
_NAMED = 10


class _Topic(NamedTuple):
    """Examined topic, and the reason for which the changed policy would refuse it now, if any."""

    resource: str
    conflict: Incompatibility | None


@dataclass(slots=True)
class _Examined:
    """Result: all topics with a history (None until they are known), the number of examined ones, the examined."""

    keys: tuple[TopicKey, ...] | None = None
    count: int = 0
    topics: list[_Topic] = field(default_factory=list)


class Policies:
    """Reviewer of NamespaceSchemaPolicies."""

    def __init__(
        self, client: ObjectReader, storage: SchemaStorage, judge: Judge, now: Callable[[], str] = utc_now
    ) -> None:
        self._client = client
        self._storage = storage
        self._registries = Registries(client)
        self._judge = judge
        self._turn = asyncio.Lock()
        self._now = now

    async def review(self, review: Review) -> ReviewResponse:
        """Return the answer. Raises WaitingError if the API server is unreachable."""
        if not review.changes_spec:
            return allow()
        try:
            resource = decode(NamespaceSchemaPolicy, review.new)
            key = resource.spec.claim_key
        except StalledError as error:
            return deny(error.reason, [_invalid_cause(error)])
        old = _decode_or_none(review.old)
        try:
            registry = await self._registries.get(resource.spec.registry)
        except (RegistryNotFoundError, StalledError) as error:
            return allow(f"{error.reason}: {error.message}; until then the policy does not apply")
        resource = resource.at(registry)
        refusals = [cause async for cause in self._refusals(resource, registry, key)]
        if refusals and old is None:
            return deny(refusals[0].message.partition(":")[0], refusals)
        warnings = [cause.message for cause in refusals]
        warnings += brokers.warnings_of_policy(resource, old)
        warnings += validation_settings.warnings(resource, registry, old)
        warnings += _ended_exceptions(policy_of(resource), self._now())
        if old is None or policy_of(old.at(registry)) != policy_of(resource):
            warnings += await self._consequences(resource, key)
        return allow(*warnings)

    async def _refusals(
        self, resource: NamespaceSchemaPolicy, registry: SchemaRegistry, key: PulsarNamespaceKey
    ) -> AsyncIterator[Cause]:
        """Yield the reasons against the claim. An update cannot change the claim, so it only gets warnings."""
        namespace = resource.metadata.namespace
        if not await may_govern(self._client, registry, namespace, key.pulsar_namespace):
            yield _forbidden_cause(namespace, key)
        holder = await self._other_holder(resource, key)
        if holder is not None:
            yield _claim_cause(holder, key)

    async def _other_holder(self, resource: NamespaceSchemaPolicy, key: PulsarNamespaceKey) -> str | None:
        """Describe another holder of the Pulsar namespace, without a name from another Kubernetes namespace."""
        own = owner_of(resource)
        for wire in await self._client.list(NAMESPACE_SCHEMA_POLICY, own.namespace):
            other = _decode_or_none(wire)
            if other and owner_of(other) != own and other.spec.pulsar_namespace == key.pulsar_namespace:
                return f"policy {other.metadata.name}"
        for claim in {await self._storage.get_claim(key), *await self._claims_there(resource, key)}:
            holder = claim.owner
            if holder not in (None, own) and await holds_namespace(self._client, self._registries, holder, claim.key):
                return "a policy of another team"
        return None

    async def _claims_there(self, resource: NamespaceSchemaPolicy, key: PulsarNamespaceKey) -> Sequence[StoredClaim]:
        """Return the claims on the Pulsar namespace at the policy's broker, by any registry."""
        address = resource.address
        return (await self._storage.list_claims(key.pulsar_namespace)).held_at(address) if address else ()

    async def _consequences(self, resource: NamespaceSchemaPolicy, key: PulsarNamespaceKey) -> list[str]:
        """Return warnings that name the topics which the changed policy would refuse.

        One edit at a time is examined, a few of its histories at once. The time of a waiting edit runs meanwhile.
        """
        if missing(resource) is not None:
            return []  # no topic is judged yet
        active, examined = ActivePolicy(resource, policy_of(resource)), _Examined()
        with suppress(TimeoutError):
            async with asyncio.timeout(_MAX_SECONDS), self._turn:
                keys = examined.keys = await self._storage.list_topics(key)
                for start in range(0, min(len(keys), _MAX_TOPICS), _AT_ONCE):
                    batch = keys[start : min(start + _AT_ONCE, _MAX_TOPICS)]
                    topics = await asyncio.gather(*(self._examine(each, active) for each in batch))
                    examined.count += len(batch)
                    examined.topics += [topic for topic in topics if topic is not None]
        return list(_warnings(examined, effective_strategy(active.policy, None).value))

    async def _examine(self, key: TopicKey, active: ActivePolicy) -> _Topic | None:
        """Return the topic and its conflict with the policy.

        Return None if its history cannot be read, or if no resource of the policy's namespace holds the topic.
        """
        try:
            history = (await self._storage.get_history(key)).history
        except StalledError as error:
            _LOG.warning("a history is left out: %s", error.message)
            return None
        claim = history.claim
        if claim is None or claim.namespace != active.resource.metadata.namespace:
            return None
        return _Topic(claim.name, await self._conflict(history, claim, active))

    async def _conflict(self, history: History, claim: Owner, active: ActivePolicy) -> Incompatibility | None:
        try:
            resource = decode(TopicSchema, await self._client.get(TOPIC_SCHEMA, claim.namespace, claim.name))
            override = resource.spec.schema_compatibility_strategy
            active = active.for_topic(history.key.topic, self._now())
            policy = brokers.for_topic(active, resource.spec, resource, history).policy
            override = counted_strategy(policy, override)
            schema = await self._judge.schema_of(resource.spec, policy.profile.pulsar_version, history)
            findings = violations(schema.info, counted_choices(resource.spec, policy), policy)
            findings += await Recheck(self._judge).newest(history, override, policy) or ()
        except InvalidSchemaError as error:  # to a broker of that Pulsar version
            findings = (Incompatibility(error.rule, str(error.place), error.message),)
        except NotFoundError:
            return None
        except TopicSchemaError as error:
            if not error.reason.prevents_judgment:
                if isinstance(error, WaitingError):
                    raise  # the API server is unreachable
                return None
            findings = (Incompatibility(error.reason, "$", error.message),)
        return findings[0] if findings else None


def _decode_or_none(wire: object) -> NamespaceSchemaPolicy | None:
    try:
        return None if wire is None else decode(NamespaceSchemaPolicy, wire)
    except StalledError:
        return None


def _invalid_cause(error: StalledError) -> Cause:
    return (
        messages.invalid_resource(error) if error.reason is Reason.INVALID_RESOURCE else messages.stalled(error, _FIELD)
    )


def _forbidden_cause(namespace: str, key: PulsarNamespaceKey) -> Cause:
    message = (
        f"ClaimNotAllowed: registry {key.registry} does not allow Kubernetes namespace {namespace} to govern "
        f"{key.pulsar_namespace}; ask the platform team to add both to its spec.allowedNamespaces"
    )
    return Cause(_FIELD, message, "FieldValueForbidden")


def _claim_cause(holder: str, key: PulsarNamespaceKey) -> Cause:
    message = f"TopicAlreadyClaimed: {holder} already governs {key.pulsar_namespace}; a Pulsar namespace has one policy"
    return Cause(_FIELD, message, "FieldValueDuplicate")


def _warnings(examined: _Examined, strategy: str) -> Iterator[str]:
    if examined.keys is None:
        yield f"no topic was examined within {_MAX_SECONDS:g} seconds; see the policy's status later"
        return
    conflicts = [(topic.resource, topic.conflict) for topic in examined.topics if topic.conflict is not None]
    total = len(examined.topics)
    if conflicts:
        yield (
            f"{len(conflicts)} of {total} topics examined would not pass (namespace strategy {strategy}): "
            "their versions stay, their next edit is judged by the changed policy"
        )
    if examined.count < len(examined.keys):
        left = len(examined.keys) - examined.count
        yield f"{left} of {len(examined.keys)} recorded topics were not examined; see the policy's status later"
    for resource, conflict in conflicts[:_NAMED]:
        yield f"TopicSchema {resource}: {_place(conflict)}"
    if len(conflicts) > _NAMED:
        yield f"and {len(conflicts) - _NAMED} more topics"


def _ended_exceptions(policy: Policy, now: str) -> Iterator[str]:
    for index, each in enumerate(policy.constraints.exceptions):
        if each.end <= now:
            yield (
                f"spec.constraints.exceptions[{index}].until: {each.until} is past, so the exception for topic "
                f"{each.topic} allows nothing"
            )


def _place(finding: Incompatibility) -> str:
    after = "" if finding.schema_version is None else f" after version {finding.schema_version}"
    return f"{finding.rule} at {finding.path}{after}: {finding.message}"
