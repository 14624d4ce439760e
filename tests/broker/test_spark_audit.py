"""Audits of real topics in a real Spark session: each retained message counts once, whatever ends an audit."""

import json
import shutil
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pulsar as python
import pytest

from support.validation import topic_orders
from support.validation.audit_process import AuditProcess
from support.validation.killed_facts import KillingFacts, RestartingFacts, restart_while_read
from support.validation.topic_messages import RetainedTopic, Sent, open_client
from testbed.pulsar import Pulsar
from testbed.pulsar_setup import Credentials
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.spark.audit import AuditResult, application, audit, read_table
from topicschema.spark.audit import facts as audit_facts
from topicschema.spark.audit.survey import Survey, survey

pytestmark = [pytest.mark.timeout(600), pytest.mark.broker]

SHARE = topic_orders.Share(2_000)
TEXT = {"type": "STRING", "schema": "", "properties": {}}


@pytest.fixture(scope="module")
def broker(retaining_pulsar: Pulsar) -> Pulsar:
    return retaining_pulsar


def info(schema: Any) -> SchemaInfo:
    return SchemaInfo(SchemaType.AVRO, json.dumps(schema).encode())


def options(topic: RetainedTopic, **more: str) -> dict[str, str]:
    source = topic.pulsar_source
    return {"adminUrl": source.admin_url, "serviceUrl": source.service_url, "namespace": topic.namespace, **more}


def read(spark: Any, output: Path, name: str) -> dict[str, Any]:
    """Return the rows of a table with one row a topic, by the topic's local name."""
    return {row.topic.rpartition("/")[2]: row for row in read_table(spark, output, name).collect()}


def by_reason(rows: Any) -> dict[Any, int]:
    """Return the numbers of messages in rows of verdicts, by version and reason."""
    counted = rows.groupBy("schema_version", "reason").sum("messages").collect()
    return {(version, reason): messages for version, reason, messages in counted}


def position(row: Any) -> str:
    """Return the position of a bad message."""
    return ":".join(str(each) for each in (row.ledger, row.entry, row.batch_index) if each is not None)


def kill_last_batch(output: Path, *, after_facts: bool) -> None:
    """Leave the folder as a driver leaves it that is killed in the last micro-batch.

    The files of facts are written. The sink's log has them only if it was killed `after_facts`.
    """
    logs = [output / "checkpoint" / "commits"] + ([] if after_facts else [output / "facts" / "_spark_metadata"])
    for log in logs:
        number = max(int(each.name) for each in log.iterdir() if each.name.isdecimal())
        for name in (str(number), f".{number}.crc"):
            (log / name).unlink(missing_ok=True)


def fill(topic: RetainedTopic, client: Any) -> list[str]:
    """Send orders of a version, some of them truncated, and some without one. Return the positions of the bad ones."""
    faulty: set[bytes | None] = set()
    for messages, count in SHARE.parts:
        sent = [messages[number % len(messages)][1] for number in range(count)]
        topic.send(client, sent, schema=Sent(info(topic_orders.WRITTEN)), batching_enabled=True)
        faulty |= set(sent) if count == SHARE.cut else set()
    topic.send(client, [messages[0][1][:-2]] * 3)
    faulty.add(messages[0][1][:-2])
    return [place for (payload, _), places in topic.receipts.items() if payload in faulty for place in places]


