"""Speed of messages as Arrow columns: one core, processor time, beside spark-avro's from_avro over the same messages.

The messages are flat records with as many fields as an event has, and the orders of the pipeline benchmark. The anchor
reads Parquet, too. Both write each field of each message; ours also checks what the validator checks.
"""

import gc
import json
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks import orders, pipeline
from benchmarks.rows import Goal, Row, beside
from testbed import maven
from topicschema import payload
from topicschema.core import formats
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.arrow import decoder_for
from topicschema.payload.columnar.column import Column

_POOL, _BATCH, _COUNT, _ROUNDS = 20_000, 25_000, 1_000_000, 5
_FLAT: dict[str, Any] = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "customer", "type": "long"},
        {"name": "created", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "currency", "type": {"type": "enum", "name": "Currency", "symbols": ["EUR", "USD", "GBP"]}},
        {"name": "status", "type": ["null", "string"]},
        {"name": "quantity", "type": "int"},
        {"name": "price", "type": "double"},
        {"name": "total", "type": "double"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "paid", "type": "boolean"},
    ],
}

Messages = Sequence[tuple[int, bytes]]
"""Messages, each with the number of its writer."""


def measure() -> Iterator[Row]:
    """Yield the rows."""
    yield _measured("flat records", _FLAT, (_FLAT,), flat(_POOL), Goal(1, at_most=False))
    made = orders.made(_POOL)
    parsed = [formats.parse(info(each)) for each in made.writers]
    contents = [(number, payload.encode(parsed[number], value).payload or b"") for number, value in made.messages]
    yield _measured("orders with lists and maps, three versions", made.reader, made.writers, contents)


def flat(count: int) -> Messages:
    """Return flat records."""
    rng = random.Random(91)  # noqa: S311  # a seed, not a secret
    schema = formats.parse(info(_FLAT))
    values = [
        {
            "id": f"{rng.getrandbits(64):016x}",
            "customer": rng.randint(1, 2**40),
            "created": 1_760_000_000_000 + rng.randint(0, 10**10),
            "currency": rng.choice(("EUR", "USD", "GBP")),
            "status": rng.choice((None, "open", "packed", "delivered")),
            "quantity": rng.randint(1, 90),
            "price": rng.random() * 100,
            "total": rng.random() * 1_000,
            "note": rng.choice((None, None, "Please call before you come.")),
            "paid": rng.random() < 0.8,
        }
        for _ in range(count)
    ]
    return [(0, payload.encode(schema, each).payload or b"") for each in values]


def info(text: dict[str, Any]) -> SchemaInfo:
    """Return the AVRO schema of a text."""
    return SchemaInfo(SchemaType.AVRO, json.dumps(text).encode())


def speed(reader: dict[str, Any], writers: Sequence[dict[str, Any]], messages: Messages) -> float:
    """Return the messages that are decoded in a second of processor time, the median of some rounds."""
    decoders = [decoder_for(info(reader), info(each), PulsarVersion.V4_0) for each in writers]
    chosen = [messages[each % len(messages)] for each in range(_BATCH)]
    versions = np.array([number for number, _ in chosen])
    column = Column.of([content for _, content in chosen])
    rows = [np.flatnonzero(versions == number) for number in range(len(writers))]
    speeds = []
    for _ in range(_ROUNDS + 1):
        gc.collect()
        begun = time.process_time()
        for _ in range(_COUNT // _BATCH // 5):
            for decoder, mine in zip(decoders, rows, strict=True):
                decoder.decode(column.only(mine))
        speeds.append(_COUNT / 5 / (time.process_time() - begun))
    return sorted(speeds[1:])[_ROUNDS // 2]


def _measured(
    name: str,
    reader: dict[str, Any],
    writers: Sequence[dict[str, Any]],
    messages: Messages,
    goal: Goal | None = None,
) -> Row:
    anchor = ("spark-avro's from_avro with count", _from_avro(reader, writers, messages))
    mine = speed(reader, writers, messages)
    return beside(f"AVRO to Arrow columns: {name}, a core", mine, "messages/s", anchor, goal)


def _from_avro(reader: dict[str, Any], writers: Sequence[dict[str, Any]], messages: Messages) -> float:
    """Return the messages that from_avro reads in a second of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        stored, texts = Path(folder) / "messages.parquet", Path(folder) / "texts.json"
        numbers, contents = zip(*messages, strict=True)
        pool = pa.table({"value": pa.array(contents, pa.binary()), "schema_version": pa.array(numbers, pa.int64())})
        parquet.write_table(pool.take(np.arange(_COUNT) % len(messages)), stored, row_group_size=_BATCH)
        texts.write_text(json.dumps([json.dumps(each) for each in (reader, *writers)]), encoding="utf-8")
        program = [pipeline.anchors_python(), pipeline.FROM_AVRO, maven.jars(pipeline.SPARK_AVRO), stored, texts]
        with pipeline.serving([*map(str, program)]) as anchor:
            rounds = [pipeline.run_round(anchor) for _ in range(_ROUNDS + 2)][2:]
    return _COUNT / sorted(each.processor for each in rounds)[_ROUNDS // 2]
