"""Avro messages, whole and broken, beside the reader and writer that Pulsar's Java client has for generic records."""

import base64
import json
import random
from collections import Counter

import pytest

import avro_values
from differential import oracle
from topicschema import payload
from topicschema.core import formats
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

pytestmark = pytest.mark.differential

MESSAGES = 6000
SEED = 11_104


def broken(rng: random.Random, content: bytes) -> bytes:
    """The bytes with some bits turned, cut, or with more behind them."""
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
    """But for numbers of too many bits, which Java cuts."""
    asked = [message(random.Random(SEED + number)) for number in range(MESSAGES)]  # noqa: S311  # seeds, not secrets
    answers = oracle.ask(
        ({"op": "again", "schema": text, "payload": base64.b64encode(content).decode()} for text, _, content in asked),
        oracle.CLIENT,
    )
    wrong: list[object] = []
    met: Counter[str] = Counter()
    for (text, schema, content), answer in zip(asked, answers, strict=True):
        found = payload.validate(schema, content)
        fatal = next((each for each in found if not each.is_tolerated), None)
        met.update([fatal.rule if fatal else "read", *(each.rule for each in found if each.is_tolerated)])
        if fatal is not None:
            if (answer["verdict"] is True) and fatal.rule != "OUT_OF_RANGE":
                wrong.append((text, content, fatal, answer))
            continue
        theirs = base64.b64decode(answer.get("payload", ""))
        if answer["verdict"] is not True or not same(schema, content, theirs):
            wrong.append((text, content, found, answer))
    assert wrong == []
    assert met.keys() >= {"read", "TRUNCATED", "UNION_INDEX", "ENUM_INDEX", "NEGATIVE_LENGTH"}
    assert met.keys() >= {"TRAILING_BYTES", "INVALID_UTF8", "OUT_OF_RANGE", "BLOCK_SIZE"}
    assert met["read"] > MESSAGES // 3


def same(schema: Schema, ours: bytes, theirs: bytes) -> bool:
    """Whether both hold one value; Java writes a map's entries in an order of its own."""
    return in_order(payload.decode(schema, ours)) == in_order(payload.decode(schema, theirs))


def in_order(value: object) -> str:
    if isinstance(value, dict):
        return repr(sorted((key, in_order(each)) for key, each in value.items()))
    return repr([in_order(each) for each in value]) if isinstance(value, list) else repr(value)
