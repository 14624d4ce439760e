"""A yes means that messages can be read: values of the writer, encoded by us, come back with the reader."""

import copy
import io
import json
from random import Random
from typing import Any, Final

import fastavro
from hypothesis import given, settings
from hypothesis import strategies as st

from support.payloads import avro_values
from support.schemas import families
from support.sizes import sized
from topicschema import payload
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Predecessor
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, KeyValueSchema, Part
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.payload import Pair

RANDOMS: Final = st.randoms(use_true_random=False)
ENCODINGS: Final = st.sampled_from(Encoding)
PARTS: Final = st.sampled_from((SchemaType.AVRO, SchemaType.JSON))
MANY: Final = settings(max_examples=sized(100, 200), deadline=None)
_PROMOTIONS: Final = {"int": ("long", "float", "double"), "long": ("float", "double"), "float": ("double",)}
_ADDED: Final = (("int", 1), ("string", "x"), (["null", "long"], None), ({"type": "array", "items": "int"}, []))


def evolved(random: Random, schema: Any) -> Any:
    """Return the schema after a few edits, of which some leave old messages unreadable."""
    schema = copy.deepcopy(schema)
    for _ in range(random.randint(1, 3)):
        fields = random.choice(list(_records(schema)))["fields"]
        roll = random.random()
        if roll < 0.4:
            kind, default = random.choice(_ADDED)
            name = random.choice("uvwxyz")
            if all(each["name"] != name for each in fields):
                fields.insert(
                    0, {"name": name, "type": kind, **({"default": default} if random.random() < 0.8 else {})}
                )
        elif roll < 0.6 and fields:
            fields.pop(random.randrange(len(fields)))
        elif roll < 0.8:
            random.shuffle(fields)
        for field in fields:
            if isinstance(field["type"], str) and "default" not in field and random.random() < 0.3:
                field["type"] = random.choice(_PROMOTIONS.get(field["type"], (field["type"],)))
    return schema


def _records(schema: Any) -> Any:
    if isinstance(schema, dict):
        if "fields" in schema:
            yield schema
        for each in schema.values():
            yield from _records(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _records(each)


def reads(reader: Schema, writer: Schema) -> bool:
    return not compatibility.check(reader, [Predecessor(0, writer.info.type, writer)], Strategy.BACKWARD)


def read_back(reader: SchemaInfo, writer: SchemaInfo, content: bytes | None) -> Any:
    """Return what a consumer with `reader` gets: Avro by fastavro, with both schemas; JSON by the reader alone."""
    if reader.type is SchemaType.JSON:
        return payload.decode(formats.parse(reader), content)
    texts = (json.loads(each.schema) for each in (writer, reader))
    return fastavro.schemaless_reader(io.BytesIO(content or b""), *texts)


@given(RANDOMS)
@MANY
def test_plain_json_of_a_schema_that_is_read_is_read(random: Random) -> None:
    text = avro_values.schema(random)
    writer, reader = (formats.parse(families.avro(SchemaType.JSON, each)) for each in (text, evolved(random, text)))
    if reads(reader, writer):
        value = avro_values.value(random, text)
        read_back(reader.info, writer.info, payload.encode(writer, value).payload)


@given(RANDOMS, PARTS, PARTS, ENCODINGS)
@MANY
def test_both_parts_of_a_pair_that_is_read_are_read(
    random: Random, key: SchemaType, value: SchemaType, encoding: Encoding
) -> None:
    texts = [avro_values.schema(random), avro_values.schema(random)]
    later = [evolved(random, text) if random.random() < 0.6 else text for text in texts]
    writer, reader = (_pair((key, value), each, encoding) for each in (texts, later))
    if not reads(reader, writer):
        return
    sent = Pair(*(avro_values.value(random, text) for text in texts))
    message = payload.encode(writer, sent)
    assert payload.decode(writer, message.payload, message.key) == sent
    codec: Any = payload.codec(writer)  # of a pair
    parts = codec.write_parts(sent)
    for (_, old), (_, new), content in zip(writer.pair.parts, reader.pair.parts, parts, strict=True):
        read_back(new.info, old.info, content)


def _pair(kinds: tuple[SchemaType, SchemaType], texts: list[Any], encoding: Encoding) -> KeyValueSchema:
    key, value = (Part(families.avro(kind, text)) for kind, text in zip(kinds, texts, strict=True))
    schema = formats.parse(key_value.encode(KeyValue(key, value, encoding)))
    assert isinstance(schema, KeyValueSchema)
    return schema
