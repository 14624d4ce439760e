"""The clients' own schemas at a broker where only Git adds schemas, type by type: docs/clients.md has the table.

The controller registers everything, in another spelling than the clients' wherever a person would write another. The
Java test takes half a minute: it registers a topic for each type, and starts three JVMs.
"""

import base64
import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import _pulsar
import grpc_tools
import pulsar as python
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from pulsar.schema import AvroSchema, BytesSchema, Integer, JsonSchema, ProtobufNativeSchema, Record, Schema, String
from pulsar.schema import StringSchema as PythonString

from broker.clients.attempts import JAVA_CLIENT
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import BrokeredTopic
from testbed import maven
from testbed.build import Recipe, build
from testbed.progress import Progress
from topicschema.core.schemas import PRIMITIVES

pytestmark = [pytest.mark.timeout(300), pytest.mark.broker]

HERE = Path(__file__).parent
STRUCTURED = ("AVRO", "JSON", "PROTOBUF")
PAIRS = ("KEY_VALUE INLINE", "KEY_VALUE SEPARATED")
OF_JAVA = (*(kind.value for kind in PRIMITIVES), *STRUCTURED, *PAIRS, "PROTOBUF_NATIVE")

OF_GO = ("AVRO", "JSON", "STRING", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "PROTOBUF_NATIVE")


class Order(Record):
    id = String()
    count = Integer()


@pytest.fixture
async def locked(shop: BrokeredShop) -> BrokeredShop:
    """Return a Pulsar namespace to which only the operator adds schemas."""
    reason = maven.why_absent()
    if reason is not None:
        pytest.skip(f"no Java client: {reason}")
    shop.govern(schemaCompatibilityStrategy="FULL", isAllowAutoUpdateSchema=False, unmanagedTopics={"exempt": ["*"]})
    await shop.policy_ready("Active")
    return shop


def run_java(*requests: Mapping[str, str], url: str) -> list[dict[str, Any]]:
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    output = maven.run_java(HERE / "OwnSchemas.java", url, stdin=lines, pom=JAVA_CLIENT)
    return [json.loads(line) for line in output.splitlines()]


def rewritten(text: str, **more: str) -> str:
    """Return the same schema as a person may write it."""
    return json.dumps({**json.loads(text), **more}, indent=4)


def in_git(own: str, schema: bytes) -> dict[str, Any]:
    """Return the spec of a TopicSchema with the schema that the client sends."""
    kind, _, encoding = own.partition(" ")
    if encoding:
        value = {"type": "AVRO", "schema": rewritten(schema[8:].decode())}  # behind the lengths of both parts
        pair = {"encoding": encoding, "key": {"type": "STRING"}, "value": value}
        return {"type": kind, "schema": "", "keyValue": pair}
    text = schema.decode()
    return {"type": kind, "schema": rewritten(text, doc="what an order is") if kind in STRUCTURED else text}


def read_by(properties: Mapping[str, str]) -> dict[str, str]:
    """Omit the parts' names and own properties: a client reads a pair by its parts' types and its encoding."""
    silent = {f"{side}.schema.{member}" for side in ("key", "value") for member in ("name", "properties")}
    return {name: value for name, value in properties.items() if name not in silent}


def named(own: str) -> str:
    return own.lower().replace("_", "-").replace(" ", "-")


def path(topic: BrokeredTopic) -> str:
    return f"persistent://{topic.rest.namespace}/{topic.rest.name}"


@contextlib.contextmanager
def client(shop: BrokeredShop) -> Iterator[python.Client]:
    opened = python.Client(shop.pulsar.service_url)
    try:
        yield opened
    finally:
        opened.close()


def exchange(client: python.Client, topic: str, schema: Schema, value: Any) -> Any:
    """Send a value and return what a consumer receives, both with that schema."""
    consumer = client.subscribe(topic, "python", schema=schema)
    producer = client.create_producer(topic, schema=schema)
    producer.send(value)
    received = consumer.receive(30_000).value()
    producer.close()
    consumer.close()
    return received