def test_each_message_counts_once_in_repeated_and_interrupted_audits(
    spark: Any, broker: Pulsar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = RetainedTopic.create(broker, partitions=2)
    plain, empty = (RetainedTopic(broker, orders.namespace, name, 0) for name in ("plain", "empty"))
    broker.call("PUT", empty.path)
    values = options(orders, namespace=orders.namespace.partition("/")[0] + "/*", maxBytesPerPartition="40k")

    def run() -> AuditResult:
        return audit(spark, values, tmp_path, proposed="FULL")

    with open_client(broker) as client:
        faulty = fill(orders, client)
        plain.send(client, [b"anything", None])
        with monkeypatch.context() as patch:  # a worker is killed, and Spark repeats its task
            patch.setattr(audit_facts, "PulsarFacts", KillingFacts)
            patch.setattr(tempfile, "tempdir", str(tmp_path))
            first = run()
        assert (tmp_path / "interrupted").exists()
        assert (first.topics, first.messages, first.bad) == (3, SHARE.messages + 5, SHARE.cut + 3)
        assert (first.unread, first.is_continued) == ({}, False)
        verdicts = read(spark, tmp_path, "verdicts")
        assert tuple(verdicts["orders"])[1:] == (
            0,
            info(topic_orders.WRITTEN).content_hash,
            SHARE.messages - SHARE.cut,
            0,
            SHARE.cut + 3,
        )
        assert tuple(verdicts["empty"])[1:] == (None, None, 0, 0, 0)
        topics = read(spark, tmp_path, "topics")
        assert (topics["orders"].messages_without_version, topics["plain"].messages_without_version) == (3, 2)
        assert topics["orders"].bytes == sum(len(each or b"") for each, _ in orders.sent.elements())
        bad = read_table(spark, tmp_path, "bad_messages").collect()
        assert Counter(map(position, bad)) == Counter(faulty)
        kill_last_batch(tmp_path, after_facts=False)
        continued = run()
        assert (continued.messages, continued.bad, continued.is_continued) == (first.messages, first.bad, True)
        orders.send(client, [b""] * 2, schema=Sent(info(topic_orders.WRITTEN)))
        assert run().messages == first.messages + 2
        facts = sorted(tmp_path.glob("facts/_spark_metadata/*"))
        kill_last_batch(tmp_path, after_facts=True)
        continued = run()
        assert (continued.messages, continued.bad, continued.is_continued) == (first.messages + 2, first.bad + 2, True)
        assert sorted(tmp_path.glob("facts/_spark_metadata/*")) == facts
        shutil.rmtree(tmp_path / "checkpoint")
        lost = run()
        assert (lost.messages, lost.bad, lost.is_continued) == (first.messages + 2, first.bad + 2, False)


def test_a_broker_that_restarts_while_a_task_reads_changes_no_figure(
    spark: Any, broker: Pulsar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wait for a JVM to start."""
    topic = RetainedTopic.create(broker)
    sent = [(b"\xff%d " if each % 100 == 0 else b"%d ") % each + b"x" * 20_000 for each in range(1_500)]
    with open_client(broker) as client:
        topic.send(client, sent, batching_enabled=True)
    broker.call("POST", f"/schemas/{topic.namespace}/{topic.name}/schema", TEXT)
    monkeypatch.setattr(audit_facts, "PulsarFacts", RestartingFacts)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ThreadPoolExecutor() as pool:
        restart = pool.submit(restart_while_read, broker, tmp_path / "interrupted")
        result = audit(spark, options(topic), tmp_path / "audit")
        restart.result()
    assert (tmp_path / "interrupted").read_text() == "done"
    assert (result.messages, result.bad, result.unread) == (1_500, 15, {})
    bad = read_table(spark, tmp_path / "audit", "bad_messages").collect()
    assert Counter(map(position, bad)) == Counter(
        place for (payload, _), places in topic.receipts.items() if payload and payload[0] == 0xFF for place in places
    )
    (row,) = read_table(spark, tmp_path / "audit", "topics").collect()
    assert row.bytes == sum(map(len, sent))


def test_another_current_schema_judges_all_messages_and_old_facts_do_not_count(
    spark: Any, broker: Pulsar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = RetainedTopic.create(broker)
    other = RetainedTopic(broker, topic.namespace, "other", 0)
    messages = [message for _, message in topic_orders.whole(30)[0][:30]]
    broker.call("PUT", f"/namespaces/{topic.namespace}/schemaCompatibilityStrategy", "ALWAYS_COMPATIBLE")
    with open_client(broker) as client:
        topic.send(client, messages, schema=Sent(info(topic_orders.WRITTEN)))
        other.send(client, [b"\xff"])
        assert audit(spark, options(topic), tmp_path).bad == 0
        topic.send(client, messages[:1], schema=Sent(info(topic_orders.NARROWER)))
        broker.call("POST", f"/schemas/{other.namespace}/{other.name}/schema", TEXT)
        result = audit(spark, options(topic), tmp_path, proposed="strict")
    assert (result.messages, result.bad, result.is_continued) == (32, 11, True)
    findings = read_table(spark, tmp_path, "findings").collect()
    assert {(row.schema_version, row.rule or row.reason, row.path, row.messages) for row in findings} == {
        (0, "UNKNOWN_SYMBOL", "$.status", 10),
        (0, "ENUM_SYMBOL_UNKNOWN", "$.fields[1].type", 30),
        (None, "INVALID_UTF8", "$", 1),
    }
    judged = spark.read.format("pulsar-verdicts").options(**options(topic), schema="Strict").load()
    weights: Counter[Any] = Counter()
    for row in judged.selectExpr("schema_version", "inline(incompatibilities)", "messages").collect():
        weights[row[:-1]] += row.messages
    broken = [row for row in findings if row.rule is not None]
    assert weights == {
        (row.schema_version, row.rule, row.path, row.direction, row.message): row.messages for row in broken
    }
    assert by_reason(judged) == {(0, "UNKNOWN_SYMBOL"): 10, (None, "INVALID_UTF8"): 1, (0, None): 20, (1, None): 1}
    by_version = read_table(spark, tmp_path, "messages_by_version").where("topic LIKE '%/orders'")
    assert {row.schema_version: row.messages for row in by_version.collect()} == {0: 30, 1: 1}
    broker.call("DELETE", f"/schemas/{other.namespace}/{other.name}/schema")  # which the topic had not at first
    result = audit(spark, options(topic), tmp_path)
    assert (result.messages, result.bad, result.is_continued) == (32, 10, True)
    result = audit(spark, options(topic, since="1h"), tmp_path)  # another audit, which reads all again
    assert (result.messages, result.bad, result.is_continued) == (32, 10, False)
    later = time.time_ns() + 3 * 3_600 * 10**9
    monkeypatch.setattr(application, "time", SimpleNamespace(time_ns=lambda: later))
    result = audit(spark, options(topic, since="1h"), tmp_path)
    assert (result.topics, result.messages, result.is_continued) == (2, 0, True)
    assert {row.forgettable_versions for row in read(spark, tmp_path, "topics").values() if row.version_in_use} == {
        None
    }


def test_topics_that_are_deleted_or_truncated_between_audits_stop_no_other(
    spark: Any, broker: Pulsar, tmp_path: Path
) -> None:
    cut = RetainedTopic.create(broker, "cut")
    gone = RetainedTopic(broker, cut.namespace, "gone", 0)
    result = audit(spark, options(cut), tmp_path)
    assert (result.topics, result.messages) == (1, 0)
    with open_client(broker) as client:
        cut.send(client, [b"%d" % number for number in range(60)])  # more than a ledger has
        gone.send(client, [b"1", b"2", b"3"])
        assert audit(spark, options(cut), tmp_path).messages == 63
        kill_last_batch(tmp_path, after_facts=False)
        broker.call("DELETE", f"{gone.path}?force=true")
        result = audit(spark, options(cut), tmp_path)
        assert (result.messages, dict(result.unread)) == (60, {gone.full_name: "the topic does not exist any more"})
        gone.send(client, [b"4", b"5"])  # a new topic of the old name
        broker.call("DELETE", f"{cut.path}/truncate")
        result = audit(spark, options(cut), tmp_path)
    ledgers = {each["ledgerId"] for each in broker.call("GET", f"{cut.path}/internalStats")["ledgers"]}
    retained = sum(int(place.partition(":")[0]) in ledgers for places in cut.receipts.values() for place in places)
    assert 0 <= retained < 60
    topics = read(spark, tmp_path, "topics")
    assert {name: (row.messages, row.removed_messages) for name, row in topics.items()} == {
        "cut": (retained, 60 - retained),
        "gone": (2, 0),
    }
    assert (result.messages, result.unread) == (retained + 2, {})


def open_superuser(broker: Pulsar, credentials: Credentials) -> Any:
    return closing(
        python.Client(
            broker.service_url,
            authentication=python.AuthenticationToken(credentials.tokens.superuser),
            tls_trust_certs_file_path=str(credentials.ca),
            logger=python.ConsoleLogger(python.LoggerLevel.Error),
        )
    )


def test_a_topic_that_cannot_be_read_is_a_row_and_is_read_from_its_first_message_later(
    spark: Any,
    secured_pulsar: Pulsar,
    credentials: Credentials,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = RetainedTopic.create(secured_pulsar, "first")
    second = RetainedTopic(secured_pulsar, first.namespace, "second", 0)
    missing = f"{first.full_name}-missing"
    token = tmp_path / "token"
    token.write_text(credentials.tokens.ordinary)
    values = {
        "adminUrl": secured_pulsar.admin_url,
        "serviceUrl": secured_pulsar.service_url,
        "topics": f"{first.full_name},{second.full_name},{missing}",
        "tokenFile": str(token),
        "caFile": str(credentials.ca),
    }
    output = tmp_path / "audit"

    def permit(topic: RetainedTopic) -> None:
        secured_pulsar.call("POST", f"{topic.path}/permissions/app", ["consume"])

    def survey_and_forbid(*arguments: Any) -> Survey:
        taken = survey(*arguments)
        secured_pulsar.call("DELETE", f"{second.path}/permissions/app")
        return taken

    with open_superuser(secured_pulsar, credentials) as client:
        first.send(client, [b"1", b"2"])
        second.send(client, [b"1", b"2", b"3"])
    permit(first)
    result = audit(spark, values, output)
    assert (result.messages, set(result.unread)) == (2, {second.full_name, missing})
    assert "needs the permission to consume" in result.unread[second.full_name]
    permit(second)
    with monkeypatch.context() as patch:  # the permission goes after the survey, and before a task reads
        patch.setattr(application, "survey", survey_and_forbid)
        result = audit(spark, values, output)
    assert (result.messages, set(result.unread)) == (2, {second.full_name, missing})
    assert "needs the permission to consume" in result.unread[second.full_name]
    permit(second)
    result = audit(spark, values, output)
    assert (result.messages, set(result.unread)) == (5, {missing})
    texts = [path.read_bytes() for path in output.rglob("*") if path.is_file()]
    assert not any(credentials.tokens.ordinary.encode() in each for each in texts)


@pytest.mark.full
def test_an_audit_that_is_killed_between_the_writes_of_a_batch_loses_and_repeats_nothing(
    broker: Pulsar, tmp_path: Path
) -> None:
    topic = RetainedTopic.create(broker, partitions=2)
    with open_client(broker) as client:
        topic.send(client, [b"%d" % each for each in range(8_000)], batching_enabled=True, batching_max_messages=20)
    process = AuditProcess(options(topic, maxBytesPerTrigger="20k"), tmp_path)
    for _ in range(2):
        written = process.kill_when(lambda before, now: now.committed < now.written > before.written)
        planned = process.kill_when(lambda before, now: now.written < now.planned > before.planned)
        assert written.committed < planned.committed
    assert not (tmp_path / "tables").exists()
    assert process.run() == 8_000
