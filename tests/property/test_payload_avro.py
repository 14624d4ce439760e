"""Avro payloads beside fastavro: each reads what the other writes, and nothing raises but our own errors.

A property draws some hundred schemas and values, for ten seconds.
"""

import copy
import io
import json
from contextlib import suppress
from random import Random
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.payloads import avro_values
from support.sizes import sized
from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidPayloadError
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

RANDOMS = st.randoms(use_true_random=False)
MANY = settings(max_examples=sized(100, 300), deadline=None)


def parsed(text: Any, kind: SchemaType = SchemaType.AVRO) -> Schema:
    return formats.parse(SchemaInfo(kind, json.dumps(text).encode()))


def by_fastavro(text: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, copy.deepcopy(text), value)
    return stream.getvalue()


def read_by_fastavro(text: Any, content: bytes) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(content), copy.deepcopy(text), None)


@given(RANDOMS)
@MANY
def test_what_fastavro_writes_is_valid_and_read_and_written_alike(random: Random) -> None:
    text = avro_values.schema(random)
    value = avro_values.value(random, text)
    content = by_fastavro(text, value)
    schema = parsed(text)
    assert payload.validate(schema, content) == ()
    assert payload.decode(schema, content) == value
    ours = payload.encode(schema, value).payload
    assert ours is not None
    assert read_by_fastavro(text, ours) == value
    assert ours == content


@given(RANDOMS)
@MANY
def test_a_payload_that_is_cut_or_goes_on_is_never_valid(random: Random) -> None:
    text = avro_values.schema(random)
    content = by_fastavro(text, avro_values.value(random, text))
    schema = parsed(text)
    if content:
        [finding] = payload.validate(schema, content[: random.randrange(len(content))])
        assert (finding.rule, finding.is_tolerated) == ("TRUNCATED", False)
    [finding] = payload.validate(schema, content + b"\0")
    assert (finding.rule, finding.offset) == ("TRAILING_BYTES", len(content))


@given(RANDOMS)
@MANY
def test_a_payload_that_fastavro_cannot_read_or_reads_otherwise_is_never_valid(random: Random) -> None:
    text = avro_values.schema(random)
    content = bytearray(by_fastavro(text, avro_values.value(random, text)) or b"\0")
    for _ in range(random.randint(1, 3)):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    schema = parsed(text)
    if payload.validate(schema, bytes(content)) == ():
        assert repr(payload.decode(schema, bytes(content))) == repr(read_by_fastavro(text, bytes(content)))


@given(RANDOMS, st.binary(max_size=60))
@MANY
def test_no_bytes_make_anything_raise_but_our_own_error(random: Random, content: bytes) -> None:
    text = avro_values.schema(random)
    for kind in (SchemaType.AVRO, SchemaType.JSON):
        schema = parsed(text, kind)
        findings = payload.validate(schema, content)
        assert all(0 <= each.offset <= len(content) for each in findings)
        fatal = [each for each in findings if not each.is_tolerated]
        if not fatal:
            payload.decode(schema, content)
            continue
        with pytest.raises(InvalidPayloadError) as caught:
            payload.decode(schema, content)
        assert (caught.value.rule, caught.value.offset) == (fatal[0].rule, fatal[0].offset)


@given(RANDOMS)
@MANY
def test_plain_json_comes_back(random: Random) -> None:
    text = avro_values.schema(random)
    value = avro_values.value(random, text)
    schema = parsed(text, SchemaType.JSON)
    content = payload.encode(schema, value).payload
    assert payload.validate(schema, content) == ()
    assert payload.decode(schema, content) == value


ODD_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("abcdk") | st.integers(), inner),
)


@given(RANDOMS, ODD_VALUES)
@MANY
def test_no_value_makes_anything_raise_but_our_own_error(random: Random, value: Any) -> None:
    text = avro_values.schema(random)
    for kind in (SchemaType.AVRO, SchemaType.JSON):
        schema = parsed(text, kind)
        with suppress(InvalidPayloadError):
            assert payload.validate(schema, payload.encode(schema, value).payload) == ()
