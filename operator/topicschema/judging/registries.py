"""The SchemaRegistries that policies name, by the API server."""

from typing import Any, Protocol

from topicschema.api.kinds import SCHEMA_REGISTRY, Kind
from topicschema.api.registries import SchemaRegistry
from topicschema.api.wire import decode
from topicschema.cluster.errors import NotFoundError
from topicschema.core.errors import WaitingError
from topicschema.core.reasons import Reason


class RegistryNotFoundError(WaitingError):
    """A policy names a SchemaRegistry that does not exist."""

    def __init__(self, name: str) -> None:
        message = f"there is no SchemaRegistry {name}; the platform team creates it"
        super().__init__(Reason.REGISTRY_NOT_FOUND, message, after=60.0)


class RegistryReader(Protocol):
    """Read access to the API server."""

    async def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        """Return the object. Raise NotFoundError."""


class Registries:
    """The SchemaRegistries. If they are watched, each is read once, and again after `forget`."""

    def __init__(self, client: RegistryReader, *, are_watched: bool = False) -> None:
        self._client = client
        self._are_watched = are_watched
        self._cached: dict[str, SchemaRegistry] = {}
        self._changes = 0

    async def get(self, name: str) -> SchemaRegistry:
        """Return the registry. Raise RegistryNotFoundError, or StalledError(InvalidResource)."""
        cached, changes = self._cached.get(name), self._changes
        if cached is not None:
            return cached
        try:
            registry = decode(SchemaRegistry, await self._client.get(SCHEMA_REGISTRY, "", name))
        except NotFoundError:
            raise RegistryNotFoundError(name) from None
        if self._are_watched and changes == self._changes:  # it did not change while it was read
            self._cached[name] = registry
        return registry

    def forget(self, name: str) -> None:
        """Handle a change: the next call reads the registry again."""
        self._changes += 1
        self._cached.pop(name, None)
