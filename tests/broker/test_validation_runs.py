"""Whole runs over a real topic: each type's messages judged to exact figures, by age too, and by the command.

Each process that judges compiles programs or loads them first: some seconds.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet

from support.schemas.protobuf_schemas import envelope
from support.validation.topic_messages import RetainedTopic, Sent, open_client, rows
from testbed.pulsar import Pulsar
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation.report.report import Report
from topicschema.validation.request import Sample, ValidationRequest
from topicschema.validation.run import runner
from topicschema.validation.sources.opening import source_of

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]
GOOD, BAD = 60, 3
VERSIONLESS = {SchemaType.INT32, SchemaType.KEY_VALUE}
"""Types that Python's client has no schema for which the broker would give a version: their messages name none."""


@dataclass(frozen=True, slots=True)
class Case:
    """The writer's and the reader's schema of messages; a good message and a bad one, each with its key."""

    written: SchemaInfo
    proposed: SchemaInfo
    good: tuple[bytes, str]
    bad: tuple[bytes, str]
    finding: tuple[str, str]


def record(kind: SchemaType, *fields: tuple[str, str]) -> SchemaInfo:
    members = [{"name": name, "type": type_} for name, type_ in fields]
    return SchemaInfo(kind, json.dumps({"type": "record", "name": "R", "fields": members}).encode())


def numbered(*names: str) -> SchemaInfo:
    """Return a protobuf message with int32 fields of these names, numbered from 1."""
    files = FileDescriptorSet()
    message = files.file.add(name="m.proto", package="p", syntax="proto3").message_type.add(name="M")
    for number, name in enumerate(names, 1):
        kind, label = FieldDescriptorProto.TYPE_INT32, FieldDescriptorProto.LABEL_OPTIONAL
        message.field.add(name=name, number=number, type=kind, label=label, json_name=name)
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope(files, "p.M", "m.proto")).encode())


def pair(encoding: Encoding, value: SchemaInfo) -> SchemaInfo:
    return encode(KeyValue(Part(SchemaInfo(SchemaType.INT32)), Part(value), encoding), {})


def inline(key: bytes, value: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in (key, value))


ONE, TWO = (record(SchemaType.AVRO, *fields) for fields in ((("n", "int"),), (("n", "long"),)))
CASES = {
    "AVRO": Case(ONE, TWO, (b"\x02", ""), (b"\x82", ""), ("TRUNCATED", "$.n")),
    "JSON": Case(
        record(SchemaType.JSON, ("n", "int")),
        record(SchemaType.JSON, ("n", "long")),
        *((b'{"n":1}', ""), (b'{"n":[]}', ""), ("WRONG_TYPE", "$.n")),
    ),
    "PROTOBUF_NATIVE": Case(
        numbered("a"), numbered("a", "b"), (b"\x08\x01", ""), (b"\x08\x81", ""), ("TRUNCATED", "$.a")
    ),
    "STRING": Case(
        *(SchemaInfo(SchemaType.STRING), SchemaInfo(SchemaType.STRING)),
        *((b"text", ""), (b"t\xff", ""), ("INVALID_UTF8", "$")),
    ),
    "INT32": Case(
        *(SchemaInfo(SchemaType.INT32), SchemaInfo(SchemaType.INT32)),
        *((b"four", ""), (b"ten", ""), ("TRUNCATED", "$")),
    ),
    "KEY_VALUE INLINE": Case(
        *(pair(Encoding.INLINE, ONE), pair(Encoding.INLINE, ONE)),
        *((inline(b"four", b"\x02"), ""), (inline(b"four", b"\x82"), ""), ("TRUNCATED", "$.value.n")),
    ),
    "KEY_VALUE SEPARATED": Case(
        *(pair(Encoding.SEPARATED, ONE), pair(Encoding.SEPARATED, ONE)),
        *((b"\x02", "four"), (b"\x02", "ten"), ("TRUNCATED", "$.key")),
    ),
}


