"""An audit of a namespace that has everything: its figures are those of what was sent, however it is read."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pulsar as python
import pytest

from support import sizes
from support.payloads import orders
from support.pulsar.rest_topic import RestTopic, record
from support.validation import audit_process
from support.validation.topic_filling import Message, fill
from testbed.pulsar import Pulsar
from testbed.pulsar_setup import Credentials
from topicschema.core.schemas import SchemaType
from topicschema.spark.audit import TABLES, application, audit, read_table
from topicschema.spark.audit.survey import Survey, survey

pytestmark = [pytest.mark.timeout(900), pytest.mark.broker]

AVRO = record('{"name": "id", "type": "int"}', '{"name": "note", "type": "string"}')
LONGER = record('{"name": "id", "type": "long"}', '{"name": "note", "type": "string"}')
PAIR = {
    "key.schema.name": "Id",
    "key.schema.type": "STRING",
    "key.schema.properties": "{}",
    "value.schema.name": "R",
    "value.schema.type": "AVRO",
    "value.schema.properties": "{}",
    "kv.encoding.type": "INLINE",
}
HOSTILE = ("<script>alert('1')</script>".replace("/", "\\"), 'a"b`=\u202e\\%41?#&', "'; DROP TABLE topics; --")
LARGE = 2_000_000 if sizes.IS_FULL else 20_000
UNKNOWN = 7
"""A version that no topic has."""
WIDTHS = {
    SchemaType.BOOLEAN: 1,
    SchemaType.INT8: 1,
    SchemaType.INT16: 2,
    SchemaType.INT32: 4,
    SchemaType.INT64: 8,
    SchemaType.FLOAT: 4,
    SchemaType.DOUBLE: 8,
    SchemaType.INSTANT: 12,
    SchemaType.LOCAL_DATE_TIME: 16,
    **dict.fromkeys((SchemaType.DATE, SchemaType.TIME, SchemaType.TIMESTAMP), 8),
    **dict.fromkeys((SchemaType.LOCAL_DATE, SchemaType.LOCAL_TIME), 8),
}


class Filled(NamedTuple):
    """Content of a topic: its schemas, and its messages with the numbers of their versions. `bad` cannot be read."""

    schemas: tuple[str, ...] = ()
    kind: str = "AVRO"
    good: tuple[Message, ...] = ()
    bad: tuple[Message, ...] = ()
    properties: Mapping[str, str] | None = None


def text(content: bytes) -> bytes:
    return bytes([2 * len(content)]) + content


GOOD = b"\x02" + text(b"note")
ORDERS = orders.protobuf_schema()
TOPICS: dict[str, Filled] = {
    **{f"empty-{number}": Filled((AVRO,)) for number in range(5)},
    **{f"forbidden-{number}": Filled((AVRO,), good=((0, GOOD),)) for number in range(2)},
    **{
        name: Filled((AVRO,), good=((0, GOOD),) * 4, bad=((UNKNOWN, GOOD),) * 3 + ((0, b"\x02\x08no"),))
        for name in HOSTILE[:2]
    },
    HOSTILE[2]: Filled((AVRO, LONGER), good=((0, GOOD), (1, GOOD)) * 5, bad=((1, b""),)),
    **{
        kind.value: Filled(("",), kind.value, ((0, bytes(width)),) * 7, ((0, bytes(width + 1)),) * 2)
        for kind, width in WIDTHS.items()
    },
    "STRING": Filled(("",), "STRING", ((0, "é<b>".encode()),) * 3, ((0, b"\xff"),)),
    "BYTES": Filled(("",), "BYTES", ((0, b"<script>\0\xff"),) * 3),
    "JSON": Filled((AVRO,), "JSON", ((0, b'{"id": 1, "note": "<b>"}'),) * 3, ((0, b'{"id": "</script>", "note": 1}'),)),
    "PROTOBUF_NATIVE": Filled(
        (ORDERS.schema.decode(),),
        "PROTOBUF_NATIVE",
        tuple((0, each) for each in orders.protobuf_payloads(5, bad=0)),
        ((0, b"\x0a\x05"),),
    ),
    "KEY_VALUE": Filled(
        (f'{{"key":"","value":{AVRO}}}',),
        "KEY_VALUE",
        ((0, b"\0\0\0\1k" + len(GOOD).to_bytes(4, "big") + GOOD),) * 4,
        ((0, b"\0\0\0\1k\0\0\0\1\x02"),) * 2,
        PAIR,
    ),
    "large": Filled(
        (AVRO, LONGER), good=((0, GOOD), (1, GOOD)) * (LARGE // 2 - 50), bad=((1, GOOD[:-1]), (0, GOOD[:-2])) * 50
    ),
}


class Shop(NamedTuple):
    """A namespace with the topics, and the options of an audit of it by a role that may not read two of them."""

    broker: Pulsar
    namespace: str
    options: Mapping[str, str]

    def topic(self, name: str) -> RestTopic:
        return RestTopic(self.broker, self.namespace, name)

    def by_name(self, session: Any, folder: Path, table: str) -> dict[str, Any]:
        """Return the rows of a table with one row a topic, by the topic's local name."""
        rows = read_table(session, folder, table).collect()
        return {self.local(row.topic): row for row in rows}

    def local(self, topic: str) -> str:
        """Return the local name of a topic."""
        return topic.removeprefix(f"persistent://{self.namespace}/")


