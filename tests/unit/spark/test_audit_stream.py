"""Stream of an audit: which entries are read after which offset, and the survey that it reads from a file."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

from topicschema.core.topics import Topic
from topicschema.spark.audit.derivation import AuditedTopic
from topicschema.spark.audit.facts import FactRowSource
from topicschema.spark.audit.stream import FactStreamReader
from topicschema.spark.audit.survey import JudgingSchema, Survey, SurveyedTopic
from topicschema.spark.options import ReadOptions
from topicschema.spark.planning import SelectedPartition
from topicschema.validation.sources.pulsar.admin import TopicStats
from topicschema.validation.sources.pulsar.partitions import Partition
from topicschema.validation.sources.pulsar.ranges import EntryRange, Position

OPTIONS = ReadOptions.of({"adminUrl": "http://x:1", "serviceUrl": "pulsar://x:1", "namespace": "a/b"})
FIRST = JudgingSchema(3, "2026-01-31T12:00:00Z", "sha256:aa", "4.0")
SECOND = replace(FIRST, schema_version=4, content_hash="sha256:bb")
NAME = "persistent://shop/live/orders"
ENTRIES = (EntryRange(7, 0, 50), EntryRange(9, 0, 20))


def surveyed(
    candidate: JudgingSchema = FIRST, entries: tuple[EntryRange, ...] = ENTRIES, *, is_compacted: bool = False
) -> SurveyedTopic:
    topic, last = Topic("shop", "live", "orders"), Position(entries[-1].ledger, entries[-1].last)
    ledgers = frozenset(each.ledger for each in entries)
    stats = TopicStats(entries, ledgers, last, {}, 7_000, is_compacted)
    partition = Partition(topic, NAME, 0, stats, created="2026-01-01")
    return SurveyedTopic(NAME, candidate, (SelectedPartition(topic, is_partitioned=False, partition=partition),))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "survey.json"


def reader(path: Path, *topics: SurveyedTopic) -> FactStreamReader:
    Survey(topics).write(path)
    return FactStreamReader(FactRowSource(OPTIONS), str(path), "an audit")


def read(
    stream: FactStreamReader, start: dict[str, str], end: dict[str, str]
) -> list[tuple[str, int | None, list[tuple[int, int, int]]]]:
    """Return candidate, version and entries of the spans of a micro-batch."""
    return [
        (span.candidate, span.reader_version, [(e.ledger, e.first, e.entries) for e in span.positions.entry_ranges])
        for task in stream.partitions(start, end)
        for span in task.value
    ]


def test_a_survey_is_the_same_after_a_file(path: Path) -> None:
    survey = Survey((surveyed(is_compacted=True), SurveyedTopic("persistent://a/b/\ud800c", error="why")), since=7)
    survey.write(path)
    assert Survey.read(path) == survey
    assert survey.topics[0].ledgers == {7, 9}
    assert survey.topics[0].is_compacted


def test_all_entries_are_read_once(path: Path) -> None:
    stream = reader(path, surveyed())
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadAllAvailable())
    assert end == {"": "an audit", NAME: f"9:19 {FIRST}"}
    assert read(stream, start, end) == [(str(FIRST), 3, [(7, 0, 50), (9, 0, 20)])]
    assert stream.latestOffset(end, ReadAllAvailable()) == end
    assert stream.partitions(end, end) == []
    more = reader(path, surveyed(entries=(EntryRange(9, 0, 30),)))
    later = more.latestOffset(end, ReadAllAvailable())
    assert read(more, end, later) == [(str(FIRST), 3, [(9, 20, 10)])]


def test_another_schema_reads_the_topic_again_from_its_first_entry(path: Path) -> None:
    end = reader(path, surveyed()).latestOffset({}, ReadAllAvailable())
    stream = reader(path, surveyed(SECOND))
    later = stream.latestOffset(end, ReadAllAvailable())
    assert later[NAME] == f"9:19 {SECOND}"
    assert read(stream, end, later) == [(str(SECOND), 4, [(7, 0, 50), (9, 0, 20)])]


def test_a_topic_that_is_read_in_parts_is_judged_by_one_schema(path: Path) -> None:
    old = {NAME: f"9:19 {FIRST}"}
    stream = reader(path, surveyed(SECOND))
    offsets = [old]
    while (end := stream.latestOffset(offsets[-1], ReadMaxBytes(2_000))) != offsets[-1]:
        offsets.append(end)
    spans = [span for start, end in pairwise(offsets) for span in read(stream, start, end)]
    assert [number for _, number, _ in spans] == [4] * len(spans)
    entries = [(ledger, first + at) for *_, parts in spans for ledger, first, count in parts for at in range(count)]
    assert entries == [(7, entry) for entry in range(50)] + [(9, entry) for entry in range(20)]
    assert len(spans) > 2


def test_an_interrupted_batch_is_judged_by_the_schema_of_its_offset(path: Path) -> None:
    end = reader(path, surveyed()).latestOffset({}, ReadAllAvailable())
    assert read(reader(path, surveyed(SECOND)), {}, end) == [(str(FIRST), 3, [(7, 0, 50), (9, 0, 20)])]


def test_a_topic_that_is_gone_from_an_interrupted_batch_is_not_passed_over(path: Path) -> None:
    name = f"{NAME}-partition-1"
    (task,) = reader(path).partitions({}, {name: f"9:19 {FIRST}"})
    (span,) = task.value
    (event,) = FactRowSource(OPTIONS).rows([span])
    (row,) = event.to_pylist()
    assert (row["topic"], row["candidate"], row["messages"]) == (NAME, str(FIRST), 0)
    assert "did not show the topic" in row["error"]


def test_a_partition_without_entries_gets_the_schema_of_the_others(path: Path) -> None:
    topic = surveyed(SECOND)
    stats = TopicStats((), frozenset({9}), Position(9, -1), {}, 0)
    empty = replace(topic.partitions[0].partition, name=f"{NAME}-partition-1", number=1, stats=stats)
    stream = reader(path, replace(topic, partitions=(replace(topic.partitions[0], partition=empty),)))
    start = {empty.name: f"8:3 {FIRST}"}
    end = stream.latestOffset(start, ReadAllAvailable())
    assert end == {empty.name: f"8:3 {SECOND}"}
    assert stream.partitions(start, end) == []
    assert stream.latestOffset(end, ReadAllAvailable()) == end
    assert stream.latestOffset({}, ReadAllAvailable()) == {}


def attempt(last: JudgingSchema | None, *used: JudgingSchema, failed: JudgingSchema | None = None) -> int:
    """Return the attempt of a topic whose current schema is FIRST: `last` has judged it last, others before."""
    offset = {} if last is None else {NAME: f"9:19 {last}"}
    errors = {(NAME, str(each)): "why" if each == failed else None for each in used}
    (topic,) = Survey((surveyed(),)).continued(offset, errors).topics
    assert topic.candidate is not None
    assert JudgingSchema.parse(str(topic.candidate)) == topic.candidate
    assert replace(topic.candidate, attempt=0) == FIRST
    return topic.candidate.attempt


def test_an_attempt_continues_or_is_one_that_has_no_facts() -> None:
    second, third = replace(FIRST, attempt=1), replace(FIRST, attempt=2)
    assert attempt(None) == 0
    assert attempt(FIRST, FIRST) == 0
    assert attempt(SECOND, SECOND) == 0
    assert attempt(SECOND, FIRST, SECOND) == 1  # the schema was current before
    assert attempt(second, FIRST, second, SECOND) == 1
    assert attempt(second, FIRST, second, failed=FIRST) == 1
    assert attempt(FIRST, FIRST, failed=FIRST) == 1
    assert attempt(second, FIRST, second, failed=second) == 2
    assert attempt(third) == 2  # an interrupted audit has written no facts yet
    assert attempt(None, FIRST) == 1


def test_a_topic_whose_partitions_were_judged_by_several_schemas_is_read_again() -> None:
    topic = surveyed()
    other = replace(topic.partitions[0].partition, name=f"{NAME}-partition-1", number=1)
    both = replace(topic, partitions=(*topic.partitions, replace(topic.partitions[0], partition=other)))
    offset = {NAME: f"9:19 {FIRST}", other.name: f"9:19 {SECOND}"}
    (read,) = Survey((both,)).continued(offset, {(NAME, str(FIRST)): None}).topics
    assert read.candidate == replace(FIRST, attempt=1)
    unread = SurveyedTopic(NAME, error="why")
    assert Survey((unread,)).continued(offset, {}).topics == (unread,)


@pytest.mark.parametrize(
    ("is_compacted", "since", "has_all"), [(False, None, True), (True, None, False), (False, 7, False)]
)
def test_versions_may_be_forgotten_only_if_all_messages_are_read(
    *, is_compacted: bool, since: int | None, has_all: bool
) -> None:
    topic = AuditedTopic.of(surveyed(is_compacted=is_compacted), since, None)
    assert (topic.newest, topic.has_all, topic.ledgers) == ((3, "sha256:aa"), has_all, frozenset({7, 9}))
