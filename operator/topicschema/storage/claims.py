"""Claims on Pulsar namespaces: one PulsarNamespaceClaim each names the policy that governs. Compare-and-swap only."""

import asyncio
import contextlib
from dataclasses import dataclass, replace

from topicschema.api import record
from topicschema.api.kinds import PULSAR_NAMESPACE_CLAIM
from topicschema.api.record import Claim
from topicschema.cluster.client import ApiClient, Object
from topicschema.cluster.errors import NotFoundError
from topicschema.core.errors import StalledError
from topicschema.core.history import Owner
from topicschema.core.remote import NamespaceSettings, Setting
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.storage import objects


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """A claim as it was read. `owner` is None if it is free, `revision` is "" if nothing is stored.

    `original` holds each setting of the Pulsar namespace before its first write, or None until then. `managed` lists
    the written settings. Both survive a change of the owner, because the operator is the writer in any case. `address`
    is the address of the owner's broker, "" without one.
    """

    key: PulsarNamespaceKey
    owner: Owner | None = None
    revision: str = ""
    original: NamespaceSettings | None = None
    managed: tuple[Setting, ...] = ()
    address: str = ""


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """Keys under which a Pulsar namespace was claimed. `are_all` is false if a claim cannot be read."""

    keys: tuple[PulsarNamespaceKey, ...]
    are_all: bool


class Claims:
    """Claims in the operator's own namespace. A caller that reads several of them before a write holds `turn`."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self.turn = asyncio.Lock()
        self._client = client
        self._namespace = namespace

    async def get_claim(self, key: PulsarNamespaceKey) -> StoredClaim:
        """Return the current claim. Raises StalledError(RecordDamaged) if it cannot be read."""
        try:
            wire = await self._client.get(PULSAR_NAMESPACE_CLAIM, self._namespace, key.claim_name)
        except NotFoundError:
            return StoredClaim(key)
        return _stored(key, wire)

    async def put_claim(self, stored: StoredClaim, owner: Owner | None, address: str = "") -> StoredClaim:
        """Assign the claim to `owner`, or free it. Raises ConflictError if it changed since `stored` was read."""
        return await self._put(stored, replace(stored, owner=owner, address=address))

    async def put_settings(
        self, stored: StoredClaim, original: NamespaceSettings, managed: tuple[Setting, ...]
    ) -> StoredClaim:
        """Store the original values and the managed settings.

        Raises ConflictError if the claim changed since it was read.

        Call it before the first write of a setting that is not in `stored.managed`.
        """
        return await self._put(stored, replace(stored, original=original, managed=managed))

    async def _put(self, stored: StoredClaim, desired: StoredClaim) -> StoredClaim:
        wire = record.claim_to_wire(
            desired.key,
            Claim(desired.owner, desired.original, desired.managed, desired.address),
            namespace=self._namespace,
            resource_version=stored.revision or None,
        )
        revision = await objects.swap(self._client, PULSAR_NAMESPACE_CLAIM, wire, stored.revision)
        return replace(desired, revision=revision)

    async def list_keys(self, pulsar_namespace: str) -> KnownKeys:
        """Return the keys under which `tenant/namespace` was ever claimed, one per Pulsar cluster."""
        listed = [_key_of(wire) for wire in await self._client.list(PULSAR_NAMESPACE_CLAIM, self._namespace)]
        keys = {key for key in listed if key is not None and key.pulsar_namespace == pulsar_namespace}
        return KnownKeys(tuple(sorted(keys, key=lambda key: key.pulsar_cluster)), are_all=None not in listed)

    async def list_held(self, pulsar_namespace: str, address: str) -> tuple[StoredClaim, ...]:
        """Return the held claims on `tenant/namespace` at that broker, under any Pulsar cluster.

        Damaged claims are left out.
        """
        claims = []
        for wire in await self._client.list(PULSAR_NAMESPACE_CLAIM, self._namespace):
            key = _key_of(wire)
            if key is not None and key.pulsar_namespace == pulsar_namespace:
                with contextlib.suppress(StalledError):
                    claims.append(_stored(key, wire))
        return tuple(each for each in claims if each.owner is not None and each.address == address)


def _stored(key: PulsarNamespaceKey, wire: Object) -> StoredClaim:
    claim = record.claim_from_wire(wire)
    return StoredClaim(key, claim.owner, objects.revision(wire), claim.original, claim.managed, claim.address)


def _key_of(wire: Object) -> PulsarNamespaceKey | None:
    """Return the key of a claim, or None if its name does not match its content."""
    spec = wire.get("spec") or {}
    try:
        key = PulsarNamespaceKey.parse(str(spec.get("pulsarCluster")), str(spec.get("pulsarNamespace")))
    except StalledError:
        return None
    return key if key.claim_name == wire["metadata"]["name"] else None
