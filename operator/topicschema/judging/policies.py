"""Which NamespaceSchemaPolicy governs a topic: the one in the topic's own Kubernetes namespace that holds the claim.

Everything is read from the API server at each call, so an answer is never older than its question. Making and
releasing claims is `policy`'s matter.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from topicschema.api.brokers import ObservedBroker, ObservedSettings
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, Kind
from topicschema.api.metadata import Condition, ConditionStatus, ConditionType
from topicschema.api.policies import NamespaceSchemaPolicy, NamespaceSchemaPolicySpec
from topicschema.api.wire import decode
from topicschema.cluster.errors import ConflictError, NotFoundError
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import Owner
from topicschema.core.policy import BrokerProfile, Constraints, Policy
from topicschema.core.strategies import BY_AUTO_UPDATE_NAME, Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.judging.single_flight import SingleFlight
from topicschema.storage.claims import StoredClaim

T = TypeVar("T")
_Names = tuple[str, str]  # of the Kubernetes namespace and of the Pulsar namespace
_REMEMBERED = 10_000
_NOTHING_SEEN = ObservedSettings()
_BLOCKING_REASONS = ("ClaimNotAllowed", "TopicAlreadyClaimed")
NOT_IN_FORCE = frozenset({"PolicyNotFound", *_BLOCKING_REASONS})
"""Reasons for which no policy governs a topic."""


class Reader(Protocol):
    """What is asked of the API server."""

    async def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        """The object; NotFoundError."""

    async def list(self, kind: Kind, namespace: str = "") -> Sequence[dict[str, Any]]:
        """All objects of the kind in the namespace."""


class ClaimReader(Protocol):
    """Where claims are kept."""

    async def get_claim(self, key: PulsarNamespaceKey) -> StoredClaim:
        """The claim as it stands now; its owner is None when nobody holds it."""

    async def list_held(self, pulsar_namespace: str, address: str) -> Sequence[StoredClaim]:
        """The claims on `tenant/namespace` that are held at the broker there, for whatever Pulsar cluster."""


class _Known(NamedTuple):
    """The names of the last policy that was found."""

    name: str
    pulsar_cluster: str
    address: str


@dataclass(frozen=True, slots=True)
class FoundPolicy:
    """A policy that is in force: the resource, and what it says of judging."""

    resource: NamespaceSchemaPolicy
    policy: Policy

    def key(self, topic: Topic) -> TopicKey:
        """The key of one of its topics."""
        return TopicKey(self.resource.spec.pulsar_cluster, topic)


class PolicyResolver:
    """Finds the policy that is in force.

    The name of each policy found is remembered, so that the next question is two GETs at once and no LIST. What the
    policy says and who holds the claim is read after each question; questions asked at the same time share a read.

    With `trust_status` a policy whose own status calls it in force is not asked for its claim: enough to answer by,
    never to register by (docs/decisions/0009-two-reads-for-an-answer.md).
    """

    def __init__(self, client: Reader, claims: ClaimReader, *, trust_status: bool = False) -> None:
        self._client = client
        self._claims = claims
        self._trust_status = trust_status
        self._remembered: dict[_Names, _Known] = {}
        self._reads = SingleFlight(self._find)

    async def resolve(self, namespace: str, pulsar_namespace: str) -> FoundPolicy:
        """Return the policy in force for `tenant/namespace` in that Kubernetes namespace.

        WaitingError(PolicyNotFound) if no policy names it; that or StalledError(ClaimNotAllowed, TopicAlreadyClaimed)
        if one does and has no claim.
        """
        return await self._reads.get((namespace, pulsar_namespace))

    def expected_key(self, namespace: str, topic: Topic) -> TopicKey | None:
        """The key the topic had at the last find, or None: good enough to begin reading, never to answer with."""
        known = self._remembered.get((namespace, topic.pulsar_namespace))
        return TopicKey(known.pulsar_cluster, topic) if known else None

    def expected_address(self, namespace: str, pulsar_namespace: str) -> str | None:
        """The address of the broker at the last find, "" for none, or None: it says whose limit applies, no more."""
        known = self._remembered.get((namespace, pulsar_namespace))
        return known.address if known else None

    async def _find(self, names: _Names) -> FoundPolicy:
        known = self._remembered.get(names)
        if known is not None:
            found = await self._find_known(*names, known)
            if found is not None:
                return found
            self._remembered.pop(names, None)
        return await self._search(*names)

    async def _find_known(self, namespace: str, pulsar_namespace: str, known: _Known) -> FoundPolicy | None:
        key = PulsarNamespaceKey.parse(known.pulsar_cluster, pulsar_namespace)
        reading = self._client.get(NAMESPACE_SCHEMA_POLICY, namespace, known.name)
        asked = () if self._trust_status else (self._claims.get_claim(key),)
        wire, *claims = await asyncio.gather(reading, *asked, return_exceptions=True)
        if isinstance(wire, NotFoundError):
            return None
        resource = _readable(_unless_raised(wire))
        if resource is None or not _names(resource, key):
            return None
        if self._trust_status and resource.metadata.deletion_timestamp is None and says_in_force(resource):
            return self._remember(namespace, resource)
        claim = _unless_raised(claims[0]) if claims else await self._claims.get_claim(key)
        return self._remember(namespace, resource) if self._holds(claim, resource) else None

    def _remember(self, namespace: str, resource: NamespaceSchemaPolicy) -> FoundPolicy:
        names = (namespace, resource.spec.pulsar_namespace)
        if names not in self._remembered and len(self._remembered) >= _REMEMBERED:
            self._remembered.clear()
        self._remembered[names] = _Known(resource.metadata.name, resource.spec.pulsar_cluster, address_of(resource))
        return FoundPolicy(resource, policy_of(resource))

    async def find_holder(self, namespace: str, pulsar_namespace: str) -> NamespaceSchemaPolicy | None:
        """A policy in that Kubernetes namespace with a claim on `tenant/namespace`, for whatever Pulsar cluster."""
        naming, claims = await self._naming(namespace, pulsar_namespace)
        return next((r for r, claim in zip(naming, claims, strict=True) if _owns(claim, r)), None)

    async def _naming(
        self, namespace: str, pulsar_namespace: str
    ) -> tuple[list[NamespaceSchemaPolicy], list[StoredClaim]]:
        """The policies that name it, and the claim that each asks for."""
        listed = await self._client.list(NAMESPACE_SCHEMA_POLICY, namespace)
        here = [r for r in map(_readable, listed) if r is not None and r.metadata.deletion_timestamp is None]
        naming = [r for r in here if r.spec.pulsar_namespace == pulsar_namespace]
        return naming, await asyncio.gather(*(self._claims.get_claim(_claim_key(r)) for r in naming))

    def _holds(self, claim: StoredClaim, resource: NamespaceSchemaPolicy) -> bool:
        """Whether the policy governs; to register, at the broker that it names now, which may be another's by then."""
        is_there = self._trust_status or claim.address == address_of(resource)
        return is_there and _owns(claim, resource)

    async def _search(self, namespace: str, pulsar_namespace: str) -> FoundPolicy:
        naming, claims = await self._naming(namespace, pulsar_namespace)
        holding = [r for r, claim in zip(naming, claims, strict=True) if self._holds(claim, r)]
        if not holding:
            if naming:
                raise _not_in_force(naming[0], claims[0])
            message = f"no NamespaceSchemaPolicy in this Kubernetes namespace governs {pulsar_namespace}"
            raise WaitingError("PolicyNotFound", message)
        if len(holding) > 1:
            names = ", ".join(r.metadata.name for r in holding)
            raise WaitingError("PolicyNotFound", f"a topic can have one policy, but {names} govern {pulsar_namespace}")
        return self._remember(namespace, holding[0])


