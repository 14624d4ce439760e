"""Audit of Pulsar namespaces or of files as one Spark application: survey, stream of facts, tables."""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions

from topicschema import __version__
from topicschema.core.schemas import NEWEST, PulsarVersion, SchemaInfo
from topicschema.spark import columns, planning
from topicschema.spark.audit import derivation, facts
from topicschema.spark.audit.derivation import AuditedTopic, RetainedFacts, RuleFinding, TopicFigures, WriterFigures
from topicschema.spark.audit.folder import AuditFolder
from topicschema.spark.audit.survey import Survey, namespaces, survey
from topicschema.spark.audit.tables import DAY, struct_of
from topicschema.spark.errors import InvalidOptionError
from topicschema.spark.files import FileOptions
from topicschema.spark.incompatibilities import CURRENT, ProposedStrategy
from topicschema.spark.options import ReadOptions, items_of
from topicschema.spark.versions import TopicVersions
from topicschema.validation.errors import RunError, SourceError
from topicschema.validation.sources.pulsar.admin import Admin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

PARQUET: Final = "parquet"
_HOUR: Final = 3_600_000
_NOT_OF_AUDITS: Final = frozenset({"until", "columns", "failondataloss"})
_OF_FILES: Final = frozenset({"parquet", "orc", "json", "csv", "avro"})
"""Formats of Spark whose tables are folders of files."""
_MAX_CAUSE: Final = 500
_PY4J: Final = "An error occurred while calling "


@dataclass(frozen=True, slots=True)
class AuditResult:
    """Result of an audit. `tables` is the folder with a folder for each table, in the format of the audit, for Spark.

    `messages` are all retained messages that were judged, and `bad` those with a fault. `unread` are topics that could
    not be read, with the reason. `is_continued` is False if the audit read all messages, and not only new ones.
    """

    tables: str
    topics: int
    messages: int
    bad: int
    unread: Mapping[str, str]
    is_continued: bool


class VersionSource(Protocol):
    """Schema versions of an audit's topics."""

    @property
    def pulsar_version(self) -> PulsarVersion:
        """Pulsar version whose rules apply."""

    def info(self, topic: str, number: int) -> SchemaInfo:
        """Return a version of a topic. Raises SourceError if it cannot be read or does not exist any more."""


def audit(
    session: "SparkSession",
    options: Mapping[str, str],
    output: Path | str,
    *,
    proposed: str = CURRENT,
    table_format: str = PARQUET,
) -> AuditResult:
    """Audit the selected topics or files, and write the tables into `output`, a folder that all of Spark shares.

    `output` is a path, or a URI `s3://BUCKET/PATH`, for which Spark needs Hadoop's S3A.

    `options` are those of `pulsar-messages`, where `namespace` may have asterisks after the slash, or those of
    `pulsar-verdicts` for files. `proposed` is `current`, `strict` or the name of a strategy. `table_format` is a format
    of the session. docs/audit.md describes the options and the tables.

    A later audit with the same options and folder reads only new messages. A topic that cannot be read is a row in the
    table `topics`, and does not stop the audit. Raises InvalidOptionError for wrong options, SourceError if the broker
    or a file cannot be read at all, and RunError if Spark fails. Then the tables remain as they were.
    """
    strategy = ProposedStrategy.parse(proposed)
    session.dataSource.register(facts.PulsarFacts)
    folder = AuditFolder.create(output)
    with folder.locked(), _spark_errors():
        if any(name.lower() == "files" for name in options):
            return _of_files(session, options, folder).written(folder, strategy, table_format)
        topics = TopicAudit(session, options, folder)
        is_continued = folder.demand_stream(topics.identity) and folder.has_facts
        with Admin(topics.options.pulsar) as admin:
            taken = topics.survey(admin)
        with TemporaryDirectory() as local:
            taken.write(survey_file := Path(local, "survey.json"))
            topics.stream(survey_file)
        with Admin(topics.options.pulsar) as admin:  # again: a token may have been replaced meanwhile
            result = topics.read(taken, admin).written(folder, strategy, table_format)
        return replace(result, is_continued=is_continued)


def read_table(session: "SparkSession", output: Path | str, name: str, table_format: str = PARQUET) -> "DataFrame":
    """Return a table of the last complete audit in the folder `output`, as in `audit`.

    Raises InvalidOptionError if there is none.
    """
    tables = AuditFolder.create(output).tables()  # an audit may replace them before a query ends
    if tables is None:
        raise InvalidOptionError(f"output {output}: no audit has been completed there")
    reader = session.read.format(table_format)
    if table_format.lower() in _OF_FILES:  # a table without rows has no file that has the columns
        reader = reader.schema(struct_of(name))
    return reader.load(f"{tables}/{name}")


def worst_findings(session: "SparkSession", output: Path | str, count: int, table_format: str = PARQUET) -> list["Row"]:
    """Return the first rows of the table `findings`, those of the most messages first."""
    findings = read_table(session, output, "findings", table_format)
    order = (findings.messages.desc(), "topic", "schema_version", "rule", "reason", "path", "direction")
    return findings.orderBy(*order).limit(count).collect()


