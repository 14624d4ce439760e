"""Tables of an audit: over files, whose figures are known, and over facts of topics as docs/audit.md shows them."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.validation import order_files
from topicschema.core.schemas import NEWEST, SchemaInfo, SchemaType
from topicschema.spark import columns
from topicschema.spark.audit import TABLES, audit, facts, read_table
from topicschema.spark.audit.application import ReadTopics
from topicschema.spark.audit.derivation import AuditedTopic
from topicschema.spark.audit.folder import AuditFolder
from topicschema.spark.audit.page import page_of
from topicschema.spark.incompatibilities import ProposedStrategy
from topicschema.validation.errors import RunError, SourceError

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
ORDERS = order_files.orders(6_000)
HOSTILE = "persistent://shop/orders/<script>alert('1')</script>\"'\u202e=`\\,\n"
SHOP = "persistent://shop/orders"
TODAY = datetime(2026, 11, 28, tzinfo=UTC)
Row = Mapping[str, Any]


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    return spark


def rows(session: Any, output: Path, name: str, form: str = "parquet") -> list[dict[str, Any]]:
    return [row.asDict() for row in read_table(session, output, name, form).collect()]


# Files.


def history(folder: Path) -> str:
    """Write the versions of the orders, and return their files."""
    files = []
    for number, info in order_files.VERSIONS.items():
        file = folder / f"v{number}.avsc"
        file.write_bytes(info.schema)
        files.append(str(file))
    return ",".join(files)


def test_tables_of_files(session: Any, tmp_path: Path) -> None:
    stored = [
        order_files.write(part, tmp_path / f"orders-{number}.parquet")
        for number, part in enumerate((ORDERS[:2_500], ORDERS[2_500:]))
    ]
    output, files = tmp_path / "audit", history(tmp_path).split(",")
    versions = [word for file in files for word in ("--history", file)]
    line = ["--files", *map(str, stored), *versions, "--proposed", "FORWARD", "--page", str(tmp_path / "page.html")]
    command = [sys.executable, "-m", "topicschema", "audit", "--output", str(output), *line]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    bad = sum(bool(each.reason) for each in ORDERS)
    assert done.stdout.startswith(
        f"2 topics, 6,000 messages, {bad:,} of them with a fault (all messages were read)\n\n"
    )
    assert done.stdout.endswith(f"\n\nTables: {output}/tables\n")
    assert "TRUNCATED at $.id" in (tmp_path / "page.html").read_text()
    by_version: Counter[Any] = Counter()
    for row in rows(session, output, "messages_by_version"):
        by_version[row["schema_version"], row["hour"].replace(tzinfo=UTC), row["day"]] += row["messages"]
    expected: Counter[Any] = Counter()
    for order in ORDERS:
        moment = datetime.fromtimestamp(order.publish_time // 3_600_000 * 3_600, UTC)
        expected[order.version, moment, moment.date()] += 1
    assert by_version == expected
    listed = Counter((row["topic"], row["entry"], row["reason"]) for row in rows(session, output, "bad_messages"))
    places = [
        (stored[number >= 2_500], number % 2_500 if number < 2_500 else number - 2_500) for number in range(6_000)
    ]
    assert listed == Counter(
        (str(place[0]), place[1], order.reason) for place, order in zip(places, ORDERS, strict=True) if order.reason
    )
    findings = rows(session, output, "findings")
    reasons: Counter[str] = Counter()
    for row in findings:
        if row["reason"]:
            reasons[row["reason"]] += row["messages"]
            known = {entry for (topic, entry, reason) in listed if (topic, reason) == (row["topic"], row["reason"])}
            assert {int(each) for each in row["examples"]} <= known
            assert len(row["examples"]) == min(10, row["messages"])
    assert reasons == order_files.reasons(ORDERS)
    rules = Counter(
        (row["topic"], row["schema_version"], row["rule"], row["messages"]) for row in findings if row["rule"]
    )
    assert rules == {
        (str(path), 0, "FIELD_WITHOUT_DEFAULT", sum(each.version == 0 for each in part)): 1
        for path, part in zip(stored, (ORDERS[:2_500], ORDERS[2_500:]), strict=True)
    }
    (topic, _) = rows(session, output, "topics")
    assert (topic["version_in_use"], topic["oldest_version"], topic["forgettable_versions"]) == (1, 0, [])
    assert (topic["unknown_versions"], topic["messages"]) == ([order_files.UNKNOWN_VERSION], 2_500)


def test_a_file_that_cannot_be_read_leaves_the_tables(session: Any, tmp_path: Path) -> None:
    stored = order_files.write(ORDERS[:100], tmp_path / "orders.parquet")
    options = {"files": str(stored), "history": history(tmp_path), "schema": "current"}
    audit(session, options, tmp_path / "audit")
    stored.write_bytes(b"PAR1 no more")
    with pytest.raises(RunError, match=r"Spark failed: .*orders\.parquet"):
        audit(session, options, tmp_path / "audit")
    assert sum(row["messages"] for row in rows(session, tmp_path / "audit", "topics")) == 100


# Facts of topics.

VERSIONS = {
    3: {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "int"}, {"name": "note", "type": "string"}],
    },
    4: {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]},
}


class OwnVersions:
    pulsar_version = NEWEST

    def info(self, topic: str, number: int) -> SchemaInfo:
        if topic == f"{SHOP}/replaced":
            raise SourceError(f"schema version {number} was deleted after the audit began", topic)
        return SchemaInfo(SchemaType.AVRO, json.dumps(VERSIONS[number]).encode())


CURRENT = OwnVersions().info("", 4).content_hash


def topic(name: str, newest: int | None = 4, **more: Any) -> AuditedTopic:
    known = {"ledgers": frozenset({7, 9}), "has_all": True} | more
    return AuditedTopic(name, "now", None if newest is None else (newest, CURRENT), **known)


TOPICS = (
    topic(f"{SHOP}/created"),
    topic(f"{SHOP}/paid", None),
    topic(f"{SHOP}/empty"),
    topic(f"{SHOP}/compacted", has_all=False),
    topic(f"{SHOP}/encrypted"),
    topic(f"{SHOP}/replaced"),
    topic(f"{SHOP}/secret", error="the role may not consume"),
    topic(HOSTILE),
)


def fact(name: str, writer: int, messages: int, hours_ago: int, **more: Any) -> dict[str, Any]:
    """Return a fact of messages of ledger 7 that were published in an hour of the past, in its minutes 1 to 59."""
    hour = TODAY - timedelta(hours=hours_ago)
    times = {"hour": hour, "first": hour + timedelta(minutes=1), "last": hour + timedelta(minutes=59)}
    counted = {"messages": messages, "bytes": 10 * messages, "writer": writer}
    return {"topic": name, "candidate": "now", "ledger": 7, **counted, **times} | more


def fault(name: str, writer: int, entry: int, hours_ago: int, reason: str = "TRUNCATED", **more: Any) -> dict[str, Any]:
    """Return a fact of a message that cannot be read."""
    where = {"entry": entry, "reason": reason, "path": "$.id", "tolerated": False}
    return fact(name, writer, 1, hours_ago, **where) | more


FACTS = [
    fact(f"{SHOP}/created", 1, 40, 400, ledger=5),  # of a ledger that the broker has removed
    fact(f"{SHOP}/created", 3, 1_200, 60),
    fact(f"{SHOP}/created", 3, 300, 5, ledger=9),
    fact(f"{SHOP}/created", 4, 5_000, 30),
    fact(f"{SHOP}/created", 4, 700, 5),
    *(fault(f"{SHOP}/created", 4, entry, 5) for entry in (88, 17, *range(100, 112))),
    fault(f"{SHOP}/created", 4, 20, 30, "TRAILING_BYTES", tolerated=True, path="$"),
    fault(f"{SHOP}/created", 6, 3, 30, "UNKNOWN_WRITER_VERSION", path="$"),
    fact(f"{SHOP}/created", 3, 9_999, 60, candidate="an earlier one"),
    {"topic": f"{SHOP}/created", "candidate": "now", "messages": 0, "bytes": 0, "lost_entries": 12},
    {"topic": f"{SHOP}/secret", "candidate": "now", "messages": 0, "bytes": 0, "error": "the role may not consume"},
    fact(f"{SHOP}/secret", 0, 8, 5),  # read before the error
    fact(f"{SHOP}/paid", -1, 250, 5),
    fact(f"{SHOP}/compacted", 4, 5, 5),
    fact(f"{SHOP}/encrypted", 4, 5, 5),
    fault(f"{SHOP}/encrypted", -4, 6, 5, "ENCRYPTED", path="$"),
    fact(f"{SHOP}/replaced", 3, 77, 5),
    fact(f"{SHOP}/deleted", 0, 5, 5),
    fact(HOSTILE, 4, 2, 5, hour=None, first=None, last=None),
    fault(HOSTILE, -1, 1, 5, path="$.<b>'\"\u202e", hour=None, first=None, last=None),
]


@pytest.fixture(scope="module")
def written(session: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the tables of the facts, written in a session of another time zone."""
    path = tmp_path_factory.mktemp("audit")
    write(session, path, "FULL_TRANSITIVE")
    return path