def filled(pulsar: Pulsar, case: Case) -> RetainedTopic:
    """Return a topic with the case's messages: some alone, some in batches."""
    topic = RetainedTopic.create(pulsar)
    schema = {} if case.written.properties else {"schema": Sent(case.written)}
    with open_client(pulsar) as client:
        turns = ((GOOD // 2, case.good, False), (BAD, case.bad, True), (GOOD - GOOD // 2, case.good, True))
        for count, (payload, key), batched in turns:
            topic.send(client, [payload] * count, key=key, batching_enabled=batched, **schema)
    return topic


def run(topic: RetainedTopic, case: Case, **more: Any) -> Report:
    request = ValidationRequest(case.proposed, {0: case.written}, topic.full_name, pulsar=topic.pulsar_source, **more)
    return runner.run(request, source_of(request, int(time.time() * 1000)), workers=1)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_type_s_messages_are_judged_to_exact_figures(pulsar: Pulsar, case: Case) -> None:
    topic = filled(pulsar, case)
    report = run(topic, case).document
    reason, path = case.finding
    assert [(each["reason"], each["path"], each["messages"]) for each in report["byPlace"]] == [(reason, path, BAD)]
    assert (report["messages"], report["invalid"]) == (GOOD + BAD, BAD)
    version = None if case.written.type in VERSIONLESS else 0
    assert [(each["schemaVersion"], each["messages"], each["invalid"]) for each in report["byWriter"]] == [
        (version, GOOD + BAD, BAD)
    ]
    assert len(topic.receipts[case.bad]) == BAD
    assert {each["message"] for each in report["examples"]} == topic.receipts[case.bad]
    assert {each["partition"] for each in report["examples"]} == {topic.full_name}


def test_a_run_judges_what_is_young_enough_and_nothing_older(pulsar: Pulsar) -> None:
    case = CASES["AVRO"]
    topic = RetainedTopic.create(pulsar)
    with open_client(pulsar) as client:
        for turn in range(3):
            time.sleep(2.5 if turn else 0)  # a run knows the time to two seconds
            topic.send(client, [b"\x02"] * 5, schema=Sent(case.written), batching_enabled=True)
    times = sorted(row["publish_time"] for row in rows(topic.source()))
    for first in (times[5], times[10]):
        seconds = (int(time.time() * 1000) - first) // 1000 + 1
        report = run(topic, case, sample=Sample(since_seconds=seconds)).document
        began = int(datetime.fromisoformat(report["startedAt"]).timestamp() * 1000)  # or up to a second later
        earliest, latest = (began - 1000 * seconds, began + 1000 - 1000 * seconds)
        most, fewest = (sum(each >= since for each in times) for since in (earliest, latest))
        assert fewest <= report["messages"] <= most < len(times)


def test_a_sample_of_batches_counts_messages_and_not_entries(pulsar: Pulsar) -> None:
    case = CASES["AVRO"]
    topic = RetainedTopic.create(pulsar)
    with open_client(pulsar) as client:
        batches = {"batching_enabled": True, "batching_max_messages": 100}
        topic.send(client, [b"\x02"] * 6_000, schema=Sent(case.written), **batches)
    entries = {(row["ledger"], row["entry"]) for row in rows(topic.source())}
    assert len(entries) < 300
    report = run(topic, case, sample=Sample(max_messages=1_500)).document
    assert len(entries) < report["messages"] < 3_000  # as a number of entries it would be every message
    assert report["messages"] + report["leftOut"] == 6_000
    assert report["notes"] == []


def command(folder: Path, case: Case, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run `topicschema validate-messages` over the topic."""
    for name, info in (("new", case.proposed), ("old", case.written)):
        (folder / f"{name}.avsc").write_bytes(info.schema)
    where = ["--schema", str(folder / "new.avsc"), "--history", str(folder / "old.avsc")]
    return subprocess.run(
        [sys.executable, "-m", "topicschema", "validate-messages", *where, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_command_has_the_same_result_and_fails_if_no_broker_responds(pulsar: Pulsar, tmp_path: Path) -> None:
    case = CASES["AVRO"]
    topic = filled(pulsar, case)
    urls = ("--pulsar", topic.pulsar_source.admin_url, topic.pulsar_source.service_url)
    done = command(tmp_path, case, "--since", "1h", "--writers", *urls, topic.full_name)
    assert done.returncode == 1, done.stderr
    assert "TRUNCATED" in done.stdout
    assert f"{GOOD + BAD} messages judged, {BAD} invalid" in done.stdout
    nowhere = ("--pulsar", "http://127.0.0.1:9", "pulsar://127.0.0.1:9", topic.full_name)
    assert command(tmp_path, case, *nowhere).returncode == 3
