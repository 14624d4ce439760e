"""Derivation of the tables from the facts and the survey."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  # Spark's own name for it
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from topicschema.core.compatibility import Incompatibility
from topicschema.spark.audit.facts import OF_FILES
from topicschema.spark.audit.survey import SurveyedTopic
from topicschema.spark.audit.tables import DAY, EXAMPLES, TABLES, struct_of
from topicschema.spark.incompatibilities import members_of
from topicschema.validation.run.batches import NO_VERSION, UNREADABLE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_UNKNOWN: Final = "UNKNOWN_WRITER_VERSION"
_DELETED: Final = "the topic does not exist any more"
_LEDGER: Final = ("topic", "ledger")
_POSITION: Final = ("partition", "ledger", "entry", "batch_index")


@dataclass(slots=True)
class WriterFigures:
    """Retained messages of one topic and writer, by verdict. `first` and `last` are microseconds since 1970, or None.

    `unknown` of them have a version that the broker does not know.
    """

    readable: int
    losses: int
    unreadable: int
    bytes: int
    unknown: int
    first: int | None
    last: int | None

    @property
    def messages(self) -> int:
        """Number of messages."""
        return self.readable + self.losses + self.unreadable


@dataclass(slots=True)
class TopicFigures:
    """Figures of a topic: by writer (a schema version, or a negative number of `batches`), and what is missing."""

    writers: dict[int, WriterFigures] = field(default_factory=dict)
    removed: int = 0
    lost: int = 0

    @property
    def versions(self) -> list[int]:
        """Versions with messages that the broker knows, in order."""
        return sorted(number for number, each in self.writers.items() if number >= 0 and not each.unknown)


@dataclass(frozen=True, slots=True)
class AuditedTopic:
    """A topic of an audit. `candidate` is the text of the schema that judges it, and `error` why it was not read.

    `newest` is its newest version with its content hash, or None. `has_all` is True if all its retained messages were
    selected, so that versions without messages are not needed.
    """

    name: str
    candidate: str | None
    newest: tuple[int, str] | None
    ledgers: frozenset[int] | None
    has_all: bool
    error: str | None = None

    @classmethod
    def of(cls, topic: SurveyedTopic, since: int | None, error: str | None) -> "AuditedTopic":
        """Return a topic of the survey."""
        schema = topic.candidate
        newest = None
        if schema is not None and schema.schema_version is not None:
            newest = (schema.schema_version, schema.content_hash)
        has_all = since is None and not topic.is_compacted
        candidate = None if schema is None else str(schema)
        return cls(topic.name, candidate, newest, topic.ledgers, has_all, topic.error or error)


class RetainedFacts:
    """Facts of an audit's topics, of which those about retained messages count.

    `since` is the first hour that counts, in milliseconds since 1970, or None.
    """

    def __init__(
        self, session: "SparkSession", facts: "DataFrame", topics: Iterable[AuditedTopic], since: int | None
    ) -> None:
        self._session = session
        self._facts = facts
        self.topics = tuple(topics)
        self._current = facts.join(F.broadcast(self._candidates()), ["topic", "candidate"], "left_semi")
        known = self._current.where("ledger IS NOT NULL")
        present = F.broadcast(self._ledgers())
        of_files = facts.where(F.col("candidate") == OF_FILES)
        retained = known.join(present, list(_LEDGER), "left_semi").unionByName(of_files)
        self._removed = known.join(present, list(_LEDGER), "left_anti")
        if since is not None:
            retained = retained.where(f"hour IS NULL OR unix_millis(hour) >= {since}")
        self.retained = retained

    def _candidates(self) -> "DataFrame":
        rows = [(each.name, each.candidate) for each in self.topics if each.error is None and each.candidate]
        return self._frame({"topic": [name for name, _ in rows], "candidate": [text for _, text in rows]})

    def _ledgers(self) -> "DataFrame":
        chosen = [each for each in self.topics if each.error is None and each.candidate]
        rows = [(each.name, ledger) for each in chosen for ledger in sorted(each.ledgers or ())]
        return self._frame({"topic": [name for name, _ in rows]}, {"ledger": [ledger for _, ledger in rows]})

    def _frame(self, texts: Mapping[str, Any], numbers: Mapping[str, Any] | None = None) -> "DataFrame":
        arrays = {name: pa.array(list(values), pa.string()) for name, values in texts.items()}
        arrays |= {name: pa.array(list(values), pa.int64()) for name, values in (numbers or {}).items()}
        table = pa.table(arrays)  # Spark Connect cannot infer the types of an empty one
        return self._session.createDataFrame(table, from_arrow_schema(table.schema))

    def figures(self) -> Mapping[str, TopicFigures]:
        """Return the figures of each topic with facts, by one query each for what is retained, removed and lost."""
        figures: dict[str, TopicFigures] = {}
        counted = self.retained.groupBy("topic", "writer").agg(
            _sum("reason IS NULL").alias("readable"),
            _sum("tolerated").alias("losses"),
            _sum("NOT tolerated").alias("unreadable"),
            F.sum("bytes").alias("bytes"),
            _sum(f"writer >= 0 AND reason = '{_UNKNOWN}'").alias("unknown"),
            F.min(F.unix_micros("first")).alias("first"),
            F.max(F.unix_micros("last")).alias("last"),
        )
        for topic, writer, *values in counted.collect():
            figures.setdefault(topic, TopicFigures()).writers[writer] = WriterFigures(*values)
        for topic, messages in self._removed.groupBy("topic").agg(F.sum("messages")).collect():
            figures.setdefault(topic, TopicFigures()).removed = messages
        lost = self._current.where("lost_entries IS NOT NULL").groupBy("topic").agg(F.sum("lost_entries"))
        for topic, entries in lost.collect():
            figures.setdefault(topic, TopicFigures()).lost = entries
        return figures

    def deleted(self) -> list[AuditedTopic]:
        """Return the topics that earlier audits have read and that do not exist any more, by name."""
        known = {each.name for each in self.topics}
        names = {name for (name,) in self._facts.select("topic").distinct().collect()} - known
        return [AuditedTopic(name, None, None, None, has_all=False, error=_DELETED) for name in sorted(names)]

    def messages_by_version(self) -> "DataFrame":
        """Return the table `messages_by_version`."""
        counted = self.retained.groupBy("topic", _version().alias("schema_version"), "hour").agg(
            F.sum("messages").alias("messages"),
            F.sum("bytes").alias("bytes"),
            F.min("first").alias("first"),
            F.max("last").alias("last"),
        )
        return _table("messages_by_version", counted.withColumn(DAY, _day())).repartition(DAY)

    def bad_messages(self) -> "DataFrame":
        """Return the table `bad_messages`."""
        bad = self.retained.where("reason IS NOT NULL").withColumns(
            {"publish_time": F.col("first"), "schema_version": _version(), DAY: _day()}
        )
        return _table("bad_messages", bad).repartition(DAY, "topic")

    def findings(self, rules: Iterable["RuleFinding"]) -> "DataFrame":
        """Return the table `findings`: the reasons of messages, and the rules."""
        key = ["topic", "schema_version", "reason", "path", "tolerated"]
        bad = self.retained.where("reason IS NOT NULL").withColumn("schema_version", _version())
        counted = bad.groupBy(*key).agg(
            F.sum("messages").alias("messages"), F.min("first").alias("first"), F.max("last").alias("last")
        )
        from pyspark.sql import Window  # noqa: PLC0415  # Spark Connect replaces it

        ranked = bad.withColumn("rank", F.row_number().over(Window.partitionBy(*key).orderBy(*_POSITION)))
        examples = (
            ranked.where(f"rank <= {EXAMPLES}")
            .groupBy(*key)
            .agg(F.sort_array(F.collect_list(F.struct("rank", _id().alias("id")))).alias("ranked"))
            .select(*key, F.col("ranked.id").alias("examples"))
        )
        same = [F.col(f"counted.{name}").eqNullSafe(F.col(f"examples.{name}")) for name in key]
        joined = (
            counted.alias("counted").join(examples.alias("examples"), same).select("counted.*", "examples.examples")
        )
        empty = {name: F.lit(None) for name in ("rule", "direction", "message")}
        messages = _table("findings", joined.withColumns(empty))
        return messages.unionByName(frame(self._session, "findings", (each.row for each in rules)))


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A rule by which the current schema of a topic is incompatible with a version, and the version's messages."""

    topic: str
    schema_version: int
    finding: Incompatibility
    figures: WriterFigures

    @property
    def row(self) -> Mapping[str, Any]:
        """The row of the table `findings`."""
        return {
            "topic": self.topic,
            "schema_version": self.schema_version,
            **members_of(self.finding),
            "messages": self.figures.messages,
            "first": self.figures.first,
            "last": self.figures.last,
        }


