"""Validity of claims on topics and Pulsar namespaces, for the webhook and the controller.

A claim is valid while its holder exists, is not being deleted, and the registry allows its Kubernetes namespace to
govern the Pulsar namespace.
"""

from typing import Any

from topicschema.api import FINALIZER
from topicschema.api.kinds import NAMESPACE, NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA, Kind
from topicschema.api.metadata import Metadata
from topicschema.api.registries import SchemaRegistry
from topicschema.api.wire import decode
from topicschema.cluster.errors import NotFoundError
from topicschema.core.history import Owner
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.judging.policies import ObjectReader
from topicschema.judging.registries import Registries, RegistryNotFoundError


async def may_govern(client: ObjectReader, registry: SchemaRegistry, namespace: str, pulsar_namespace: str) -> bool:
    """Return True if the registry allows the Kubernetes namespace to govern the Pulsar namespace.

    The namespace is read only if the registry selects by labels.
    """
    if not registry.selects_by_labels:
        return registry.allows(namespace, {}, pulsar_namespace)
    try:
        wire = await client.get(NAMESPACE, "", namespace)
    except NotFoundError:
        return False
    return registry.allows(namespace, decode(Metadata, wire.get("metadata")).labels, pulsar_namespace)


async def holds_namespace(client: ObjectReader, registries: Registries, holder: Owner, key: PulsarNamespaceKey) -> bool:
    """Return True if the policy `holder` still has a valid claim `key`. A registry that is gone gives none."""
    try:
        registry = await registries.get(key.registry)
    except RegistryNotFoundError:
        return False
    metadata = await _metadata(client, NAMESPACE_SCHEMA_POLICY, holder)
    if metadata is None or metadata.deletion_timestamp is not None:
        return False
    return await may_govern(client, registry, holder.namespace, key.pulsar_namespace)


async def other_holder(client: ObjectReader, claim: Owner | None, owner: Owner) -> Owner | None:
    """Return the other TopicSchema that holds the topic by `claim` of its history, or None.

    The policy is in the namespace of `owner`. A TopicSchema that is being deleted holds the topic until the operator
    removes its finalizer.
    """
    if claim is None or claim == owner or claim.namespace != owner.namespace:
        return None
    metadata = await _metadata(client, TOPIC_SCHEMA, claim)
    if metadata is None or (metadata.deletion_timestamp is not None and FINALIZER not in metadata.finalizers):
        return None
    return claim


async def _metadata(client: ObjectReader, kind: Kind, holder: Owner) -> Metadata | None:
    """Return the holder's metadata, or None if it is deleted. A resource with another UID is not the holder."""
    try:
        wire: dict[str, Any] = await client.get(kind, holder.namespace, holder.name)
    except NotFoundError:
        return None
    metadata = decode(Metadata, wire.get("metadata"))
    return metadata if metadata.uid == holder.uid else None
