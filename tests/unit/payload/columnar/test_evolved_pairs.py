"""Pairs whose AVRO part was written with an older version: judged as that part is by itself, under its side's name."""

import json
from collections.abc import Sequence

import pytest

from support.payloads.verdicts import losses, verdicts
from support.schemas.avro import enum, field, record
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, Side, encode
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.columnar import validator_for

PULSAR_VERSION = PulsarVersion.V4_0
TEXT = SchemaInfo(SchemaType.STRING)
NEW, GONE = "00", "04"
GOOD = [f"54 {NEW} 04 6f6c {NEW}", f"01 {NEW} 00 {NEW}"]
PARTS = [bytes.fromhex(each) for each in (
    *GOOD,
    f"54 {GONE} 04 6f6c {NEW}",
    f"54 {NEW} 04 6f6c {GONE}",
    f"54 {NEW} 08 6f6c",
    f"54 {NEW} 04 6f6c {NEW} 07",
    "",
)]  # fmt: skip
EXPECTED = [
    ("", "$", -1),
    ("", "$", -1),
    ("UNKNOWN_SYMBOL", "$.state", 1),
    ("UNKNOWN_SYMBOL", "$.line.state", 5),
    ("TRUNCATED", "$.old", 3),
    ("TRAILING_BYTES", "$", 6),
    ("TRUNCATED", "$.id", 0),
]
LOST = {("FIELD_DROPPED", "$.old"): 2}
OTHERS = [b"k" * each for each in (0, 3, 1, 7, 2, 5, 4)]


def order(*, is_old: bool) -> SchemaInfo:
    """Return a pair: the writer's has a promoted number, and a symbol and a field that the reader's lacks."""
    state = enum("State", "NEW", "PAID", *(["GONE"] if is_old else []))
    fields = [field("id", "int" if is_old else "double"), field("state", state)]
    fields += [field("old", "string")] if is_old else []
    text = record("Order", *fields, field("line", record("Line", field("state", "State"))))
    return SchemaInfo(SchemaType.AVRO, json.dumps(text).encode())


def pair(avro: SchemaInfo, side: Side, encoding: Encoding) -> SchemaInfo:
    key, value = (avro, TEXT) if side is Side.KEY else (TEXT, avro)
    return encode(KeyValue(Part(key), Part(value), encoding))


def under(side: Side, path: str) -> str:
    return f"$.{side}{path[1:]}"


def in_pairs(side: Side, begins: Sequence[int]) -> list[tuple[str, str, int]]:
    """Return the findings of the parts, with the offsets at which the parts begin in their messages."""
    return [
        (reason, under(side, path), offset + begin) if reason else (reason, path, offset)
        for (reason, path, offset), begin in zip(EXPECTED, begins, strict=True)
    ]


def sized(content: bytes) -> bytes:
    return len(content).to_bytes(4) + content


def test_part_alone_is_validated_with_its_writer() -> None:
    validator = validator_for(order(is_old=False), order(is_old=True), PULSAR_VERSION)
    assert (verdicts(validator, *PARTS), losses(validator, *PARTS)) == (EXPECTED, LOST)


@pytest.mark.parametrize("encoding", Encoding)
@pytest.mark.parametrize("side", Side)
def test_part_of_a_pair_has_the_verdict_of_the_part_alone(side: Side, encoding: Encoding) -> None:
    reader, writer = (pair(order(is_old=each), side, encoding) for each in (False, True))
    validator = validator_for(reader, writer, PULSAR_VERSION)
    keys, values = (PARTS, OTHERS) if side is Side.KEY else (OTHERS, PARTS)
    if encoding is Encoding.INLINE:
        begins = [4 if side is Side.KEY else 8 + len(each) for each in OTHERS]
        pairs = [sized(key) + sized(value) for key, value in zip(keys, values, strict=True)]
        assert verdicts(validator, *pairs) == in_pairs(side, begins)
        assert losses(validator, *pairs) == {(kind, under(side, path)): each for (kind, path), each in LOST.items()}
    else:
        assert verdicts(validator, *values, keys=keys) == in_pairs(side, [0] * len(PARTS))
