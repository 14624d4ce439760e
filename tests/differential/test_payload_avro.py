"""Avro messages, whole and broken, beside the reader and writer that Pulsar's Java client has for generic records."""

import base64
import json
import random
from collections import Counter

import pytest

from differential import oracle
from support.payloads import avro_node_values, avro_values
from support.schemas import avro_readings
from support.sizes import sized
from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidPayloadError, InvalidSchemaError
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.payload.avro import reading

pytestmark = pytest.mark.differential

MESSAGES = sized(2_000, 6_000)
SEED = 11_104
CLIENT_OF = {PulsarVersion.V4_0: None, PulsarVersion.V4_1: oracle.BROKER_OF[PulsarVersion.V4_1]}
"""Class paths; a broker's has the client's classes."""


def broken(rng: random.Random, content: bytes) -> bytes:
    """Return the bytes with some bits flipped, cut, or with more behind them."""
    out = bytearray(content or b"\0")
    for _ in range(rng.randint(1, 3)):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    roll = rng.random()
    return bytes(out[: rng.randrange(len(out))] if roll < 0.2 else out + b"\x01" if roll < 0.4 else out)


def message(rng: random.Random) -> tuple[str, Schema, bytes]:
    text = avro_values.schema(rng)
    schema = formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(text).encode()))
    content = payload.encode(schema, avro_values.value(rng, text)).payload or b""
    return json.dumps(text), schema, content if rng.random() < 0.3 else broken(rng, content)


def test_java_reads_what_we_read_and_fails_where_we_refuse() -> None:
    """Check all but numbers of too many bits, which Java cuts."""
    messages = [message(random.Random(SEED + number)) for number in range(MESSAGES)]  # noqa: S311  # seeds, not secrets
    answers = oracle.query(
        (
            {"op": "again", "schema": text, "payload": base64.b64encode(content).decode()}
            for text, _, content in messages
        ),
        oracle.CLIENT,
    )
    wrong: list[object] = []
    met: Counter[str] = Counter()
    for (text, schema, content), answer in zip(messages, answers, strict=True):
        findings = payload.validate(schema, content)
        fatal = next((each for each in findings if not each.is_tolerated), None)
        met.update([fatal.rule if fatal else "read", *(each.rule for each in findings if each.is_tolerated)])
        if fatal is not None:
            if (answer["verdict"] is True) and fatal.rule != "OUT_OF_RANGE":
                wrong.append((text, content, fatal, answer))
            continue
        theirs = base64.b64decode(answer.get("payload", ""))
        if answer["verdict"] is not True or not same(schema, content, theirs):
            wrong.append((text, content, findings, answer))
    assert wrong == []
    assert met.keys() >= {"read", "TRUNCATED", "UNION_INDEX", "ENUM_INDEX", "NEGATIVE_LENGTH"}
    assert met.keys() >= {"TRAILING_BYTES", "INVALID_UTF8", "INVALID_BOOLEAN", "BLOCK_SIZE"}
    assert met["read"] > MESSAGES // 3


def versions(number: int, pulsar_version: PulsarVersion) -> tuple[Schema, Schema, bytes] | None:
    """Return a writer's version, a reader's, and a message; None if they are none, or have none."""
    rng = random.Random(SEED + number)  # noqa: S311  # as above
    texts = avro_readings.pair(rng)
    try:
        reader, writer = (formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()), pulsar_version) for text in texts)
        root = writer.root  # type: ignore[attr-defined]  # AVRO has one
        content = payload.encode(writer, avro_node_values.value(rng, root)).payload
    except (InvalidSchemaError, InvalidPayloadError, RecursionError, IndexError):
        return None
    return None if content is None else (writer, reader, content)


def read_with(reader: Schema, writer: Schema, content: bytes) -> tuple[object, str | None]:
    """Return the value, or the rule that prevents it."""
    try:
        value, findings = payload.reader(reader, writer).read(content)
    except InvalidSchemaError as error:
        return None, error.rule
    return value, next((each.rule for each in findings if not each.is_tolerated), None)


@pytest.mark.parametrize("pulsar_version", [PulsarVersion.V4_0, PulsarVersion.V4_1])
def test_java_reads_a_message_with_another_version_as_we_do_and_fails_where_we_refuse(
    pulsar_version: PulsarVersion,
) -> None:
    cases = [each for number in range(MESSAGES) if (each := versions(number, pulsar_version)) is not None]
    answers = oracle.query(
        (
            {
                "op": "again",
                "schema": writer.info.schema.decode(),
                "reader": reader.info.schema.decode(),
                "payload": base64.b64encode(content).decode(),
            }
            for writer, reader, content in cases
        ),
        oracle.CLIENT,
        CLIENT_OF[pulsar_version],
    )
    wrong: list[object] = []
    met: Counter[str] = Counter()
    for (writer, reader, content), answer in zip(cases, answers, strict=True):
        value, fatal = read_with(reader, writer, content)
        met.update([fatal or "read"])
        if (fatal is None) != (answer["verdict"] is True):
            wrong.append((writer.info, reader.info, content, fatal, answer))
        elif fatal is None and in_order(value) != in_order(written(reader, base64.b64decode(answer["payload"]))):
            wrong.append((writer.info, reader.info, content, value, answer))
    assert wrong == []
    assert min(met["read"], met["UNRESOLVABLE"]) > len(cases) // 10


def written(schema: Schema, content: bytes) -> object:
    """Return the value as it was written, without conversions of a library."""
    return reading.read(schema.root, content, [])  # type: ignore[attr-defined]  # AVRO has one


def same(schema: Schema, ours: bytes, theirs: bytes) -> bool:
    """Return True if both have one value. Java writes a map's entries in an order of its own."""
    return in_order(payload.decode(schema, ours)) == in_order(payload.decode(schema, theirs))


def in_order(value: object) -> str:
    if isinstance(value, dict):
        return repr(sorted((key, in_order(each)) for key, each in value.items()))
    return repr([in_order(each) for each in value]) if isinstance(value, list) else repr(value)
