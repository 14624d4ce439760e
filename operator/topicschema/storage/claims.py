"""Which policy governs a Pulsar namespace: one PulsarNamespaceClaim each, changed by compare-and-swap only."""

from dataclasses import dataclass

from topicschema.api import record
from topicschema.api.kinds import PULSAR_NAMESPACE_CLAIM
from topicschema.cluster.client import ApiClient, Object
from topicschema.cluster.errors import NotFoundError
from topicschema.core.history import Owner
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.storage import objects


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """A claim as it was read; `owner` None when it is free, `revision` "" when nothing is stored."""

    key: PulsarNamespaceKey
    owner: Owner | None = None
    revision: str = ""


class Claims:
    """The claims in the operator's own namespace."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def get_claim(self, key: PulsarNamespaceKey) -> StoredClaim:
        """The claim as it stands now; StalledError(RecordDamaged) when it cannot be read."""
        try:
            wire = await self._client.get(PULSAR_NAMESPACE_CLAIM, self._namespace, key.claim_name)
        except NotFoundError:
            return StoredClaim(key)
        return StoredClaim(key, record.claim_from_wire(wire), objects.revision(wire))

    async def put_claim(self, stored: StoredClaim, owner: Owner | None) -> StoredClaim:
        """The claim after it was given to `owner`, or freed; ConflictError when it moved since `stored` was read."""
        revision = stored.revision or None
        wire = record.claim_to_wire(stored.key, owner, namespace=self._namespace, resource_version=revision)
        return StoredClaim(
            stored.key, owner, await objects.swap(self._client, PULSAR_NAMESPACE_CLAIM, wire, stored.revision)
        )

    async def list_keys(self, pulsar_namespace: str) -> tuple[PulsarNamespaceKey, ...]:
        """The keys, one per Pulsar cluster, under which `tenant/namespace` was ever claimed."""
        listed = await self._client.list(PULSAR_NAMESPACE_CLAIM, self._namespace)
        clusters = {(wire.get("spec") or {}).get("pulsarCluster") for wire in listed if _is_of(wire, pulsar_namespace)}
        return tuple(PulsarNamespaceKey.parse(cluster, pulsar_namespace) for cluster in sorted(filter(None, clusters)))


def _is_of(wire: Object, pulsar_namespace: str) -> bool:
    return (wire.get("spec") or {}).get("pulsarNamespace") == pulsar_namespace
