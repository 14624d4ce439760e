"""Which policy governs a Pulsar namespace: one PulsarNamespaceClaim each, changed by compare-and-swap only."""

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
    """A claim as it was read; `owner` None when it is free, `revision` "" when nothing is stored.

    `found` is what each setting of the Pulsar namespace was before it was first written, None until then; `managed` are
    those that were. They stay when the claim passes on: whoever governs, it is the operator that wrote. `address` is
    where the owner's broker is, "" without one.
    """

    key: PulsarNamespaceKey
    owner: Owner | None = None
    revision: str = ""
    found: NamespaceSettings | None = None
    managed: tuple[Setting, ...] = ()
    address: str = ""


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """Keys under which a Pulsar namespace was claimed; `are_all` is false where a claim cannot be read."""

    keys: tuple[PulsarNamespaceKey, ...]
    are_all: bool


class Claims:
    """The claims in the operator's own namespace. Who looks at several of them before a write takes `turn`."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self.turn = asyncio.Lock()
        self._client = client
        self._namespace = namespace

    async def get_claim(self, key: PulsarNamespaceKey) -> StoredClaim:
        """The claim as it stands now; StalledError(RecordDamaged) when it cannot be read."""
        try:
            wire = await self._client.get(PULSAR_NAMESPACE_CLAIM, self._namespace, key.claim_name)
        except NotFoundError:
            return StoredClaim(key)
        return _stored(key, wire)

    async def put_claim(self, stored: StoredClaim, owner: Owner | None, address: str = "") -> StoredClaim:
        """The claim after it was given to `owner`, or freed; ConflictError when it moved since `stored` was read."""
        return await self._put(stored, replace(stored, owner=owner, address=address))

    async def put_settings(
        self, stored: StoredClaim, found: NamespaceSettings, managed: tuple[Setting, ...]
    ) -> StoredClaim:
        """The claim that tells what was found and what is written; ConflictError when it moved since `stored` was read.

        Call it before the first write of a setting that is not in `stored.managed`.
        """
        return await self._put(stored, replace(stored, found=found, managed=managed))

    async def _put(self, stored: StoredClaim, wanted: StoredClaim) -> StoredClaim:
        wire = record.claim_to_wire(
            wanted.key,
            Claim(wanted.owner, wanted.found, wanted.managed, wanted.address),
            namespace=self._namespace,
            resource_version=stored.revision or None,
        )
        revision = await objects.swap(self._client, PULSAR_NAMESPACE_CLAIM, wire, stored.revision)
        return replace(wanted, revision=revision)

    async def list_keys(self, pulsar_namespace: str) -> KnownKeys:
        """Under which keys, one per Pulsar cluster, `tenant/namespace` was ever claimed, as far as can be read."""
        listed = [_key_of(wire) for wire in await self._client.list(PULSAR_NAMESPACE_CLAIM, self._namespace)]
        keys = {key for key in listed if key is not None and key.pulsar_namespace == pulsar_namespace}
        return KnownKeys(tuple(sorted(keys, key=lambda key: key.pulsar_cluster)), are_all=None not in listed)

    async def list_held(self, pulsar_namespace: str, address: str) -> tuple[StoredClaim, ...]:
        """The claims on `tenant/namespace` at the broker there, for whatever Pulsar cluster; damaged ones left out."""
        found = []
        for wire in await self._client.list(PULSAR_NAMESPACE_CLAIM, self._namespace):
            key = _key_of(wire)
            if key is not None and key.pulsar_namespace == pulsar_namespace:
                with contextlib.suppress(StalledError):
                    found.append(_stored(key, wire))
        return tuple(each for each in found if each.owner is not None and each.address == address)


def _stored(key: PulsarNamespaceKey, wire: Object) -> StoredClaim:
    claim = record.claim_from_wire(wire)
    return StoredClaim(key, claim.owner, objects.revision(wire), claim.found, claim.managed, claim.address)


def _key_of(wire: Object) -> PulsarNamespaceKey | None:
    """The key of a claim; None where its name does not belong to what it says."""
    spec = wire.get("spec") or {}
    try:
        key = PulsarNamespaceKey.parse(str(spec.get("pulsarCluster")), str(spec.get("pulsarNamespace")))
    except StalledError:
        return None
    return key if key.claim_name == wire["metadata"]["name"] else None
