"""Survey of the topics of an audit: their content and their current schemas at one moment.

The driver takes it once, with one request for the content of each topic. It fixes the end of the stream, and the tables
count only what it contains. Spark plans the stream in a process of its own, which reads the survey from a file.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from topicschema.core.errors import TopicSchemaError
from topicschema.core.schemas import PulsarVersion
from topicschema.core.topics import PulsarNamespaceKey, Topic, matches_glob
from topicschema.spark import planning
from topicschema.spark.errors import InvalidOptionError
from topicschema.spark.options import TopicSelection
from topicschema.spark.planning import SelectedPartition
from topicschema.spark.versions import rules_of
from topicschema.validation.errors import SourceError
from topicschema.validation.sources.pulsar.admin import Admin, TopicStats
from topicschema.validation.sources.pulsar.partitions import Partition, partitions
from topicschema.validation.sources.pulsar.ranges import EntryRange, Position

_NONE: Final = "-"
_MISSING: Final = "the topic does not exist"


@dataclass(frozen=True, slots=True)
class JudgingSchema:
    """Identity of the schema that judges a topic's messages. Two audits count together only what equal ones judged.

    `schema_version` is the topic's newest version, or None for a topic without a schema. `registered_at` distinguishes
    it from a version of the same number in another history. `attempt` increases each time that the topic is read again
    with the same schema: after another schema was current, or after an audit could not read the whole topic.
    """

    schema_version: int | None
    registered_at: str
    content_hash: str
    pulsar_version: str
    attempt: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the schema of `str`. Raises ValueError if the text has another form."""
        number, registered_at, content_hash, pulsar_version, attempt = text.split(" ")
        return cls(None if number == _NONE else int(number), registered_at, content_hash, pulsar_version, int(attempt))

    def __str__(self) -> str:
        """Return the members, separated by spaces."""
        number = _NONE if self.schema_version is None else self.schema_version
        return f"{number} {self.registered_at} {self.content_hash} {self.pulsar_version} {self.attempt}"


@dataclass(frozen=True, slots=True)
class SurveyedTopic:
    """A topic, by its full name. `error` is the reason why its content is unknown, or None.

    `is_compacted` is True if a compacted ledger has messages, which an audit does not read.
    """

    name: str
    candidate: JudgingSchema | None = None
    partitions: tuple[SelectedPartition, ...] = ()
    error: str | None = None

    @property
    def ledgers(self) -> frozenset[int]:
        """Ledgers that exist."""
        return frozenset(
            number for each in self.partitions if each.partition.stats for number in each.partition.stats.ledgers
        )

    @property
    def is_compacted(self) -> bool:
        """True if a compacted ledger of the topic has messages."""
        return any(each.partition.stats is not None and each.partition.stats.is_compacted for each in self.partitions)


