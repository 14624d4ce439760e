"""Audits as a pod runs them: a program with its configuration in files, and tables in an object store by S3A."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyarrow import dataset, fs

from support.validation import topic_orders
from support.validation.object_store import ObjectStore
from support.validation.topic_messages import RetainedTopic, Sent, open_client
from testbed import maven
from testbed.instances import Instance
from testbed.paths import REPOSITORY
from testbed.pulsar import Pulsar
from topicschema.api.wire import encode
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation.job import audits
from topicschema.validation.job.audits import AuditConfig, AuditDocument
from topicschema.validation.job.manifest import EXECUTOR_TEMPLATE

pytestmark = [pytest.mark.timeout(600), pytest.mark.broker]

_SECONDS = 300


@pytest.fixture
def store(instance: Instance, tmp_path: Path) -> ObjectStore:
    """Return a store with an empty bucket."""
    (tmp_path / "buckets" / "audit").mkdir(parents=True)
    return ObjectStore.start(instance, tmp_path / "buckets")


@dataclass(frozen=True)
class Pod:
    """The program of an audit, in local mode: it has the files and the identity of a pod."""

    folder: Path
    store: ObjectStore

    @property
    def termination(self) -> Path:
        return self.folder / "termination-log"

    def configure(self, topic: RetainedTopic, **options: str) -> None:
        source = topic.pulsar_source
        values = {"adminUrl": source.admin_url, "serviceUrl": source.service_url, "namespace": topic.namespace}
        output = self.store.uri("audit/prod/shop")
        config = AuditConfig(options=values | options, output=output, proposed="FULL", max_executors=0)
        self.folder.mkdir(exist_ok=True)
        (self.folder / audits.CONFIG_FILE).write_text(json.dumps(encode(config)))
        (self.folder / EXECUTOR_TEMPLATE).write_text(json.dumps({"spec": {"containers": [{"resources": {}}]}}))

    def start(self) -> "subprocess.Popen[bytes]":
        self.termination.unlink(missing_ok=True)
        jars = maven.jars(REPOSITORY / "images" / "validation" / "pom.xml")
        environment = (
            os.environ
            | self.store.environment
            | {
                "PYSPARK_SUBMIT_ARGS": f"--driver-class-path {jars}/* pyspark-shell",
                "PYSPARK_PYTHON": sys.executable,
            }
        )
        command = [sys.executable, "-m", "topicschema.spark.audit.driver", str(self.folder)]
        command += ["--termination-log", str(self.termination)]
        return subprocess.Popen(command, env=environment, start_new_session=True)

    def run(self) -> AuditDocument:
        with self.start() as process:
            assert process.wait(_SECONDS) == 0, self.termination.read_text()
        document = audits.read_document(self.termination.read_text())
        assert document is not None
        return document

    def kill_after_facts(self) -> None:
        """Kill an audit as soon as it has written facts."""
        log = self.store.folder / "audit/prod/shop/facts/_spark_metadata"
        before, end = _count(log), time.monotonic() + _SECONDS
        with self.start() as process:
            while _count(log) == before and process.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGKILL)
        assert _count(log) > before

    def rows(self, uri: str, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table, as another program reads it."""
        place = f"{self.store.host}:{self.store.port}"
        system = fs.S3FileSystem(
            access_key=self.store.key, secret_key=self.store.secret, endpoint_override=place, scheme="http"
        )
        path = f"{uri.removeprefix('s3://')}/{table}"
        rows: list[dict[str, Any]] = (
            dataset.dataset(path, filesystem=system, partitioning="hive").to_table().to_pylist()
        )
        return rows


def _count(log: Path) -> int:
    return sum(each.name.isdecimal() for each in log.iterdir()) if log.exists() else 0


@pytest.fixture
def pod(store: ObjectStore, tmp_path: Path) -> Pod:
    return Pod(tmp_path / "request", store)


@pytest.mark.parametrize("is_killed", [False, pytest.param(True, marks=pytest.mark.full)])
def test_audits_in_a_store_count_each_message_once(retaining_pulsar: Pulsar, pod: Pod, *, is_killed: bool) -> None:
    orders = RetainedTopic.create(retaining_pulsar)
    share = topic_orders.Share(2_000)
    written = Sent(SchemaInfo(SchemaType.AVRO, json.dumps(topic_orders.WRITTEN).encode()))
    with open_client(retaining_pulsar) as client:
        for messages, count in share.parts:
            sent = [messages[number % len(messages)][1] for number in range(count)]
            orders.send(client, sent, schema=written, batching_enabled=True)
        pod.configure(orders)
        first = pod.run()
        figures = first.figures
        assert (figures.topics, figures.messages, figures.invalid) == (1, share.messages, share.cut)
        assert first.newly_invalid == (orders.full_name,)
        (finding,) = figures.findings
        assert (finding.topic, finding.rule, finding.messages) == (orders.full_name, "TRUNCATED", share.cut)
        assert figures.tables.startswith("s3://audit/prod/shop/tables-")
        orders.send(client, [b""] * 3, schema=written)
        if is_killed:
            pod.kill_after_facts()
        second = pod.run()
    assert (second.figures.messages, second.figures.invalid) == (share.messages + 3, share.cut + 3)
    assert second.newly_invalid == ()
    (verdict,) = pod.rows(second.figures.tables, "verdicts")
    assert (verdict["readable"], verdict["unreadable"]) == (share.messages - share.cut, share.cut + 3)
    by_version = pod.rows(second.figures.tables, "messages_by_version")
    assert sum(row["messages"] for row in by_version) == share.messages + 3
    assert (pod.store.folder / "audit/prod/shop/audit.html").read_text().startswith("<!DOCTYPE html>")
