"""The claim on a Pulsar namespace: one policy in the Kubernetes cluster holds it, by compare-and-swap.

The claim has the broker's address. Of two policies that use two registries for one broker, the first one governs.
A claim is free if its holder is not valid any more (`judging.holders`).
"""

from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.core.errors import StalledError
from topicschema.core.history import Owner
from topicschema.core.reasons import Reason
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.judging.holders import holds_namespace, may_govern
from topicschema.judging.policies import owner_of
from topicschema.reconcile.context import ReconcileContext
from topicschema.storage.protocol import StoredClaim


async def acquire_claim(
    ctx: ReconcileContext, resource: NamespaceSchemaPolicy, registry: SchemaRegistry, key: PulsarNamespaceKey
) -> StoredClaim:
    """Return the policy's claim; acquire it if it is free, and enqueue the keys that a change of holder affects.

    Raise StalledError(ClaimNotAllowed, TopicAlreadyClaimed) if the policy may not have the claim.
    """
    stored, me, address = await ctx.storage.get_claim(key), owner_of(resource), registry.address
    if not await may_govern(ctx.client, registry, me.namespace, key.pulsar_namespace):
        if stored.owner == me:
            await _transfer(ctx, key, stored, None)
        raise StalledError(
            Reason.CLAIM_NOT_ALLOWED,
            f"registry {key.registry} does not allow namespace {me.namespace} to govern {key.pulsar_namespace}: the "
            "platform team adds both to its spec.allowedNamespaces",
        )
    if stored.owner == me and stored.address == address:
        return stored
    if stored.owner not in (None, me) and await holds_namespace(ctx.client, ctx.registries, stored.owner, key):
        holder = f"policy {stored.owner.name}" if stored.owner.namespace == me.namespace else "another policy"
        raise StalledError(Reason.TOPIC_ALREADY_CLAIMED, f"{holder} already governs {key.pulsar_namespace}")
    if stored.owner != me:
        await _refuse_second(ctx, me, key)
    async with ctx.claiming:
        if address and await _is_governed_there(ctx, key, address):
            if stored.owner == me:
                await _transfer(ctx, key, stored, None)
            raise StalledError(
                Reason.TOPIC_ALREADY_CLAIMED, f"another policy already governs {key.pulsar_namespace} at this broker"
            )
        return await _transfer(ctx, key, stored, me, address)


async def _is_governed_there(ctx: ReconcileContext, key: PulsarNamespaceKey, address: str) -> bool:
    """Return True if a policy governs the Pulsar namespace at that broker by another registry.

    Two such policies would overwrite each other's settings, and both would have histories of the same topics.
    """
    for held in (await ctx.storage.list_claims(key.pulsar_namespace)).held_at(address):
        if (
            held.key != key
            and held.owner is not None
            and await holds_namespace(ctx.client, ctx.registries, held.owner, held.key)
        ):
            return True
    return False


async def _refuse_second(ctx: ReconcileContext, me: Owner, key: PulsarNamespaceKey) -> None:
    """Raise StalledError(TopicAlreadyClaimed) if another policy of the namespace claims the same Pulsar namespace name.

    A topic can have one policy. With two, of two registries, neither would apply.
    """
    holder = await ctx.policies.find_holder(me.namespace, key.pulsar_namespace)
    if holder is not None:
        message = f"policy {holder.metadata.name} already governs {key.pulsar_namespace} here, in another registry"
        raise StalledError(Reason.TOPIC_ALREADY_CLAIMED, message)


async def _transfer(
    ctx: ReconcileContext, key: PulsarNamespaceKey, stored: StoredClaim, owner: Owner | None, address: str = ""
) -> StoredClaim:
    try:
        return await ctx.storage.put_claim(stored, owner, address)
    finally:  # a write without an answer may have succeeded
        _enqueue_touched(ctx, key, stored.owner, owner)


def _enqueue_touched(ctx: ReconcileContext, key: PulsarNamespaceKey, before: Owner | None, owner: Owner | None) -> None:
    touched = {holder.namespace for holder in (before, owner) if holder is not None}
    for namespace in touched:
        for topic in ctx.index.governed_topics(namespace, key.pulsar_namespace):
            ctx.enqueue(topic, 0.0)
    for rival in ctx.index.policies_of_pulsar_namespace(key.pulsar_namespace):
        if owner is None or (rival.namespace, rival.name) != (owner.namespace, owner.name):
            ctx.enqueue(rival, 0.0)