@contextmanager
def _spark_errors() -> Iterator[None]:
    """Raise RunError for an error of Spark, with the error of a Python process if there is one."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise RunError(f"Spark failed: {cause_of(str(error))}") from error


def cause_of(text: str) -> str:
    """Return the line of Spark's error that has the cause: the last one of a traceback, or the first one."""
    lines = [each.strip(" :") for each in text.splitlines() if each.strip() and not each.startswith(_PY4J)]
    ours = [each for each in lines if each.startswith("topicschema.")]
    chosen = ours[-1].partition(": ")[2] if ours else lines[0] if lines else "without a message"
    return chosen[:_MAX_CAUSE]


@dataclass(frozen=True, slots=True)
class ReadTopics:
    """Facts and topics that an audit has read.

    Only facts from the hour `since` on count, in milliseconds since 1970.
    """

    session: "SparkSession"
    facts: "DataFrame"
    topics: tuple[AuditedTopic, ...]
    versions: VersionSource
    since: int | None = None

    def written(self, folder: AuditFolder, strategy: ProposedStrategy, table_format: str) -> AuditResult:
        """Write the tables, and return the result."""
        retained = RetainedFacts(self.session, self.facts, self.topics, self.since)
        figures = retained.figures()
        rules, errors = self._rules(strategy, figures)
        topics = [replace(each, error=each.error or errors.get(each.name)) for each in self.topics]
        if errors:
            retained = RetainedFacts(self.session, self.facts, topics, self.since)
        topics += retained.deleted()
        unread = {each.name: each.error for each in topics if each.error is not None}
        writers = [each for name, known in figures.items() if name not in unread for each in known.writers.values()]
        messages = sum(each.messages for each in writers)
        bad = messages - sum(each.readable for each in writers)
        with folder.replacing_tables() as tables:
            for name, rows, is_partitioned in (
                ("messages_by_version", retained.messages_by_version(), messages > 0),
                ("findings", retained.findings(rules), False),
                ("bad_messages", retained.bad_messages(), bad > 0),
                ("verdicts", self._frame("verdicts", derivation.verdict_rows(topics, figures)), False),
                ("topics", self._frame("topics", derivation.topic_rows(topics, figures)), False),
            ):
                _write(rows, f"{tables}/{name}", table_format, is_partitioned=is_partitioned)
        return AuditResult(folder.published, len(topics), messages, bad, unread, is_continued=False)

    def _frame(self, name: str, rows: Iterable[Mapping[str, Any]]) -> "DataFrame":
        return derivation.frame(self.session, name, rows)

    def _rules(
        self, strategy: ProposedStrategy, figures: Mapping[str, TopicFigures]
    ) -> tuple[list[RuleFinding], Mapping[str, str]]:
        """Return the rules by which current schemas are incompatible, and errors of topics whose schemas are gone."""
        rules: list[RuleFinding] = []
        errors: dict[str, str] = {}
        for topic in self.topics if strategy.strategy is not None else ():
            known = figures.get(topic.name, TopicFigures())
            earlier = [] if topic.newest is None else [each for each in known.versions if each != topic.newest[0]]
            if topic.error is None and topic.newest is not None and earlier:
                try:
                    writers = {each: known.writers[each] for each in earlier}
                    rules += list(self._rules_of(topic.name, topic.newest, strategy, writers))
                except SourceError as error:
                    errors[topic.name] = error.message
        return rules, errors

    def _rules_of(
        self, topic: str, newest: tuple[int, str], strategy: ProposedStrategy, earlier: Mapping[int, WriterFigures]
    ) -> Iterator[RuleFinding]:
        """Yield the rules by which the newest version is incompatible with earlier ones, which have messages."""
        number, content_hash = newest
        current = self.versions.info(topic, number)
        if current.content_hash != content_hash:
            raise SourceError(f"schema version {number} was replaced after the audit began", topic)
        versions = {each: self.versions.info(topic, each) for each in earlier}
        for version, finding in strategy.findings(current, versions, self.versions.pulsar_version):
            yield RuleFinding(topic, version, finding, earlier[version])


def _write(rows: "DataFrame", folder: str, table_format: str, *, is_partitioned: bool) -> None:
    """Write a table. One without rows has no partitions, so that it has a file with the columns."""
    if is_partitioned:
        rows.write.format(table_format).partitionBy(DAY).save(folder)
    else:
        rows.coalesce(1).write.format(table_format).save(folder)


