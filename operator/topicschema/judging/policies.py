"""Search for the policy of a topic: the one in the topic's own Kubernetes namespace that holds the claim.

Each call reads from the API server, so a result is never older than its call. `reconcile.policy` makes and releases
claims.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeVar

from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, Kind
from topicschema.api.metadata import Condition, ConditionStatus, ConditionType
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.api.wire import decode
from topicschema.cluster.errors import ConflictError, NotFoundError
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import Owner
from topicschema.core.policy import Policy, for_topic
from topicschema.core.reasons import Reason
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.judging import policy_rules
from topicschema.judging.registries import Registries
from topicschema.judging.single_flight import SingleFlight
from topicschema.storage.protocol import SchemaStorage, StoredClaim

T = TypeVar("T")
_Names = tuple[str, str]  # of the Kubernetes namespace and of the Pulsar namespace
_CACHE_SIZE = 10_000
_REFUSALS = (Reason.CLAIM_NOT_ALLOWED, Reason.REGISTRY_NOT_FOUND, Reason.TOPIC_ALREADY_CLAIMED)


class ObjectReader(Protocol):
    """Read access to the API server."""

    async def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        """Return the object. Raise NotFoundError."""

    async def list(self, kind: Kind, namespace: str = "") -> Sequence[dict[str, Any]]:
        """Return all objects of the kind in the namespace."""


class _CachedPolicy(NamedTuple):
    """The names of the policy of the last call."""

    name: str
    registry: str


@dataclass(frozen=True, slots=True)
class ActivePolicy:
    """A policy that governs its Pulsar namespace: the resource, and its rules for judging."""

    resource: NamespaceSchemaPolicy
    policy: Policy

    def key(self, topic: Topic) -> TopicKey:
        """Return the key of one of its topics."""
        return TopicKey(self.resource.spec.registry, topic)

    def for_topic(self, topic: Topic, now: str) -> "ActivePolicy":
        """Return the policy for one topic at the time `now`, with the topic's exception."""
        return replace(self, policy=for_topic(self.policy, topic.local_name, now))


class PolicyResolver:
    """Resolver of the policy that governs a Pulsar namespace.

    It caches the policies' names, so that the next call needs two concurrent GETs and no LIST. Each call reads the
    policy and its claim again; concurrent calls share a read.

    `registries` are those of the policies. With None, a policy's own status is trusted: neither registry nor claim is
    read if it reports that the policy applies. This suffices for a review, but not for a registration
    (docs/decisions/0009-two-reads-for-an-answer.md).
    """

    def __init__(self, client: ObjectReader, storage: SchemaStorage, registries: Registries | None) -> None:
        self._client = client
        self._storage = storage
        self._registries = registries
        self._cache: dict[_Names, _CachedPolicy] = {}
        self._reads = SingleFlight(self._find)

    async def resolve(self, namespace: str, pulsar_namespace: str) -> ActivePolicy:
        """Return the policy that governs `tenant/namespace` in that Kubernetes namespace.

        Raise WaitingError(PolicyNotFound) if no policy names it. If one does and has no claim, raise that error, or
        StalledError(ClaimNotAllowed, TopicAlreadyClaimed), or ConflictError. Raise WaitingError(RegistryNotFound) if
        its registry does not exist, and the error of `policy_rules.missing` if it cannot judge.
        """
        return await self._reads.get((namespace, pulsar_namespace))

    def expected_key(self, namespace: str, topic: Topic) -> TopicKey | None:
        """Return the topic's key of the last call, or None. It may be stale: use it only to prefetch."""
        cached = self._cache.get((namespace, topic.pulsar_namespace))
        return TopicKey(cached.registry, topic) if cached else None

    async def _find(self, names: _Names) -> ActivePolicy:
        cached = self._cache.get(names)
        if cached is not None:
            active = await self._find_cached(*names, cached)
            if active is not None:
                return active
            self._cache.pop(names, None)
        return await self._search(*names)

    async def _find_cached(self, namespace: str, pulsar_namespace: str, cached: _CachedPolicy) -> ActivePolicy | None:
        key = PulsarNamespaceKey.parse(cached.registry, pulsar_namespace)
        reading = self._client.get(NAMESPACE_SCHEMA_POLICY, namespace, cached.name)
        claim_reads = () if self._registries is None else (self._storage.get_claim(key),)
        wire, *claims = await asyncio.gather(reading, *claim_reads, return_exceptions=True)
        if isinstance(wire, NotFoundError):
            return None
        resource = _decode_or_none(_result_or_raise(wire))
        if resource is None or not _has_key(resource, key):
            return None
        if self._registries is None and resource.metadata.deletion_timestamp is None and is_active(resource):
            return self._cache_policy(namespace, resource, None)
        claim = _result_or_raise(claims[0]) if claims else await self._storage.get_claim(key)
        registry = await self._registry(resource)
        return self._cache_policy(namespace, resource, registry) if _holds(claim, resource, registry) else None

    async def _registry(self, resource: NamespaceSchemaPolicy) -> SchemaRegistry | None:
        return None if self._registries is None else await self._registries.get(resource.spec.registry)

    def _cache_policy(
        self, namespace: str, resource: NamespaceSchemaPolicy, registry: SchemaRegistry | None
    ) -> ActivePolicy:
        names = (namespace, resource.spec.pulsar_namespace)
        if names not in self._cache and len(self._cache) >= _CACHE_SIZE:
            self._cache.clear()
        self._cache[names] = _CachedPolicy(resource.metadata.name, resource.spec.registry)
        current = resource if registry is None else resource.at(registry)
        missing = policy_rules.missing(current)
        if missing is not None:
            raise missing
        return ActivePolicy(current, policy_rules.policy_of(current))

    async def find_holder(self, namespace: str, pulsar_namespace: str) -> NamespaceSchemaPolicy | None:
        """Return a policy in that Kubernetes namespace with a claim on `tenant/namespace` of any registry."""
        naming, claims = await self._list_naming(namespace, pulsar_namespace)
        return next((r for r, claim in zip(naming, claims, strict=True) if _owns(claim, r)), None)

    async def _list_naming(
        self, namespace: str, pulsar_namespace: str
    ) -> tuple[list[NamespaceSchemaPolicy], list[StoredClaim]]:
        """Return the policies that name the Pulsar namespace, and the claim under each one's key."""
        listed = await self._client.list(NAMESPACE_SCHEMA_POLICY, namespace)
        here = [r for r in map(_decode_or_none, listed) if r is not None and r.metadata.deletion_timestamp is None]
        naming = [r for r in here if r.spec.pulsar_namespace == pulsar_namespace]
        return naming, await asyncio.gather(*(self._storage.get_claim(r.spec.claim_key) for r in naming))

    async def _search(self, namespace: str, pulsar_namespace: str) -> ActivePolicy:
        naming, claims = await self._list_naming(namespace, pulsar_namespace)
        owning = [(r, claim) for r, claim in zip(naming, claims, strict=True) if _owns(claim, r)]
        current = [(r, claim, await self._registry(r)) for r, claim in owning]
        holding = [(r, registry) for r, claim, registry in current if _holds(claim, r, registry)]
        if not holding:
            if naming:
                raise _inactive_error(naming[0], claims[0])
            message = f"no NamespaceSchemaPolicy in this Kubernetes namespace governs {pulsar_namespace}"
            raise WaitingError(Reason.POLICY_NOT_FOUND, message)
        if len(holding) > 1:
            names = ", ".join(r.metadata.name for r, _ in holding)
            raise WaitingError(
                Reason.POLICY_NOT_FOUND, f"a topic can have one policy, but {names} govern {pulsar_namespace}"
            )
        return self._cache_policy(namespace, *holding[0])