async def test_javas_own_schemas_of_every_type_connect_and_its_admin_client_reads_them(locked: BrokeredShop) -> None:
    sent = run_java(*({"own": own} for own in OF_JAVA), url=locked.pulsar.service_url)
    texts = {own: base64.b64decode(each["schema"]) for own, each in zip(OF_JAVA, sent, strict=True)}
    topics = {own: BrokeredTopic(locked, named(own)) for own in OF_JAVA}
    for own, topic in topics.items():
        topic.put(**in_git(own, texts[own]))
    for topic in topics.values():
        await topic.ready()
    reordered = BrokeredTopic(locked, "reordered")
    spec = in_git(PAIRS[0], texts[PAIRS[0]])
    members = json.loads(spec["keyValue"]["value"]["schema"])
    spec["keyValue"]["value"]["schema"] = json.dumps(dict(reversed(members.items())))
    reordered.put(**spec)
    await reordered.ready()

    requests = [{"own": own, "topic": path(topic)} for own, topic in topics.items()]
    results = run_java(*requests, {"own": PAIRS[0], "topic": path(reordered)}, url=locked.pulsar.service_url)
    assert results[:-1] == [{"error": None, "same": True}] * len(OF_JAVA)
    assert results[-1] == {"error": "IncompatibleSchema"}, "of a pair, the order of members must be the client's"
    assert {tuple(topic.rest.versions()) for topic in topics.values()} == {(0,)}

    names = "".join(path(topic) + "\n" for topic in topics.values())
    read = maven.run_java(HERE.parent / "admin" / "SchemaReader.java", locked.pulsar.admin_url, stdin=names)
    for own, line, by_client in zip(OF_JAVA, read.splitlines(), sent, strict=True):
        (version,) = json.loads(line)
        assert read_by(version["properties"]) == (read_by(by_client["properties"]) if own in PAIRS else {})
        registered = base64.b64decode(version["schema"])
        assert version["type"] == own.partition(" ")[0]
        assert registered == texts[own] or (own in STRUCTURED and json.loads(registered)["doc"] == "what an order is")


async def test_pythons_avro_and_json_connect_with_the_schema_in_git(locked: BrokeredShop) -> None:
    for kind, schema in (("AVRO", AvroSchema(Order)), ("JSON", JsonSchema(Order))):
        topic = BrokeredTopic(locked, kind.lower())
        topic.put(rewritten(schema.schema_info().schema(), doc="what an order is"), type=kind)
        await topic.ready()
        with client(locked) as opened:
            received = exchange(opened, path(topic), schema, Order(id="a", count=1))
        assert (received.id, received.count) == ("a", 1)
        assert topic.rest.versions() == [0]


@pytest.mark.parametrize("kind", ["STRING", "PROTOBUF_NATIVE"])
async def test_python_connects_once_its_own_text_was_in_git_too(locked: BrokeredShop, kind: str) -> None:
    schema, value = {
        "STRING": (PythonString(), "héllo"),
        "PROTOBUF_NATIVE": (ProtobufNativeSchema(Timestamp), Timestamp(seconds=7)),
    }[kind]
    text = schema.schema_info().schema()
    topic = BrokeredTopic(locked)
    topic.put("" if kind == "STRING" else json.dumps(json.loads(text), separators=(",", ":")), type=kind)
    await topic.ready()
    with client(locked) as opened:
        with pytest.raises(_pulsar.IncompatibleSchema):
            opened.create_producer(path(topic), schema=schema)
        topic.put(text, type=kind)
        assert (await topic.ready())["schemaVersion"] == 1
        assert exchange(opened, path(topic), schema, value) == value
    assert topic.rest.versions() == [0, 1]


async def test_a_client_without_a_schema_connects_under_the_lock(locked: BrokeredShop) -> None:
    topic = BrokeredTopic(locked)
    topic.put("", type="INT64")
    await topic.ready()
    with client(locked) as opened:
        assert exchange(opened, path(topic), BytesSchema(), bytes(8)) == bytes(8)


@pytest.mark.full
async def test_gos_own_schemas_connect_with_the_application_text_in_git(locked: BrokeredShop) -> None:
    program = build(Recipe("pulsar-client-go", HERE / "go", {"schemas": "."}, "-s -w"), Progress()) / "schemas"

    def run_go(*requests: Mapping[str, str]) -> list[dict[str, Any]]:
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        done = subprocess.run(
            [program, locked.pulsar.service_url], input=lines, capture_output=True, text=True, check=True
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    topics = {own: BrokeredTopic(locked, named(own)) for own in OF_GO}
    sent = run_go(*({"own": own} for own in OF_GO))
    for (own, topic), each in zip(topics.items(), sent, strict=True):
        if own == "PROTOBUF_NATIVE":
            file = Timestamp.DESCRIPTOR.file.name
            source = (Path(grpc_tools.__file__).parent / "_proto" / file).read_text()
            topic.put("", type=own, protobuf={"message": Timestamp.DESCRIPTOR.full_name, "files": {file: source}})
        else:
            topic.put(**in_git(own, base64.b64decode(each["schema"] or "")))
    for topic in topics.values():
        await topic.ready()
    results = run_go(*({"own": own, "topic": path(topic)} for own, topic in topics.items()))
    assert results == [{"error": None, "same": True}] * len(OF_GO)
    assert {tuple(topic.rest.versions()) for topic in topics.values()} == {(0,)}