def policy_of(resource: NamespaceSchemaPolicy) -> Policy:
    """What the resource says of judging, in core's words; where it says nothing, what was seen at its broker."""
    spec, observed = resource.spec, resource.observed or _NOTHING_SEEN
    profile, limits, default = spec.broker_profile, spec.constraints, observed.broker or ObservedBroker()
    return Policy(
        strategy=_namespace_strategy(spec, observed),
        strictness=spec.strictness,
        profile=BrokerProfile(
            profile.line,
            default.schema_compatibility_strategy or profile.schema_compatibility_strategy or Strategy.FULL,
        ),
        constraints=Constraints(
            allowed_types=limits.allowed_types,
            allowed_strategies=limits.allowed_strategies,
            required_properties=limits.required_properties,
            max_schema_bytes=limits.max_schema_bytes,
        ),
    )


def _namespace_strategy(spec: NamespaceSchemaPolicySpec, observed: ObservedSettings) -> Strategy | None:
    """The strategy of the Pulsar namespace as it is, or will be once the controller has written it."""
    strategy = spec.schema_compatibility_strategy or observed.schema_compatibility_strategy
    if strategy is None or strategy is Strategy.UNDEFINED:
        return BY_AUTO_UPDATE_NAME.get(observed.schema_auto_update_compatibility_strategy or "", strategy)
    return strategy


