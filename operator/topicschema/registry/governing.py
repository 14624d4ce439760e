"""The registry that a request names, and the policy that governs its Pulsar namespace."""

from dataclasses import dataclass
from typing import Final

from topicschema.api.kinds import SCHEMA_REGISTRY
from topicschema.cluster.client import ApiClient
from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.history import Owner
from topicschema.core.reasons import Reason
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.judging.clock import utc_now
from topicschema.judging.policies import ActivePolicy, PolicyResolver
from topicschema.registry.access import Cache
from topicschema.registry.answers import not_found
from topicschema.registry.requests import RequestPath
from topicschema.storage.protocol import SchemaStorage

DEFAULT_ANNOTATION: Final = "topicschema.io/is-default-registry"
"""On the SchemaRegistry that serves paths without a registry, if there are several: "true"."""
_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Governed:
    """A Pulsar namespace of a registry, and the policy that holds the claim on it, or None."""

    key: PulsarNamespaceKey
    holder: Owner | None

    def topic_key(self, topic: Topic) -> TopicKey:
        """Return the key of one of its topics."""
        return TopicKey(self.key.registry, topic)


class Governance:
    """Search for registries and policies. Their names are cached for seconds."""

    def __init__(self, client: ApiClient, storage: SchemaStorage) -> None:
        self._client = client
        self._storage = storage
        self._policies = PolicyResolver(client, storage, None)
        self._registries: Cache[dict[str, bool]] = Cache(_SECONDS)
        self._holders: Cache[Owner | None] = Cache(_SECONDS)

    async def find(self, target: RequestPath) -> Governed:
        """Return the Pulsar namespace that the target names. Raises RestError 404 if there is no such registry."""
        name = target.registry or _default(await self._registries.get("", self._list))
        if name not in await self._registries.get("", self._list):
            self._registries.forget("")  # a registry that was created now serves at once
            if name not in await self._registries.get("", self._list):
                raise not_found(f"there is no SchemaRegistry {name}")
        key = PulsarNamespaceKey(name, *target.parts[:2])
        holder = await self._holders.get(key, lambda: self._holder(key))
        if holder is None:
            self._holders.forget(key)  # a policy that is created now applies at once
        return Governed(key, holder)

    async def policy(self, governed: Governed, topic: Topic | None = None) -> ActivePolicy:
        """Return the policy of a governed Pulsar namespace, for one of its topics.

        Raises RestError 404 if none applies, and the errors of PolicyResolver if it cannot judge.
        """
        if governed.holder is None:
            raise not_found("Namespace does not exist")
        try:
            active = await self._policies.resolve(governed.holder.namespace, governed.key.pulsar_namespace)
        except (StalledError, WaitingError) as error:
            if error.reason is Reason.POLICY_NOT_FOUND:
                self._holders.forget(governed.key)
                raise not_found("Namespace does not exist") from None
            raise
        if active.resource.spec.registry != governed.key.registry:
            raise not_found("Namespace does not exist")
        return active if topic is None else active.for_topic(topic, utc_now())

    async def _list(self) -> dict[str, bool]:
        listed = [each["metadata"] for each in await self._client.list(SCHEMA_REGISTRY)]
        return {each["name"]: (each.get("annotations") or {}).get(DEFAULT_ANNOTATION) == "true" for each in listed}

    async def _holder(self, key: PulsarNamespaceKey) -> Owner | None:
        return (await self._storage.get_claim(key)).owner


def _default(registries: dict[str, bool]) -> str:
    marked = [name for name, is_marked in registries.items() if is_marked] or list(registries)
    if len(marked) != 1:
        what = f"{len(marked)} SchemaRegistries could be meant" if marked else "there is no SchemaRegistry"
        hint = f"name one (/NAME/admin/v2/...), or mark one with the annotation {DEFAULT_ANNOTATION}"
        raise not_found(f"{what}: {hint}")
    return marked[0]