def verdict_rows(topics: Iterable[AuditedTopic], figures: Mapping[str, TopicFigures]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the table `verdicts`, one for each topic that was read."""
    for topic in topics:
        if topic.error is None:
            writers = figures.get(topic.name, TopicFigures()).writers.values()
            number, content_hash = topic.newest or (None, None)
            yield {
                "topic": topic.name,
                "proposed_version": number,
                "proposed_hash": content_hash,
                "readable": sum(each.readable for each in writers),
                "losses": sum(each.losses for each in writers),
                "unreadable": sum(each.unreadable for each in writers),
            }


def topic_rows(topics: Iterable[AuditedTopic], figures: Mapping[str, TopicFigures]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the table `topics`."""
    for topic in topics:
        if topic.error is not None:
            yield {"topic": topic.name, "error": topic.error}
            continue
        known = figures.get(topic.name, TopicFigures())
        unknown = {number: each.unknown for number, each in known.writers.items() if each.unknown}
        without = known.writers.get(NO_VERSION)
        yield {
            "topic": topic.name,
            "version_in_use": None if topic.newest is None else topic.newest[0],
            "oldest_version": min(known.versions, default=None),
            "forgettable_versions": _forgettable(topic, known),
            "messages": sum(each.messages for each in known.writers.values()),
            "bytes": sum(each.bytes for each in known.writers.values()),
            "messages_without_version": 0 if without is None else without.messages,
            "unknown_versions": sorted(unknown),
            "messages_of_unknown_versions": sum(unknown.values()),
            "removed_messages": known.removed,
            "lost_entries": known.lost,
        }


def _forgettable(topic: AuditedTopic, figures: TopicFigures) -> list[int] | None:
    """Return the versions before the newest that no message has. Return None if messages may have any version."""
    if topic.newest is None:
        return []
    if not topic.has_all or figures.writers.keys() & UNREADABLE.keys():
        return None
    return [number for number in range(topic.newest[0]) if number not in figures.writers]


def frame(session: "SparkSession", name: str, rows: Iterable[Mapping[str, Any]]) -> "DataFrame":
    """Return rows as a DataFrame with the columns of a table. Times are microseconds since 1970."""
    schema = to_arrow_schema(struct_of(name), timezone="UTC")
    listed = list(rows)
    arrays = [pa.array([row.get(each.name) for row in listed], each.type) for each in schema]
    return session.createDataFrame(pa.Table.from_arrays(arrays, schema=schema), struct_of(name))


def _table(name: str, rows: "DataFrame") -> "DataFrame":
    return rows.select(*(F.col(column).cast(each.type).alias(column) for column, each in TABLES[name].items()))


def _sum(condition: str) -> "Column":
    """Return the number of messages for which the condition is true."""
    return F.coalesce(F.sum(F.when(F.expr(condition), F.col("messages"))), F.lit(0))


def _version() -> "Column":
    return F.when(F.col("writer") >= 0, F.col("writer"))


def _day() -> "Column":
    """Return the day of the hour in UTC, whatever the time zone of the session."""
    return F.expr("date_from_unix_date(CAST(unix_seconds(hour) DIV 86400 AS INT))")


def _id() -> "Column":
    return F.concat_ws(":", "ledger", "entry", "batch_index")
