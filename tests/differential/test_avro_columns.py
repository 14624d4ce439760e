"""AVRO messages in columns, beside the values that Pulsar's Java client reads with the reader's schema."""

import base64
import random
from collections import Counter
from typing import Any

import pytest

from differential import oracle
from support.payloads import arrow_values, avro_messages
from support.sizes import sized
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.schemas import PulsarVersion
from topicschema.payload.arrow import decoder_for
from topicschema.payload.avro import reading
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.reasons import REASONS

pytestmark = pytest.mark.differential

PAIRS, MESSAGES = sized(400, 6_000), 4
SEED = 81_207
CLIENT_OF = {PulsarVersion.V4_0: None, PulsarVersion.V4_1: oracle.BROKER_OF[PulsarVersion.V4_1]}
"""Class paths; a broker's has the client's classes."""


def pair(number: int, pulsar_version: PulsarVersion) -> tuple[AvroSchema, AvroSchema, list[bytes]] | None:
    """Return a reader with a column, a writer, and messages, whole and broken ones; None if there are none."""
    rng = random.Random(SEED + number)  # noqa: S311  # seeds, not secrets
    schemas = avro_messages.pair(rng)
    if schemas is None:
        return None
    contents = []
    for _ in range(MESSAGES):
        try:
            contents.append(avro_messages.written(rng, schemas[1].root, 6))
        except (RecursionError, IndexError):
            continue
    try:
        reader, writer = (formats.parse(each.info, pulsar_version) for each in schemas)
        decoder_for(reader.info, writer.info, pulsar_version)
    except InvalidSchemaError:
        return None
    assert isinstance(reader, AvroSchema)
    assert isinstance(writer, AvroSchema)
    contents += [avro_messages.broken(rng, each) for each in contents]
    return (reader, writer, contents) if contents else None


@pytest.mark.parametrize("pulsar_version", [PulsarVersion.V4_0, PulsarVersion.V4_1])
def test_columns_have_what_a_java_consumer_of_the_reader_schema_reads(pulsar_version: PulsarVersion) -> None:
    pairs = [each for number in range(PAIRS) if (each := pair(number, pulsar_version)) is not None]
    met: Counter[str] = Counter()
    read: list[tuple[AvroSchema, AvroSchema, bytes, Any]] = []
    for reader, writer, contents in pairs:
        result = decoder_for(reader.info, writer.info, pulsar_version).decode(Column.of(contents))
        values = arrow_values.plain(result.array, reader.root)
        for content, reason, is_bad, value in zip(
            contents, result.verdicts.reasons, result.is_bad, values, strict=True
        ):
            met[REASONS[reason] if is_bad or not reason else "tolerated"] += 1
            if not is_bad:
                read.append((reader, writer, content, value))
    answers = oracle.query(
        (
            {
                "op": "again",
                "schema": writer.info.schema.decode(),
                "reader": reader.info.schema.decode(),
                "payload": base64.b64encode(content).decode(),
            }
            for reader, writer, content, _ in read
        ),
        oracle.CLIENT,
        CLIENT_OF[pulsar_version],
    )
    wrong: list[object] = []
    for (reader, writer, content, value), answer in zip(read, answers, strict=True):
        theirs = base64.b64decode(answer.get("payload", ""))
        if answer["verdict"] is not True or not arrow_values.same(value, reading.read(reader.root, theirs, [])):
            wrong.append((reader.info, writer.info, content, value, answer))
    assert wrong == []
    assert met[""] > len(pairs)
    assert met["tolerated"] > len(pairs) // 10
    assert met.keys() >= {"CANNOT_READ", "INVALID_FOR_COLUMN"}