def write(session: Any, path: Path, proposed: str, stored: Iterable[Row] = FACTS, **more: Any) -> Any:
    """Write the tables of the facts. `more` is the first hour that counts (`since`), and the format (`form`)."""
    schema = columns.struct(None, facts.COLUMNS)
    frame = session.createDataFrame([tuple(row.get(name) for name in facts.COLUMNS) for row in stored], schema)
    session.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        read = ReadTopics(session, frame, TOPICS, OwnVersions(), more.get("since"))
        return read.written(AuditFolder.create(path), ProposedStrategy.parse(proposed), more.get("form", "parquet"))
    finally:
        session.conf.set("spark.sql.session.timeZone", "UTC")


def test_figures_are_those_of_retained_messages(session: Any, written: Path) -> None:
    by_name = {row.pop("topic"): row for row in rows(session, written, "topics")}
    assert by_name[f"{SHOP}/created"] == {
        "error": None,
        "version_in_use": 4,
        "oldest_version": 3,
        "forgettable_versions": [0, 1, 2],
        "messages": 7_216,
        "bytes": 72_160,
        "messages_without_version": 0,
        "unknown_versions": [6],
        "messages_of_unknown_versions": 1,
        "removed_messages": 40,
        "lost_entries": 12,
    }
    errors = {name: row["error"] for name, row in by_name.items() if row["error"]}
    assert errors == {
        f"{SHOP}/deleted": "the topic does not exist any more",
        f"{SHOP}/replaced": f"{SHOP}/replaced: schema version 4 was deleted after the audit began",
        f"{SHOP}/secret": "the role may not consume",
    }
    assert {row["messages"] for row in by_name.values() if row["error"]} == {None}
    forgettable = {name: row["forgettable_versions"] for name, row in by_name.items()}
    assert forgettable[f"{SHOP}/empty"] == [0, 1, 2, 3]
    assert [forgettable[f"{SHOP}/{name}"] for name in ("compacted", "encrypted", "paid")] == [None, None, []]
    assert by_name[f"{SHOP}/paid"]["messages_without_version"] == 250


