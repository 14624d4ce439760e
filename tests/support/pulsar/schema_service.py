"""What a Pulsar broker does with schemas, in memory: numbers, tombstones, dedupe, strategies. No wire here.

It stands for the real one in tests that need thousands of them, or a moment between two calls; tests/broker runs the
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
    """The broker answers with this status."""

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
    """The schemas of all topics of one namespace, and the settings that bear on them."""

    now: Callable[[], str]
    strategy: Strategy = Strategy.FULL
    entries: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    settings: dict[str, dict[str, object]] = field(default_factory=dict)
    """The topics that exist, each with its own settings."""

    def served(self, topic: str) -> tuple[RemoteVersion, ...]:
        """The versions after the newest tombstone, oldest first."""
        found: list[RemoteVersion] = []
        for entry in self.entries.get(topic, ()):
            if entry.info is None:
                found.clear()
            else:
                found.append(RemoteVersion(entry.number, entry.info, entry.at))
        return tuple(found)

    def index(self, topic: str) -> tuple[int, ...]:
        """All numbers, tombstones too."""
        return tuple(entry.number for entry in self.entries.get(topic, ()))

    def upload(self, topic: str, info: SchemaInfo) -> int:
        """The number of the schema, new or not, as putSchemaIfAbsent gives it."""
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
        """The number of the version with these very bytes, -1 where there is none."""
        alike = (each for each in self.served(topic) if (each.info.type, each.info.schema) == (info.type, info.schema))
        return next((each.schema_version for each in alike), -1)

    def soft_delete(self, topic: str) -> int:
        """A tombstone, whatever was there."""
        return self._append(topic, None)

    def force_delete(self, topic: str) -> None:
        """Nothing is left, as after the collection of an idle topic."""
        self.entries.pop(topic, None)

    def _append(self, topic: str, info: SchemaInfo | None) -> int:
        there = self.entries.get(topic, ())
        number = there[-1].number + 1 if there else 0
        self.entries[topic] = (*there, Entry(number, info, self.now()))
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


def _equal(candidate: Schema, there: SchemaInfo) -> bool:
    kind = candidate.info.type
    if kind not in AVRO_TEXTS or there.type not in AVRO_TEXTS:
        return (kind, candidate.info.schema) == (there.type, there.schema)
    parsed = _parsed(there, 500, validates=True)  # of another type, too: the broker parses before it compares types
    return kind is there.type and candidate.fingerprint == parsed.fingerprint
