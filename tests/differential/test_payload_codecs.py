"""The bytes of primitives and pairs of them, beside the Schema classes of Pulsar's own Java client."""

import base64
import json
import random
from collections import Counter
from typing import Any

import pytest

from differential import oracle
from differential.oracle import wire
from support.payloads import primitive_values
from support.sizes import sized
from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidPayloadError
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.formats.primitives import PrimitiveSchema
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

pytestmark = pytest.mark.differential

PER_TYPE = 300
PAIRS = sized(1_000, 3_000)
SEED = 40_007


def read(answer: dict[str, Any], member: str) -> bytes | None:
    return None if answer.get(member) is None else base64.b64decode(answer[member])


def decoded(schema: Schema, content: bytes) -> Any:
    """Return the value as the oracle shows it, `error` without one."""
    try:
        return primitive_values.shown(schema, payload.decode(schema, content))
    except InvalidPayloadError:
        return "error"


def in_java(answer: dict[str, Any]) -> Any:
    return answer["value"] if answer["verdict"] is True else "error"


def primitives() -> list[SchemaInfo]:
    return [info for info in primitive_values.INFOS for _ in range(PER_TYPE)]


def test_values_have_the_bytes_that_the_client_gives_them() -> None:
    rng = random.Random(SEED)  # noqa: S311  # a seed, not a secret
    cases = [(info, primitive_values.value(rng, info)) for info in primitives()]
    answers = oracle.query(
        (
            {"op": "encode", "schema": wire(info), "value": primitive_values.shown(PrimitiveSchema(info, ""), value)}
            for info, value in cases
        ),
        oracle.CLIENT,
    )
    assert {answer["verdict"] for answer in answers} == {True}
    wrong = [
        (info, value, answer)
        for (info, value), answer in zip(cases, answers, strict=True)
        if payload.encode(PrimitiveSchema(info, ""), value).payload != read(answer, "payload")
    ]
    assert wrong == []


def test_bytes_have_the_values_that_the_client_reads() -> None:
    rng = random.Random(SEED + 1)  # noqa: S311  # as above
    cases = [(info, primitive_values.content(rng, info)) for info in primitives()]
    answers = oracle.query(
        (
            {"op": "decode", "schema": wire(info), "payload": base64.b64encode(content).decode()}
            for info, content in cases
        ),
        oracle.CLIENT,
    )
    wrong = [
        (info, content, answer)
        for (info, content), answer in zip(cases, answers, strict=True)
        if decoded(PrimitiveSchema(info, ""), content) != in_java(answer)
    ]
    assert wrong == []
    assert min(Counter(answer["verdict"] is True for answer in answers).values()) > len(answers) // 10


def pair(rng: random.Random, encoding: Encoding) -> tuple[Schema, dict[str, Any]]:
    """Return a pair's schema, ours and as the oracle reads it."""
    key, value = rng.choice(primitive_values.INFOS), rng.choice(primitive_values.INFOS)
    schema = formats.parse(encode(KeyValue(Part(key), Part(value), encoding)))
    return schema, {"type": "KEY_VALUE", "key": wire(key), "value": wire(value), "encoding": encoding.value}


@pytest.mark.parametrize("encoding", list(Encoding))
def test_pairs_have_the_bytes_that_the_client_gives_them(encoding: Encoding) -> None:
    rng = random.Random(SEED + 2)  # noqa: S311  # as above
    cases = [(*pair(rng, encoding), rng.getrandbits(32)) for _ in range(PAIRS)]
    values = [primitive_values.pair(random.Random(seed), schema) for schema, _, seed in cases]  # noqa: S311  # as above
    answers = oracle.query(
        (
            {"op": "encode", "schema": java, "value": primitive_values.shown(schema, value)}
            for (schema, java, _), value in zip(cases, values, strict=True)
        ),
        oracle.CLIENT,
    )
    wrong = []
    for (schema, java, _), value, answer in zip(cases, values, answers, strict=True):
        message = payload.encode(schema, value)
        if (message.payload, message.key) != (read(answer, "payload"), read(answer, "key")):
            wrong.append((json.dumps(java), value, answer))
    assert wrong == []


def test_inline_bytes_have_the_pairs_that_the_client_reads() -> None:
    rng = random.Random(SEED + 3)  # noqa: S311  # as above
    cases = [pair(rng, Encoding.INLINE) for _ in range(PAIRS)]
    contents = [primitive_values.inline(rng, schema) for schema, _ in cases]
    answers = oracle.query(
        (
            {"op": "decode", "schema": java, "payload": base64.b64encode(content).decode()}
            for (_, java), content in zip(cases, contents, strict=True)
        ),
        oracle.CLIENT,
    )
    wrong = [
        (java, content, answer)
        for (schema, java), content, answer in zip(cases, contents, answers, strict=True)
        if decoded(schema, content) != in_java(answer)
    ]
    assert wrong == []
    assert min(Counter(answer["verdict"] is True for answer in answers).values()) > PAIRS // 10


def test_every_primitive_has_cases() -> None:
    types = {info.type for info in primitive_values.INFOS}
    assert types == payload.primitives.TYPES - {SchemaType.NONE}
