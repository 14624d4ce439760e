"""The history of a topic: its versions in order, and its owner. Only values; `storage` stores them.

The numbers are Pulsar's: the first version of an incarnation is 0, and every entry, also a tombstone, takes the next
number. The broker compares only with the versions after the newest tombstone.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from topicschema.core.remote import TopicSettings
from topicschema.core.schemas import AVRO_TEXTS, PulsarVersion, Schema, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import TopicKey

MAX_VERSIONS = 10_000
"""The maximum number of entries of a history, tombstones too. Every store has space for them."""
WARNED_FROM = 9_000
"""The number of entries from which on the webhook warns that the history fills up."""
MAX_DELETED = 1_000
"""The maximum number of deleted versions that are stored for comparisons."""
_MARK_LENGTH = 9


class Origin(StrEnum):
    """The origin of a version."""

    SPEC = "Spec"
    BROKER = "Broker"
    REGISTRY = "Registry"


class NumberedBy(StrEnum):
    """The component that numbered the versions of an incarnation."""

    OPERATOR = "Operator"
    BROKER = "Broker"


class Flaw(StrEnum):
    """The reason why a broker cannot read a version that it stores, for instance a first or a forced one."""

    NONE = ""
    UNPARSABLE = "UNPARSABLE"
    INVALID_DEFAULT = "INVALID_DEFAULT"


@dataclass(frozen=True, slots=True)
class Owner:
    """The resource that owns a claim. The uid distinguishes it from a later one of the same name."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """One version of the history. `registered_at` is RFC 3339 UTC with seconds, `content_hash` is `SchemaInfo`'s.

    `source_mark` is that of the sources that it was last compiled from, or empty. `pulsar_version` is the one whose
    parser accepted it or reported the `flaw`. It is stored only for Avro's texts, because only these may parse
    differently on another Pulsar version. The fingerprint of a text that does not parse is that of its bytes.
    """

    schema_version: int
    type: SchemaType
    fingerprint: str
    content_hash: str
    origin: Origin
    registered_at: str
    is_tombstone: bool = False
    source_mark: str = ""
    pulsar_version: PulsarVersion = PulsarVersion.V4_0
    flaw: Flaw = Flaw.NONE

    @property
    def identity(self) -> tuple[int, str]:
        """The number and the content hash: entries with the same identity are the same version."""
        return (self.schema_version, self.content_hash)


@dataclass(frozen=True, slots=True)
class StoredTopicSettings:
    """A topic's own settings at the broker, stored before the first write.

    `original` are their values before the operator first wrote them, None if not set. `written` are the values that it
    last wrote. They are None if it never wrote any, or restored the values of `original`.
    """

    original: TopicSettings
    written: TopicSettings = field(default_factory=TopicSettings)

    @property
    def stays_written(self) -> TopicSettings:
        """The written values that differ from `original`. A setting that is as before is None."""
        strategy, enforces = self.written.strategy, self.written.enforces_validation
        return TopicSettings(
            strategy=None if strategy is (self.original.strategy or Strategy.UNDEFINED) else strategy,
            enforces_validation=None if enforces is bool(self.original.enforces_validation) else enforces,
        )


@dataclass(frozen=True, slots=True)
class DeletedVersions:
    """The versions of an incarnation that its resource deleted (deletionPolicy: Delete), oldest first."""

    incarnation: int
    entries: tuple[VersionEntry, ...]


@dataclass(frozen=True, slots=True)
class History:
    """All versions of one topic in the current incarnation, oldest first, and the claim.

    `deleted` are versions of earlier incarnations that no client gets any more. They still count for compatibility.

    `numbered_by` is the component that numbered them. If it is the broker, the newest `unconfirmed` versions were
    registered since then without a broker. `topic_settings` is None until a setting of the topic is to be written, or
    the broker has one that another client set.
    """

    key: TopicKey
    claim: Owner | None = None
    incarnation: int = 0
    entries: tuple[VersionEntry, ...] = ()
    numbered_by: NumberedBy = NumberedBy.OPERATOR
    topic_settings: StoredTopicSettings | None = None
    unconfirmed: int = 0
    deleted: tuple[DeletedVersions, ...] = ()

    @property
    def latest(self) -> VersionEntry | None:
        """The newest version that counts, or None if there is none or the newest entry is a tombstone."""
        active = self.active_versions
        return active[-1] if active else None

    @property
    def confirmed(self) -> tuple[VersionEntry, ...]:
        """The entries that a broker numbered and must still have."""
        if self.numbered_by is NumberedBy.OPERATOR:
            return ()
        return self.entries[: len(self.entries) - self.unconfirmed]

    @property
    def next_version(self) -> int:
        """The number that the next entry takes."""
        return self.entries[-1].schema_version + 1 if self.entries else 0

    @property
    def remaining(self) -> int:
        """The number of entries that can still be added. It is negative if the history has too many."""
        return MAX_VERSIONS - len(self.entries) - sum(len(each.entries) for each in self.deleted)

    @property
    def active_versions(self) -> Sequence[VersionEntry]:
        """The versions after the newest tombstone: those that compatibility and dedupe compare."""
        for index in range(len(self.entries) - 1, -1, -1):
            if self.entries[index].is_tombstone:
                return self.entries[index + 1 :]
        return self.entries

    @property
    def version_count(self) -> int:
        """The number of versions, including those before a tombstone."""
        return sum(not each.is_tombstone for each in self.entries)

    def lacks(self, incarnation: int | None, count: int) -> bool:
        """Return True if `count` versions existed and some are missing now.

        The history is gone or an older one is back.

        `incarnation` is the one in which they were read, or None if unknown.
        """
        if not self.entries or incarnation is None:
            return count > self.version_count
        return (incarnation, count) > (self.incarnation, self.version_count)

    def equal_to(self, fingerprint: str) -> VersionEntry | None:
        """Return the oldest counting version with that fingerprint: the one that the broker would return."""
        return next((entry for entry in self.active_versions if entry.fingerprint == fingerprint), None)

    def unverified_for(self, pulsar_version: PulsarVersion, equal: VersionEntry | None) -> tuple[VersionEntry, ...]:
        """Return the counting versions up to `equal` that only another Pulsar version's parser accepted.

        To dedupe, a broker of `pulsar_version` parses all of Avro's texts that it stores, whatever the strategy. It
        returns an error if one does not parse (SchemaRegistryServiceImpl.findSchemaVersion).
        """
        last = self.next_version if equal is None else equal.schema_version
        return tuple(
            each
            for each in self.active_versions
            if each.schema_version <= last and each.pulsar_version is not pulsar_version and each.type in AVRO_TEXTS
        )

    def flawed_by_another(self, pulsar_version: PulsarVersion) -> tuple[VersionEntry, ...]:
        """Return the counting versions with a flaw from another parser than that of `pulsar_version`."""
        return tuple(
            each
            for each in self.active_versions
            if each.flaw is not Flaw.NONE and each.pulsar_version is not pulsar_version and each.type in AVRO_TEXTS
        )

    def names(self, entry: VersionEntry, incarnation: int) -> bool:
        """Return True if the version of that incarnation is in the history, however it was parsed."""
        blocks = (DeletedVersions(self.incarnation, self.entries), *self.deleted)
        entries = (each for block in blocks if block.incarnation == incarnation for each in block.entries)
        return any(each.identity == entry.identity for each in entries)

    def after_deletion(self) -> "History":
        """Return the history after its resource deleted it: a new incarnation without versions and without a claim.

        The newest of the deleted versions stay, for later comparisons.
        """
        blocks, available = list[DeletedVersions](), MAX_DELETED
        for each in (DeletedVersions(self.incarnation, tuple(self.active_versions)), *reversed(self.deleted)):
            retained = each.entries[max(0, len(each.entries) - available) :]
            available -= len(retained)
            blocks += [replace(each, entries=retained)] if retained else []
        return History(self.key, incarnation=self.incarnation + 1, deleted=tuple(reversed(blocks)))

    def compiled_from(self, source_hash: str) -> VersionEntry | None:
        """Return the oldest counting version that was compiled from these sources, by any compiler."""
        mark = source_mark(source_hash)
        return next((entry for entry in self.active_versions if entry.source_mark == mark), None)

    def with_version(
        self, schema: Schema, origin: Origin, registered_at: str, source_hash: str | None = None
    ) -> "History":
        """Return the history with `schema` as its next version, compiled from sources of that hash."""
        entry = VersionEntry(
            schema_version=self.next_version,
            type=schema.info.type,
            fingerprint=schema.fingerprint,
            content_hash=schema.info.content_hash,
            origin=origin,
            registered_at=registered_at,
            source_mark="" if source_hash is None else source_mark(source_hash),
        )
        unconfirmed = self.unconfirmed + (self.numbered_by is NumberedBy.BROKER)
        return replace(self, entries=(*self.entries, entry), unconfirmed=unconfirmed)

    def parsed_by(self, pulsar_version: PulsarVersion) -> "History":
        """Return the history with `pulsar_version` as the one whose parser accepted the newest version."""
        newest = self.entries[-1]
        if newest.type not in AVRO_TEXTS:
            return self
        return replace(self, entries=(*self.entries[:-1], replace(newest, pulsar_version=pulsar_version)))

    def claimed_by(self, owner: Owner | None) -> "History":
        """Return the history claimed by `owner`, or without a claim."""
        return replace(self, claim=owner)

    def with_read(self, read: Sequence[VersionEntry]) -> "History":
        """Return the history with these entries in place of those with the same numbers."""
        entries = {each.schema_version: each for each in read}
        return replace(self, entries=tuple(entries.get(each.schema_version, each) for each in self.entries))

    def with_source(self, schema_version: int, source_hash: str) -> "History":
        """Return the history with these sources as those of the version of that number."""
        mark = source_mark(source_hash)
        entries = (
            replace(each, source_mark=mark) if each.schema_version == schema_version else each for each in self.entries
        )
        return replace(self, entries=tuple(entries))


def source_mark(source_hash: str) -> str:
    """Return the part of `sha256:...` over sources that a history stores: 54 bits in base64url.

    See docs/decisions/0007.
    """
    return base64.urlsafe_b64encode(bytes.fromhex(source_hash.removeprefix("sha256:")))[:_MARK_LENGTH].decode()