@dataclass(frozen=True, slots=True)
class Survey:
    """Topics by name. Only messages of the hour of `since` and later count (milliseconds since 1970, or None)."""

    topics: tuple[SurveyedTopic, ...]
    since: int | None = None

    def write(self, path: Path) -> None:
        """Write the survey to a file, at once."""
        content = {"since": self.since, "topics": [_topic_members(each) for each in self.topics]}
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_text(json.dumps(content, separators=(",", ":")), encoding="ascii")
        temporary.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the survey in a file."""
        content = json.loads(path.read_text(encoding="ascii"))
        return cls(tuple(map(_topic_of, content["topics"])), content["since"])

    def continued(self, offset: Mapping[str, str], errors: Mapping[tuple[str, str], str | None]) -> Self:
        """Return the survey with the attempt of each topic: the last one if it continues, or else a new one.

        `offset` is that of the stream, and `errors` has the error, or None, of each topic and candidate with facts. An
        attempt continues if the schema has judged all partitions that were read, without an error.
        """
        used: dict[str, list[JudgingSchema]] = defaultdict(list)
        for name, candidate in errors:
            used[name].append(JudgingSchema.parse(candidate))
        topics = (_continued(each, offset, used[each.name], errors) for each in self.topics)
        return replace(self, topics=tuple(topics))


def namespaces(admin: Admin, globs: Iterable[str]) -> tuple[PulsarNamespaceKey, ...]:
    """Return the Pulsar namespaces that match `TENANT/NAMESPACE`, where NAMESPACE may have asterisks.

    Raises InvalidOptionError if one has another form or matches nothing, and SourceError if the broker does not answer.
    """
    keys: dict[str, PulsarNamespaceKey] = {}
    for glob in globs:
        tenant, _, pattern = glob.partition("/")
        if "*" in tenant:
            raise InvalidOptionError(f"option namespace: {glob!r}: the tenant has no asterisk")
        names = [glob]
        if "*" in pattern:
            names = [each for each in admin.namespaces(tenant) if matches_glob(glob, each)]
        if not names:
            raise InvalidOptionError(f"option namespace: no namespace matches {glob!r}")
        try:
            keys |= {name: PulsarNamespaceKey.parse("", name) for name in names}
        except TopicSchemaError as error:
            raise InvalidOptionError(f"option namespace: {error.message}") from None
    return tuple(keys[name] for name in sorted(keys))


def survey(admin: Admin, selection: TopicSelection, since: int | None) -> Survey:
    """Return the survey of the selected topics. A topic that the broker does not show has an error.

    Raises SourceError if the broker does not list topics, or does not answer at all.
    """
    rules = rules_of(admin)
    topics = []
    for topic, is_partitioned in planning.listed(admin, selection):
        try:
            topics.append(_surveyed(admin, topic, is_partitioned, rules))
        except SourceError as error:
            admin.release()  # if the broker is not there at all, no topic is to blame
            topics.append(SurveyedTopic(f"persistent://{topic}", error=error.message))
    return Survey(tuple(topics), since)


def _surveyed(admin: Admin, topic: Topic, is_partitioned: bool | None, rules: PulsarVersion) -> SurveyedTopic:  # noqa: FBT001  # None is unknown
    name = f"persistent://{topic}"
    count = 0 if is_partitioned is False else admin.partitions(topic)
    if count is None:
        return SurveyedTopic(name, error=_MISSING)
    parts = partitions(admin, topic, count)
    if not count and parts[0].stats is None:
        return SurveyedTopic(name, error=_MISSING)
    # After the content: no message of it has a newer version than this one.
    version = admin.schema(topic)
    if version is None:
        candidate = JudgingSchema(None, _NONE, _NONE, rules.value)
    else:
        candidate = JudgingSchema(version.schema_version, version.registered_at, version.info.content_hash, rules.value)
    return SurveyedTopic(name, candidate, tuple(SelectedPartition(topic, count > 0, each) for each in parts))


def _continued(
    topic: SurveyedTopic,
    offset: Mapping[str, str],
    used: Iterable[JudgingSchema],
    errors: Mapping[tuple[str, str], str | None],
) -> SurveyedTopic:
    if topic.candidate is None:
        return topic
    names = (each.partition.name for each in topic.partitions)
    last = {JudgingSchema.parse(offset[name].partition(" ")[2]) for name in names if name in offset}
    equal = [each for each in {*used, *last} if replace(each, attempt=0) == topic.candidate]
    if len(last) == 1 and last <= set(equal) and not any(errors.get((topic.name, str(each))) for each in last):
        return replace(topic, candidate=last.pop())
    attempt = max((each.attempt for each in equal), default=-1) + 1
    return replace(topic, candidate=replace(topic.candidate, attempt=attempt))


def _topic_members(topic: SurveyedTopic) -> Mapping[str, Any]:
    return {
        "name": topic.name,
        "candidate": None if topic.candidate is None else str(topic.candidate),
        "error": topic.error,
        "isPartitioned": any(each.is_partitioned for each in topic.partitions),
        "partitions": [_partition_members(each.partition) for each in topic.partitions],
    }


def _partition_members(partition: Partition) -> Mapping[str, Any]:
    stats = partition.stats
    members: dict[str, Any] = {"name": partition.name, "number": partition.number, "created": partition.created}
    if stats is not None:
        members["stats"] = {
            "known": [(each.ledger, each.first, each.entries) for each in stats.known],
            "ledgers": sorted(stats.ledgers),
            "last": str(stats.last),
            "bytes": stats.bytes,
            "isCompacted": stats.is_compacted,
        }
    return members


def _topic_of(members: Mapping[str, Any]) -> SurveyedTopic:
    candidate = members["candidate"]
    topic = planning.parsed(members["name"])
    all_partitions = tuple(
        SelectedPartition(topic, members["isPartitioned"], each) for each in map(_partition_of, members["partitions"])
    )
    schema = None if candidate is None else JudgingSchema.parse(candidate)
    return SurveyedTopic(members["name"], schema, all_partitions, members["error"])


def _partition_of(members: Mapping[str, Any]) -> Partition:
    name, stats = members["name"], members.get("stats")
    content = None
    if stats is not None:
        known = tuple(EntryRange(*each) for each in stats["known"])
        last, ledgers = Position.parse(stats["last"]), frozenset(stats["ledgers"])
        content = TopicStats(known, ledgers, last, {}, stats["bytes"], stats["isCompacted"])
    created = members["created"] or ""  # a topic that replaces this one has other ledgers: that is worth no request
    return Partition(planning.parsed(name), name, members["number"], content, created)


def surveyed_partitions(survey: Survey) -> Iterator[tuple[SelectedPartition, str]]:
    """Yield each partition with content, and the text of the schema that judges it."""
    for topic in survey.topics:
        for each in topic.partitions:
            if topic.candidate is not None and each.partition.stats is not None:
                yield each, str(topic.candidate)
