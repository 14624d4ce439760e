"""The example of docs/spark.md, as a user runs it: Spark finds the data sources by itself."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.validation import topic_orders
from support.validation.topic_messages import RetainedTopic, Sent, open_client
from testbed.paths import REPOSITORY
from testbed.pulsar import Pulsar
from topicschema.core.schemas import SchemaInfo, SchemaType

pytestmark = [pytest.mark.timeout(600), pytest.mark.broker]

SHARE = topic_orders.Share(1_000)


def test_the_example_answers_its_questions(retaining_pulsar: Pulsar, tmp_path: Path) -> None:
    topic = RetainedTopic.create(retaining_pulsar)
    written = Sent(SchemaInfo(SchemaType.AVRO, json.dumps(topic_orders.WRITTEN).encode()))
    with open_client(retaining_pulsar) as client:
        for messages, count in SHARE.parts:
            sent = [messages[number % len(messages)][1] for number in range(count)]
            topic.send(client, sent, schema=written, batching_enabled=True)
    proposed = tmp_path / "proposed.avsc"
    proposed.write_text(json.dumps(topic_orders.NARROWER))
    urls = (topic.pulsar_source.admin_url, topic.pulsar_source.service_url)
    command = [sys.executable, str(REPOSITORY / "docs" / "spark-example.py"), *urls, topic.full_name, str(proposed)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    cells = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in run.stdout.splitlines() if "|" in line]
    assert ("0", str(SHARE.messages)) in {cell[:2] for cell in cells}
    assert f"readable: {SHARE.messages - SHARE.cut}" in run.stdout
    assert ("0", "TRUNCATED", "$.note", str(SHARE.cut)) in cells
    assert ("0", "UNKNOWN_SYMBOL", "$.status", str(SHARE.lost)) in cells
