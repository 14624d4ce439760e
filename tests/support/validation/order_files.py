"""Orders as files, for validation runs: valid and invalid messages, the same for the same seed.

The invalid messages are known: `reasons` counts them by reason, as the run must.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import parquet

from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.payload import varints
from topicschema.validation.request import FileSource, ValidationRequest
from topicschema.validation.sources.files.source import FileMessages

START: Final = 1_760_000_000_000
_TEXTS: Final = (
    b'{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"note","type":"string"}]}',
    b'{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}',
)
VERSIONS: Final = {number: SchemaInfo(SchemaType.AVRO, text) for number, text in enumerate(_TEXTS)}
CANDIDATE: Final = SchemaInfo(
    SchemaType.AVRO, b'{"type":"record","name":"Order","fields":[{"name":"id","type":"double"}]}'
)
UNKNOWN_VERSION: Final = 7
"""A version that does not exist."""


@dataclass(frozen=True, slots=True)
class Order:
    """A message, and the reason if it is invalid."""

    payload: bytes | None
    version: int
    publish_time: int
    reason: str = ""


def orders(count: int, seed: int = 1, share: float = 0.01, note: int = 30) -> Sequence[Order]:
    """Return that number of orders, about that share of them invalid. Notes of version 0 are shorter than `note`."""
    return list(_orders(count, random.Random(seed), share, note))  # noqa: S311  # the same each time


def reasons(orders: Sequence[Order]) -> dict[str, int]:
    return dict(Counter(each.reason for each in orders if each.reason))


def write(orders: Sequence[Order], path: Path, group: int = 1_000) -> Path:
    """Write the orders into a Parquet file with row groups of that size."""
    table = pa.table(
        {
            "value": pa.array([each.payload for each in orders], pa.binary()),
            "schema_version": pa.array([each.version for each in orders], pa.int64()),
            "publish_time": pa.array([each.publish_time for each in orders], pa.timestamp("ms")),
        }
    )
    parquet.write_table(table, path, row_group_size=group)
    return path


def validation_request(*paths: Path, **more: object) -> ValidationRequest:
    """Return the request to validate the orders in these files with CANDIDATE."""
    files = FileSource(tuple(map(str, paths)))
    return ValidationRequest(CANDIDATE, VERSIONS, "persistent://shop/orders/created", files=files, **more)  # type: ignore[arg-type]


def source(request: ValidationRequest, split_bytes: int = 1 << 30) -> FileMessages:
    assert request.files is not None
    return FileMessages(request.files, split_bytes)


def _orders(count: int, chance: random.Random, share: float, note: int) -> Iterator[Order]:
    for number in range(count):
        version = chance.randrange(2)
        payload = _varint(number) + (_text(chance.randrange(note)) if version == 0 else b"")
        when = START + number * 997
        if chance.random() >= share:
            yield Order(payload, version, when)
        elif chance.random() < 0.5:
            yield Order(payload[:-1] if version else payload[:1], version, when, "TRUNCATED")
        else:
            yield Order(payload, UNKNOWN_VERSION, when, "UNKNOWN_WRITER_VERSION")


def _varint(number: int) -> bytes:
    return varints.encode(varints.zigzag(number))


def _text(size: int) -> bytes:
    return _varint(size) + b"x" * size
