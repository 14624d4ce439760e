"""Loader of the store that a setting names: a built-in one, or an entry point of the group `topicschema.storage`."""

from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, Protocol, cast

from topicschema.cluster.client import ApiClient
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import SchemaStorage

GROUP: Final = "topicschema.storage"
DEFAULT: Final = "kubernetes"
POSTGRESQL: Final = "postgresql"
_URL: Final = "TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL"
_BUILT_IN: Final = frozenset({DEFAULT, POSTGRESQL})


class UnusableStorageError(Exception):
    """A store that cannot be used. The message has the reason."""


@dataclass(frozen=True, slots=True)
class StorageUrl:
    """URL of a database: `text`, or the content of `file`, which may change while a process runs."""

    text: str = field(default="", repr=False)
    file: Path | None = None

    def read(self) -> str:
        """Return the current URL. Raises UnusableStorageError if there is none."""
        try:
            text = self.text or (self.file.read_text(encoding="utf-8").strip() if self.file else "")
        except (OSError, UnicodeDecodeError) as error:
            raise UnusableStorageError(f"the file with the URL of the database cannot be read: {error}") from None
        if not text:
            raise UnusableStorageError(f"set {_URL}, or {_URL}_FILE to a file with it")
        return text


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


def load(name: str, url: StorageUrl | None = None) -> StorageFactory:
    """Return the maker of the store of that name. Raises UnusableStorageError if it cannot be loaded.

    `url` is that of the database of the store `postgresql`.
    """
    if name == DEFAULT:
        return KubernetesStorage
    if name == POSTGRESQL:
        return _postgresql(url or StorageUrl())
    entries = entry_points(group=GROUP)
    if name not in entries.names:
        raise UnusableStorageError(f"there is no store {name!r}, but {', '.join(sorted({*_BUILT_IN, *entries.names}))}")
    try:
        factory = entries[name].load()
    except Exception as error:  # any error of foreign code means that the store cannot be used
        raise UnusableStorageError(f"the store {name!r} cannot be used: {type(error).__name__}: {error}") from error
    if not callable(factory):
        raise UnusableStorageError(f"the store {name!r} cannot be used: {entries[name].value} is not callable")
    return cast("StorageFactory", factory)


def _postgresql(url: StorageUrl) -> StorageFactory:
    try:
        module = import_module("topicschema.storage.postgresql.storage")
    except ModuleNotFoundError as error:
        raise UnusableStorageError(
            f"the store 'postgresql' needs the package {error.name}: pip install 'topicschema[postgresql]'"
        ) from None
    return cast("StorageFactory", module.factory(url))
