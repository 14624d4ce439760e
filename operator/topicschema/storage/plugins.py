"""Loader of another store: an entry point of the group `topicschema.storage`, which a setting names."""

from importlib.metadata import entry_points
from typing import Final, Protocol, cast

from topicschema.cluster.client import ApiClient
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import SchemaStorage

GROUP: Final = "topicschema.storage"
DEFAULT: Final = "kubernetes"


class UnusableStorageError(Exception):
    """A store that cannot be used. The message has the reason."""


class StorageFactory(Protocol):
    """Maker of a process's one store, which the process closes at its end.

    `client` is open. A store that does not write with it calls `client.fence()` before each write, which raises if this
    process does not lead. `namespace` is the operator's own, `identity` this process's name. `cache_bytes` bounds the
    payloads in memory.
    """

    def __call__(
        self, client: ApiClient, namespace: str, *, identity: str = "", cache_bytes: int = 64 << 20
    ) -> SchemaStorage:
        """Return the store."""


def load(name: str) -> StorageFactory:
    """Return the maker of the store of that name. Raises UnusableStorageError if it cannot be loaded."""
    if name == DEFAULT:
        return KubernetesStorage
    entries = entry_points(group=GROUP)
    if name not in entries.names:
        raise UnusableStorageError(f"there is no store {name!r}, but {', '.join(sorted({DEFAULT, *entries.names}))}")
    try:
        factory = entries[name].load()
    except Exception as error:  # any error of foreign code means that the store cannot be used
        raise UnusableStorageError(f"the store {name!r} cannot be used: {type(error).__name__}: {error}") from error
    if not callable(factory):
        raise UnusableStorageError(f"the store {name!r} cannot be used: {entries[name].value} is not callable")
    return cast("StorageFactory", factory)