def test_verdicts_and_positions(session: Any, written: Path) -> None:
    verdicts = {
        row["topic"]: (row["readable"], row["losses"], row["unreadable"]) for row in rows(session, written, "verdicts")
    }
    assert verdicts[f"{SHOP}/created"] == (7_200, 1, 15)
    assert verdicts[f"{SHOP}/empty"] == (0, 0, 0)
    assert verdicts.keys() & {f"{SHOP}/deleted", f"{SHOP}/replaced", f"{SHOP}/secret"} == set()
    bad = rows(session, written, "bad_messages")
    assert len(bad) == 18
    created = [row for row in bad if (row["topic"], row["reason"]) == (f"{SHOP}/created", "TRUNCATED")]
    assert sorted(row["entry"] for row in created) == [17, 88, *range(100, 112)]
    assert {(row["day"], row["tolerated"]) for row in created} == {(date(2026, 11, 27), False)}


def test_findings_have_the_first_positions_and_the_weight_of_rules(session: Any, written: Path) -> None:
    findings = [row for row in rows(session, written, "findings") if row["topic"] == f"{SHOP}/created"]
    (cut,) = [row for row in findings if row["reason"] == "TRUNCATED"]
    assert cut["examples"] == ["7:17", "7:88", *(f"7:{entry}" for entry in range(100, 108))]
    assert cut["messages"] == 14
    rules = {(row["schema_version"], row["rule"], row["direction"], row["messages"]) for row in findings if row["rule"]}
    assert rules == {(3, "FIELD_WITHOUT_DEFAULT", "FORWARD", 1_500), (3, "TYPE_MISMATCH", "FORWARD", 1_500)}