def owner_of(resource: NamespaceSchemaPolicy) -> Owner:
    """Return the policy as the holder of a claim."""
    return Owner(resource.metadata.namespace, resource.metadata.name, resource.metadata.uid)


def _decode_or_none(wire: Mapping[str, Any]) -> NamespaceSchemaPolicy | None:
    # A policy that bypassed its CRD governs nothing; its own status has the reason.
    try:
        resource = decode(NamespaceSchemaPolicy, wire)
        _ = resource.spec.claim_key
    except StalledError:
        return None
    return resource


def _has_key(resource: NamespaceSchemaPolicy, key: PulsarNamespaceKey) -> bool:
    return (resource.spec.pulsar_namespace, resource.spec.registry) == (key.pulsar_namespace, key.registry)


def _holds(claim: StoredClaim, resource: NamespaceSchemaPolicy, registry: SchemaRegistry | None) -> bool:
    """Return True if the policy owns the claim; with its registry, at the broker that this names now."""
    return _owns(claim, resource) and (registry is None or claim.address == registry.address)


def _owns(claim: StoredClaim, resource: NamespaceSchemaPolicy) -> bool:
    return claim.owner == owner_of(resource) and resource.metadata.deletion_timestamp is None


def is_active(resource: NamespaceSchemaPolicy) -> bool:
    """Return True if its status, of the current generation, has InSync, or Ready=True. Its broker may be away."""
    return any(each.type is ConditionType.IN_SYNC for each in _current(resource)) or is_ready(resource)


def is_ready(resource: NamespaceSchemaPolicy) -> bool:
    """Return True if its status, of the current generation, has Ready=True."""
    return any(each.type is ConditionType.READY and each.status is ConditionStatus.TRUE for each in _current(resource))


def _current(resource: NamespaceSchemaPolicy) -> Iterator[Condition]:
    generation = resource.metadata.generation
    return (each for each in resource.status.conditions if each.observed_generation == generation)


def _result_or_raise(outcome: T | BaseException) -> T:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _inactive_error(resource: NamespaceSchemaPolicy, claim: StoredClaim) -> TopicSchemaError:
    """Return the error for a policy without the claim. It never names a resource of another namespace."""
    name = f"policy {resource.metadata.name}"
    condition = _own_reason(resource)
    if condition is not None:
        return StalledError(
            Reason.of(condition.reason), f"{name} does not apply: {condition.message or condition.reason}"
        )
    here, owner = resource.metadata, claim.owner
    if owner == owner_of(resource):
        claimed = resource.spec.pulsar_namespace
        return ConflictError(f"{name} has not claimed {claimed} at the broker that its registry names now")
    if owner is None or (owner.namespace, owner.name) == (here.namespace, here.name):
        return WaitingError(
            Reason.POLICY_NOT_FOUND, f"{name} has not claimed {resource.spec.pulsar_namespace} yet", after=2.0
        )
    holder = f"policy {owner.name}" if owner.namespace == here.namespace else "another policy"
    return StalledError(
        Reason.TOPIC_ALREADY_CLAIMED,
        f"{name} does not apply: {holder} already governs {resource.spec.pulsar_namespace}",
    )


def _own_reason(resource: NamespaceSchemaPolicy) -> Condition | None:
    for condition in _current(resource):
        is_no = condition.type is ConditionType.READY and condition.status is ConditionStatus.FALSE
        if is_no and condition.reason in _REFUSALS:
            return condition
    return None