def owner_of(resource: NamespaceSchemaPolicy) -> Owner:
    """The policy as the holder of a claim."""
    return Owner(resource.metadata.namespace, resource.metadata.name, resource.metadata.uid)


def address_of(resource: NamespaceSchemaPolicy) -> str:
    """Where the policy's broker is, "" where it names none."""
    return "" if resource.spec.pulsar is None else resource.spec.pulsar.address


def _claim_key(resource: NamespaceSchemaPolicy) -> PulsarNamespaceKey:
    return PulsarNamespaceKey.parse(resource.spec.pulsar_cluster, resource.spec.pulsar_namespace)


def _readable(wire: Mapping[str, Any]) -> NamespaceSchemaPolicy | None:
    # A policy that bypassed its CRD governs nothing; its own status tells why.
    try:
        resource = decode(NamespaceSchemaPolicy, wire)
        _claim_key(resource)
    except StalledError:
        return None
    return resource


def _names(resource: NamespaceSchemaPolicy, key: PulsarNamespaceKey) -> bool:
    return (resource.spec.pulsar_namespace, resource.spec.pulsar_cluster) == (key.pulsar_namespace, key.pulsar_cluster)


def _owns(claim: StoredClaim, resource: NamespaceSchemaPolicy) -> bool:
    return claim.owner == owner_of(resource) and resource.metadata.deletion_timestamp is None


def says_in_force(resource: NamespaceSchemaPolicy) -> bool:
    """Whether its status says that it is in force, and speaks of what it is now; its broker may be away."""
    return any(each.type is ConditionType.IN_SYNC for each in _current(resource)) or says_ready(resource)


def says_ready(resource: NamespaceSchemaPolicy) -> bool:
    """Whether its status says that all it sets is so, and speaks of what it is now."""
    return any(each.type is ConditionType.READY and each.status is ConditionStatus.TRUE for each in _current(resource))


def _current(resource: NamespaceSchemaPolicy) -> Iterator[Condition]:
    generation = resource.metadata.generation
    return (each for each in resource.status.conditions if each.observed_generation == generation)


def _unless_raised(outcome: T | BaseException) -> T:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _not_in_force(resource: NamespaceSchemaPolicy, claim: StoredClaim) -> TopicSchemaError:
    """Why a policy that names the Pulsar namespace does not govern it. Never names what is in another namespace."""
    name = f"policy {resource.metadata.name}"
    told = _own_reason(resource)
    if told is not None:
        return StalledError(told.reason, f"{name} is not in force: {told.message or told.reason}")
    here, owner = resource.metadata, claim.owner
    if owner == owner_of(resource):
        return ConflictError(f"{name} has not claimed {resource.spec.pulsar_namespace} at the broker that it names now")
    if owner is None or (owner.namespace, owner.name) == (here.namespace, here.name):
        return WaitingError("PolicyNotFound", f"{name} has not claimed {resource.spec.pulsar_namespace} yet", after=2.0)
    holder = f"policy {owner.name}" if owner.namespace == here.namespace else "another policy"
    return StalledError(
        "TopicAlreadyClaimed", f"{name} is not in force: {holder} already governs {resource.spec.pulsar_namespace}"
    )


def _own_reason(resource: NamespaceSchemaPolicy) -> Condition | None:
    for condition in _current(resource):
        is_no = condition.type is ConditionType.READY and condition.status is ConditionStatus.FALSE
        if is_no and condition.reason in _BLOCKING_REASONS:
            return condition
    return None