class TopicAudit:
    """Audit of topics with options of a user."""

    def __init__(self, session: "SparkSession", options: Mapping[str, str], folder: AuditFolder) -> None:
        """Check the options. Raises InvalidOptionError for an unknown, missing or invalid one."""
        self._session = session
        self._folder = folder
        self._texts = {name.lower(): value for name, value in options.items()}
        for name in options:
            if name.lower() in _NOT_OF_AUDITS:
                raise InvalidOptionError(f"option {name} does not exist for audits")
        self._globs = items_of("namespace", self._texts["namespace"]) if "namespace" in self._texts else ()
        # `survey.namespaces` checks the globs, and the stream reads the topics of the survey.
        self._named = self._texts | ({"namespace": "a/b"} if self._globs else {})
        self.options = ReadOptions.of(self._named)

    @property
    def identity(self) -> str:
        """Identity of the audit: a checkpoint of another one is not used.

        A release may judge messages in another way. Spark's log of the facts has the full paths of their files.
        """
        names = ("adminurl", "topics", "topicspattern", "namespace", "since")
        content = json.dumps([__version__, self._folder.root, *(self._texts.get(name) for name in names)])
        return hashlib.sha256(content.encode()).hexdigest()

    def survey(self, admin: Admin) -> Survey:
        """Return the survey of the topics."""
        selection = self.options.selection
        if self._globs:
            selection = replace(selection, namespaces=namespaces(admin, self._globs))
        now = time.time_ns() // 1_000_000
        since = None if self.options.since is None else self.options.since.at(now) // _HOUR * _HOUR
        return survey(admin, selection, since).continued(self._folder.last_offset(), self._errors())

    def read(self, taken: Survey, admin: Admin) -> ReadTopics:
        """Return the facts of the topics of the survey."""
        errors = self._errors()
        topics = tuple(
            AuditedTopic.of(each, taken.since, errors.get((each.name, str(each.candidate)))) for each in taken.topics
        )
        return ReadTopics(self._session, self._facts(), topics, AdminVersions(admin, taken), taken.since)

    def stream(self, survey_file: Path) -> None:
        """Read what is new, up to the end of the survey in that file, into the folder's facts."""
        more = {facts.SURVEY_FILE: str(survey_file), facts.IDENTITY: self.identity}
        stream = self._session.readStream.format(facts.FORMAT).options(**self._named | more).load()
        writer = stream.writeStream.format("parquet").option("path", self._folder.facts)
        writer = writer.option("checkpointLocation", self._folder.checkpoint).trigger(availableNow=True)
        query = writer.start()
        try:
            query.awaitTermination()
        finally:
            query.stop()  # also if a user interrupts it

    def _facts(self) -> "DataFrame":
        schema = columns.struct(None, facts.COLUMNS)
        if not self._folder.has_facts:
            return self._session.createDataFrame([], schema)
        return self._session.read.schema(schema).parquet(self._folder.facts)

    def _errors(self) -> Mapping[tuple[str, str], str | None]:
        """Return the error, or None, of each topic and candidate with facts."""
        rows = self._facts().groupBy("topic", "candidate").agg(functions.max("error")).collect()
        return {(topic, candidate): error for topic, candidate, error in rows}


class AdminVersions:
    """Versions from the broker."""

    def __init__(self, admin: Admin, taken: Survey) -> None:
        self._admin = admin
        rules = (each.candidate.pulsar_version for each in taken.topics if each.candidate is not None)
        self.pulsar_version = PulsarVersion(next(rules, NEWEST.value))
        self._topic = ""
        self._versions: TopicVersions

    def info(self, topic: str, number: int) -> SchemaInfo:
        """Return a version, as in VersionSource."""
        if topic != self._topic:
            self._topic, self._versions = topic, TopicVersions(planning.parsed(topic), self.pulsar_version)
        try:
            info = self._versions.info(self._admin, number)
        except SourceError:
            self._admin.release()  # if the broker is not there at all, no topic is to blame
            raise
        if info is None:
            raise SourceError(f"schema version {number} was deleted after the audit began", topic)
        return info


class FileVersions:
    """Versions of messages in files, the same for all files."""

    pulsar_version = NEWEST

    def __init__(self, versions: Mapping[int, SchemaInfo]) -> None:
        self._versions = versions

    def info(self, topic: str, number: int) -> SchemaInfo:
        """Return a version."""
        del topic
        return self._versions[number]


def _of_files(session: "SparkSession", options: Mapping[str, str], folder: AuditFolder) -> ReadTopics:
    """Return the facts of the messages in files, which are all read."""
    parsed = FileOptions.of({name: value for name, value in options.items() if name.lower() != "columns"})
    if parsed.strategy.strategy is not None:
        raise InvalidOptionError("option schema: an audit has the strategy as `proposed`")
    folder.delete_stream()
    rows = session.read.format(facts.FORMAT).options(**options).load()
    rows.write.parquet(folder.facts)
    written = session.read.schema(columns.struct(None, facts.COLUMNS)).parquet(folder.facts)
    numbers = [number for number, info in parsed.versions.items() if info.content_hash == parsed.reader.content_hash]
    newest = None if not numbers else (numbers[-1], parsed.reader.content_hash)
    names = sorted(name for (name,) in written.select("topic").distinct().collect())
    topics = tuple(AuditedTopic(name, facts.OF_FILES, newest, None, has_all=True) for name in names)
    return ReadTopics(session, written, topics, FileVersions(parsed.versions))