@pytest.fixture(scope="module")
def shop(secured_pulsar: Pulsar, credentials: Credentials, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    namespace = secured_pulsar.create_namespace()
    token = tmp_path_factory.mktemp("token") / "token"
    token.write_text(credentials.tokens.ordinary)
    options = {
        "adminUrl": secured_pulsar.admin_url,
        "serviceUrl": secured_pulsar.service_url,
        "namespace": namespace,
        "tokenFile": str(token),
        "caFile": str(credentials.ca),
        "maxBytesPerPartition": "40k",
    }
    shop = Shop(secured_pulsar, namespace, options)
    retention = {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}
    secured_pulsar.call("POST", f"/namespaces/{namespace}/retention", retention)
    secured_pulsar.call("PUT", f"/namespaces/{namespace}/schemaCompatibilityStrategy", "BACKWARD")
    secured_pulsar.call("POST", f"/namespaces/{namespace}/permissions/app", ["produce"])  # which may list the topics
    for name, filled in TOPICS.items():
        topic = shop.topic(name)
        secured_pulsar.call("PUT", topic.itself)
        for schema in filled.schemas:
            topic.upload_version(schema, filled.kind, filled.properties)
        if not name.startswith("forbidden"):
            secured_pulsar.call("POST", f"{topic.itself}/permissions/app", ["consume"])
        messages = (*filled.good, *filled.bad)
        if messages:
            fill(secured_pulsar.service_url, f"persistent://{namespace}/{name}", messages, len(messages), credentials)
    send_properties(shop, credentials)
    return shop


def send_properties(shop: Shop, credentials: Credentials) -> None:
    """Send a message without a version whose properties and key would break a table or a page."""
    client = python.Client(
        shop.broker.service_url,
        authentication=python.AuthenticationToken(credentials.tokens.superuser),
        tls_trust_certs_file_path=str(credentials.ca),
        logger=python.ConsoleLogger(python.LoggerLevel.Error),
    )
    with closing(client):
        producer = client.create_producer(f"persistent://{shop.namespace}/BYTES")
        properties = {"</script>": "\u202e\0", "": "'\"`"}
        producer.send(b"\xff" * 9, properties=properties, partition_key="<b>\n")


def tables(session: Any, folder: Path) -> Mapping[str, Counter[str]]:
    """Return the rows of all tables, as texts."""
    return {name: Counter(map(str, read_table(session, folder, name).collect())) for name in TABLES}


def run_on_one_thread(shop: Shop, folder: Path) -> int:
    """Return the number of messages of an audit in a process with one core."""
    (core, *_) = sorted(os.sched_getaffinity(0))
    command = ["taskset", "-c", str(core), sys.executable, "-m", audit_process.__name__, str(folder)]
    done = subprocess.run(command, input=json.dumps(shop.options), capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_figures_of_an_audit_are_those_of_what_was_sent(spark: Any, shop: Shop, tmp_path: Path) -> None:
    result = audit(spark, shop.options, tmp_path / "audit")
    readable = {name: each for name, each in TOPICS.items() if not name.startswith("forbidden")}
    topics = shop.by_name(spark, tmp_path / "audit", "topics")
    assert topics.keys() == TOPICS.keys()
    assert {name for name, row in topics.items() if row.error} == {"forbidden-0", "forbidden-1"}
    sent = {name: len(each.good) + len(each.bad) + (name == "BYTES") for name, each in readable.items()}
    assert {name: topics[name].messages for name in readable} == sent
    assert {name: topics[name].unknown_versions for name in readable if topics[name].unknown_versions} == {
        name: [UNKNOWN] for name in HOSTILE[:2]
    }
    verdicts = shop.by_name(spark, tmp_path / "audit", "verdicts")
    assert {name: (row.readable, row.losses + row.unreadable) for name, row in verdicts.items()} == {
        name: (len(each.good) + (name == "BYTES"), len(each.bad)) for name, each in readable.items()
    }
    versions: Counter[Any] = Counter()
    for row in read_table(spark, tmp_path / "audit", "messages_by_version").collect():
        versions[shop.local(row.topic), row.schema_version] += row.messages
    expected = Counter((name, version) for name, each in readable.items() for version, _ in (*each.good, *each.bad))
    assert versions == expected + Counter({("BYTES", None): 1})
    assert (result.messages, result.bad) == (sum(sent.values()), sum(len(each.bad) for each in readable.values()))


@pytest.mark.full
def test_one_thread_a_restart_of_the_broker_and_a_deleted_topic_change_no_other_figure(
    spark: Any, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wait for a JVM to start."""
    calm = audit(spark, shop.options, tmp_path / "calm")
    assert run_on_one_thread(shop, tmp_path / "one") == calm.messages
    assert tables(spark, tmp_path / "one") == tables(spark, tmp_path / "calm")

    def survey_and_break(*arguments: Any) -> Survey:
        taken = survey(*arguments)
        shop.broker.call("DELETE", f"{shop.topic('STRING').itself}?force=true")
        assert shop.broker.program is not None
        shop.broker.program.kill()
        shop.broker.start()
        return taken

    monkeypatch.setattr(application, "survey", survey_and_break)
    result = audit(spark, shop.options, tmp_path / "broken")
    gone = f"persistent://{shop.namespace}/STRING"
    assert gone in result.unread
    before, after = (tables(spark, tmp_path / name) for name in ("calm", "broken"))
    for name in TABLES:
        assert {row for row in before[name] if gone not in row} == {row for row in after[name] if gone not in row}
