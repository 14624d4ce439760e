"""The schema service of a Pulsar broker, in memory: numbers, tombstones, deduplication and strategies.

It replaces the real one in tests that need thousands of schemas, or an action between two calls. tests/broker runs the
same scenarios on a real one, and compares.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import AVRO_TEXTS, Schema, SchemaInfo
from topicschema.core.strategies import Strategy


class RefusedError(Exception):
    """The broker responds with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class Entry:
    """One number of a topic; `info` is None for a tombstone."""

    number: int
    info: SchemaInfo | None
    at: str


@dataclass(slots=True)
class PulsarSchemas:
    """The schemas of all topics of one namespace, and the settings that concern them."""

    now: Callable[[], str]
    strategy: Strategy = Strategy.FULL
    entries: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    settings: dict[str, dict[str, object]] = field(default_factory=dict)
    """The topics that exist, each with its own settings."""

    def served(self, topic: str) -> tuple[RemoteVersion, ...]:
        """Return the versions after the newest tombstone, oldest first."""
        versions: list[RemoteVersion] = []
        for entry in self.entries.get(topic, ()):
            if entry.info is None:
                versions.clear()
            else:
                versions.append(RemoteVersion(entry.number, entry.info, entry.at))
        return tuple(versions)

    def index(self, topic: str) -> tuple[int, ...]:
        """Return all numbers, including those of tombstones."""
        return tuple(entry.number for entry in self.entries.get(topic, ()))

    def upload(self, topic: str, info: SchemaInfo) -> int:
        """Store the schema unless it is there and return its number, as putSchemaIfAbsent does."""
        served = self.served(topic)
        candidate = _parsed(info, 422, validates=False)
        if served and info.type in AVRO_TEXTS:
            candidate = _parsed(info, 500, validates=True)
        for version in served:
            if _equal(candidate, version.info):
                return version.schema_version
        if served:
            self._check(topic, candidate, served)
        return self._append(topic, info)

    def number_of(self, topic: str, info: SchemaInfo) -> int:
        """Return the number of the version with the same bytes, -1 if there is none."""
        alike = (each for each in self.served(topic) if (each.info.type, each.info.schema) == (info.type, info.schema))
        return next((each.schema_version for each in alike), -1)

    def soft_delete(self, topic: str) -> int:
        """Append a tombstone and return its number."""
        return self._append(topic, None)

    def force_delete(self, topic: str) -> None:
        """Delete everything, as the collection of an idle topic does."""
        self.entries.pop(topic, None)

    def _append(self, topic: str, info: SchemaInfo | None) -> int:
        entries = self.entries.get(topic, ())
        number = entries[-1].number + 1 if entries else 0
        self.entries[topic] = (*entries, Entry(number, info, self.now()))
        return number

    def _check(self, topic: str, candidate: Schema, served: tuple[RemoteVersion, ...]) -> None:
        own = self.settings.get(topic, {}).get("strategy")
        strategy = own if isinstance(own, Strategy) else self.strategy
        considered = served if strategy.is_transitive else served[-1:]
        predecessors = [_predecessor(version, strategy, candidate) for version in considered]
        if compatibility.check(candidate, predecessors, strategy):
            raise RefusedError(409)


def _predecessor(version: RemoteVersion, strategy: Strategy, candidate: Schema) -> Predecessor:
    kind = version.info.type
    is_needed = compatibility.is_payload_needed(strategy, candidate.info.type, kind)
    return Predecessor(version.schema_version, kind, _parsed(version.info, 500, validates=False) if is_needed else None)


def _parsed(info: SchemaInfo, status: int, *, validates: bool) -> Schema:
    try:
        return formats.parse(info, validate_defaults=validates)
    except InvalidSchemaError:
        raise RefusedError(status) from None


def _equal(candidate: Schema, stored: SchemaInfo) -> bool:
    kind = candidate.info.type
    if kind not in AVRO_TEXTS or stored.type not in AVRO_TEXTS:
        return (kind, candidate.info.schema) == (stored.type, stored.schema)
    parsed = _parsed(stored, 500, validates=True)  # also of another type: the broker parses before it compares types
    return kind is stored.type and candidate.fingerprint == parsed.fingerprint