def test_messages_by_version_are_those_of_the_hours_in_utc(session: Any, written: Path) -> None:
    table = read_table(session, written, "messages_by_version").where(f"topic = '{SHOP}/created'").collect()
    counted = {(row.schema_version, row.day, row.hour, row.messages) for row in table}
    five, thirty, sixty = (TODAY.replace(tzinfo=None) - timedelta(hours=hours) for hours in (5, 30, 60))
    assert counted == {
        (3, sixty.date(), sixty, 1_200),
        (3, five.date(), five, 300),
        (4, thirty.date(), thirty, 5_001),
        (4, five.date(), five, 714),
        (6, thirty.date(), thirty, 1),
    }


def test_hours_before_since_do_not_count_and_tables_may_have_another_format(session: Any, tmp_path: Path) -> None:
    write(session, tmp_path, "FULL", form="json")
    former = read_table(session, tmp_path, "findings", "json")
    since = int((TODAY - timedelta(hours=30)).timestamp() * 1000)
    write(session, tmp_path, "current", since=since, form="json")
    verdicts = {row["topic"]: row["readable"] for row in rows(session, tmp_path, "verdicts", "json")}
    assert (verdicts[f"{SHOP}/created"], verdicts[HOSTILE]) == (6_000, 2)
    assert not any(row["rule"] for row in rows(session, tmp_path, "findings", "json"))
    assert former.where("rule IS NOT NULL").count() == 2  # a query of the former tables goes on


def test_an_empty_namespace_has_tables_with_columns(session: Any, tmp_path: Path) -> None:
    result = write(session, tmp_path, "strict", stored=[])
    assert (result.messages, result.bad) == (0, 0)
    for name, known in TABLES.items():
        plain = session.read.parquet(str(tmp_path / "tables" / name))  # as a reader that knows no columns
        assert plain.columns == list(known)


def test_the_page_escapes_all_names_and_has_no_script(session: Any, written: Path) -> None:
    page = page_of(session, written)
    assert "<script" not in page
    assert "<b>'" not in page
    assert "the role may not consume" in page
    assert "TRUNCATED at $.id" in page
    assert page.index(f"{SHOP}/secret") < page.index(f"{SHOP}/created") < page.index(f"{SHOP}/empty")


def test_the_questions_of_the_page_have_its_answers(session: Any, written: Path) -> None:
    for name in TABLES:
        table = read_table(session, written, name)
        table.where(table.topic.isin(f"{SHOP}/created", f"{SHOP}/paid")).createOrReplaceTempView(name)
    questions = re.findall(r"```sql\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert len(questions) == 5
    for query, answer in questions:
        result = session.sql(query, args={"yesterday": TODAY - timedelta(days=1)} if ":yesterday" in query else {})
        assert result._show_string(20, truncate=False).strip() == answer.strip(), query
