"""The record of a topic: which versions it had, in order, and who may add to it. Values only; `storage` keeps them.

Numbering is Pulsar's: the first version of an incarnation is 0, every entry (a tombstone too) takes the next number.
What the broker looks at is what came after the newest tombstone.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from topicschema.core.remote import TopicSettings
from topicschema.core.schemas import AVRO_TEXTS, PulsarLine, Schema, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import TopicKey

MAX_VERSIONS = 10_000
"""The most entries of a history, tombstones too: so many of the longest lines fit into one object of etcd."""
WARNED_FROM = 9_000
"""The number of entries from which on the webhook warns that the history fills up."""
_MARK_LENGTH = 9


class Origin(StrEnum):
    """Where a version came from."""

    SPEC = "Spec"
    BROKER = "Broker"
    REGISTRY = "Registry"


class Counter(StrEnum):
    """Who gave the versions of an incarnation their numbers."""

    OPERATOR = "Operator"
    BROKER = "Broker"


class Flaw(StrEnum):
    """What keeps a broker from reading a version that it holds; it may have taken it as the first, or by force."""

    NONE = ""
    UNPARSABLE = "UNPARSABLE"
    INVALID_DEFAULT = "INVALID_DEFAULT"


@dataclass(frozen=True, slots=True)
class Owner:
    """The resource that holds a claim. The uid tells a resource from a later one of the same name."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """One version on record; `registered_at` is RFC 3339 UTC with seconds, `content_hash` is `SchemaInfo`'s.

    `source_mark` is that of the sources that it was last compiled from, empty where there are none. `line` is the one
    whose parser took it, or found the `flaw`; only of Avro's texts is it kept, as only they are read otherwise by
    another line. The fingerprint of what does not parse is that of its bytes.
    """

    schema_version: int
    type: SchemaType
    fingerprint: str
    content_hash: str
    origin: Origin
    registered_at: str
    is_tombstone: bool = False
    source_mark: str = ""
    line: PulsarLine = PulsarLine.V4_0
    flaw: Flaw = Flaw.NONE

    @property
    def sign(self) -> tuple[int, str]:
        """Its number and its content: by these it is the same version, whatever it was read as, and wherever."""
        return (self.schema_version, self.content_hash)


@dataclass(frozen=True, slots=True)
class TopicSettingsRecord:
    """The record of a topic's own settings at the broker, from before the first write.

    `found` are their values before the operator first wrote them, None if not set. `written` are the values that it
    last wrote, None if it never did, or restored what was found.
    """

    found: TopicSettings
    written: TopicSettings = field(default_factory=TopicSettings)

    @property
    def stays_written(self) -> TopicSettings:
        """What was written and is not what was found: None for each setting of which no trace is left."""
        strategy, enforces = self.written.strategy, self.written.enforces_validation
        return TopicSettings(
            strategy=None if strategy is (self.found.strategy or Strategy.UNDEFINED) else strategy,
            enforces_validation=None if enforces is bool(self.found.enforces_validation) else enforces,
        )


@dataclass(frozen=True, slots=True)
class History:
    """All versions of one topic in the current incarnation, oldest first, and the claim.

    `counted_by` is who gave them their numbers; where it is the broker, `uncounted` of the newest were registered here
    since then, while there was none. `topic_settings` is None until a setting of the topic is to be written, or one
    that others gave it was found there.
    """

    key: TopicKey
    claim: Owner | None = None
    incarnation: int = 0
    entries: tuple[VersionEntry, ...] = ()
    counted_by: Counter = Counter.OPERATOR
    topic_settings: TopicSettingsRecord | None = None
    uncounted: int = 0

    @property
    def latest(self) -> VersionEntry | None:
        """The newest version that counts: None when there is none, or the newest entry is a tombstone."""
        trimmed = self.trimmed
        return trimmed[-1] if trimmed else None

    @property
    def counted(self) -> tuple[VersionEntry, ...]:
        """The entries that a broker counted: what it must still have."""
        if self.counted_by is Counter.OPERATOR:
            return ()
        return self.entries[: len(self.entries) - self.uncounted]

    @property
    def next_version(self) -> int:
        """The number that the next entry takes."""
        return self.entries[-1].schema_version + 1 if self.entries else 0

    @property
    def room(self) -> int:
        """The number of entries that the history still takes; negative if it has more than it takes."""
        return MAX_VERSIONS - len(self.entries)

    @property
    def trimmed(self) -> Sequence[VersionEntry]:
        """The versions after the newest tombstone: all that compatibility and dedupe look at."""
        for index in range(len(self.entries) - 1, -1, -1):
            if self.entries[index].is_tombstone:
                return self.entries[index + 1 :]
        return self.entries

    @property
    def version_count(self) -> int:
        """How many versions there are, those before a tombstone too."""
        return sum(not each.is_tombstone for each in self.entries)

    def lacks(self, incarnation: int | None, count: int) -> bool:
        """Whether so many versions were seen that are not on record (any more): it is gone, or an older one is back.

        `incarnation` is the one they were seen in, None where that is not told.
        """
        if not self.entries or incarnation is None:
            return count > self.version_count
        return (incarnation, count) > (self.incarnation, self.version_count)

    def equal_to(self, fingerprint: str) -> VersionEntry | None:
        """The oldest counting version with that fingerprint: the one the broker would answer with."""
        return next((entry for entry in self.trimmed if entry.fingerprint == fingerprint), None)

    def unverified_for(self, line: PulsarLine, equal: VersionEntry | None) -> tuple[VersionEntry, ...]:
        """The counting versions, up to `equal`, that a broker of `line` parses to dedupe, and another line's took.

        It parses all that it holds of Avro's texts, whatever the strategy, and answers with an error where it cannot
        (SchemaRegistryServiceImpl.findSchemaVersion).
        """
        last = self.next_version if equal is None else equal.schema_version
        return tuple(
            each
            for each in self.trimmed
            if each.schema_version <= last and each.line is not line and each.type in AVRO_TEXTS
        )

    def flawed_by_another(self, line: PulsarLine) -> tuple[VersionEntry, ...]:
        """The counting versions with a flaw that another line's parser found: that of `line` may take them."""
        return tuple(
            each
            for each in self.trimmed
            if each.flaw is not Flaw.NONE and each.line is not line and each.type in AVRO_TEXTS
        )

    def names(self, entry: VersionEntry) -> bool:
        """Whether the version is on record, whatever it was read as."""
        return any(each.sign == entry.sign for each in self.entries)

    def compiled_from(self, source_hash: str) -> VersionEntry | None:
        """The oldest counting version that was compiled from these sources, by whichever compiler."""
        mark = source_mark(source_hash)
        return next((entry for entry in self.trimmed if entry.source_mark == mark), None)

    def with_version(
        self, schema: Schema, origin: Origin, registered_at: str, source_hash: str | None = None
    ) -> "History":
        """The history with `schema` as its next version, and the hash of the sources that it was compiled from."""
        entry = VersionEntry(
            schema_version=self.next_version,
            type=schema.info.type,
            fingerprint=schema.fingerprint,
            content_hash=schema.info.content_hash,
            origin=origin,
            registered_at=registered_at,
            source_mark="" if source_hash is None else source_mark(source_hash),
        )
        uncounted = self.uncounted + (self.counted_by is Counter.BROKER)
        return replace(self, entries=(*self.entries, entry), uncounted=uncounted)

    def parsed_by(self, line: PulsarLine) -> "History":
        """The history whose newest version that line's parser took."""
        newest = self.entries[-1]
        if newest.type not in AVRO_TEXTS:
            return self
        return replace(self, entries=(*self.entries[:-1], replace(newest, line=line)))

    def claimed_by(self, owner: Owner | None) -> "History":
        """The history with its claim given to `owner`, or to nobody."""
        return replace(self, claim=owner)

    def with_read(self, read: Sequence[VersionEntry]) -> "History":
        """The history with these entries in place of those of their numbers."""
        anew = {each.schema_version: each for each in read}
        return replace(self, entries=tuple(anew.get(each.schema_version, each) for each in self.entries))

    def with_source(self, schema_version: int, source_hash: str) -> "History":
        """The history in which the version of that number was compiled from these sources."""
        mark = source_mark(source_hash)
        entries = (
            replace(each, source_mark=mark) if each.schema_version == schema_version else each for each in self.entries
        )
        return replace(self, entries=tuple(entries))


def source_mark(source_hash: str) -> str:
    """So much of `sha256:...` over sources as a history has room for: 54 bits, in base64url (docs/decisions/0007)."""
    return base64.urlsafe_b64encode(bytes.fromhex(source_hash.removeprefix("sha256:")))[:_MARK_LENGTH].decode()
