"""Our KEY_VALUE beside the broker's own classes, on random pairs; a seed names each."""

import base64
import json
from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

import pytest

from differential import oracle
from support.schemas import avro_schemas, protobuf_schemas
from support.sizes import sized
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, Part
from topicschema.core.schemas import PRIMITIVES, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

pytestmark = pytest.mark.differential

T = TypeVar("T")
SEEDS = range(sized(400, 1_000))
AVRO_TYPES = (SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF)
# What the broker takes and is refused here on purpose; docs/spec/key-value.md names each.
STRICTER = {"NESTED_KEY_VALUE", "LEGACY_JSON_SCHEMA", "NOT_UTF8", "PART_PROPERTIES"}


def query(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return oracle.query(requests, oracle.BROKER)


def tried(read: Callable[[SchemaInfo], T], info: SchemaInfo) -> T | InvalidSchemaError:
    try:
        return read(info)
    except InvalidSchemaError as error:
        return error


def part(random: Random, kind: SchemaType | None = None) -> SchemaInfo:
    kind = kind or random.choice([*AVRO_TYPES * 4, SchemaType.PROTOBUF_NATIVE, *sorted(SchemaType)])
    properties = {"a": "<b>", "é": "'"} if random.random() < 0.2 else {}
    if kind in AVRO_TYPES:
        text = json.dumps(avro_schemas.schema(random)) if random.random() < 0.9 else avro_schemas.spoilt(random)
        return SchemaInfo(kind, text.encode("utf-8", "replace"), properties)
    if kind is SchemaType.PROTOBUF_NATIVE:
        return SchemaInfo(kind, protobuf_schemas.random_envelope(random, 0), properties)
    odd = random.choice((b"", b"", b"null", b"x", bytes(8), b'{"a":1}'))
    return SchemaInfo(kind, odd if random.random() < 0.3 else b"", properties)


def pair(random: Random) -> SchemaInfo:
    parts = [Part(part(random), random.choice(("", "String", "é"))) for _ in range(2)]
    return key_value.encode(KeyValue(parts[0], parts[1], random.choice(list(Encoding))))


def spoilt(random: Random, info: SchemaInfo) -> SchemaInfo:
    properties, content = dict(info.properties), info.schema
    for _ in range(random.randint(0, 2)):
        name = random.choice(list(properties) or ["x"])
        properties.pop(name, None)
        if random.random() < 0.5:
            properties[name] = random.choice(("", "AVRO", "avro", "BYTES", "AUTO", '{"a": 1.50, "b": [true]}', "null"))
    if random.random() < 0.3:
        content = content[: random.randint(0, len(content))]
    return SchemaInfo(info.type, content + random.choice((b"", b"", b"rest")), properties)


def test_a_pair_is_taken_exactly_where_the_broker_takes_it_but_for_what_is_refused_on_purpose() -> None:
    infos = [spoilt(random, pair(random)) for random in map(avro_schemas.seeded, SEEDS)]
    answers = query([{"op": "validate", "schema": oracle.wire(info)} for info in infos])
    taken = 0
    for info, answer in zip(infos, answers, strict=True):
        schema = tried(formats.parse, info)
        theirs = answer["verdict"] is True
        if isinstance(schema, InvalidSchemaError):
            assert not theirs or schema.rule in STRICTER or is_json(info, schema), (info, answer, schema)
        else:
            assert theirs, (info, answer)
        taken += theirs
    assert len(infos) / 8 < taken < len(infos) * 7 / 8


def is_json(info: SchemaInfo, refusal: InvalidSchemaError) -> bool:
    """Return True if a JSON part was refused, which the broker may accept as Jackson's JSON Schema."""
    side = refusal.place.path.removeprefix("$.").partition("[")[0].partition(".")[0]
    return info.properties.get(f"{side}.schema.type") == SchemaType.JSON


def test_the_parts_of_a_pair_are_read_as_the_broker_reads_them() -> None:
    infos = [spoilt(random, pair(random)) for random in map(avro_schemas.seeded, SEEDS)]
    answers = query([{"op": "pair", "schema": oracle.wire(info)} for info in infos])
    read = 0
    for info, answer in zip(infos, answers, strict=True):
        schema = tried(key_value.decode, info)
        if isinstance(schema, InvalidSchemaError):
            later = "AUTO" in info.properties.values()  # the broker refuses this one only when it validates
            assert answer["verdict"] is not True or schema.rule in STRICTER or later, (info, answer, schema)
            continue
        if schema.encoding is None:
            assert "KeyValueEncodingType" in answer["detail"]
            continue
        for side, each in schema.parts:
            theirs = answer["result"][side.value]
            ours = {"name": each.name, **oracle.wire(each.info)}
            assert {**theirs, "schema": theirs["schema"] or ""} == ours, (info, answer)
        assert answer["result"]["encoding"] == schema.encoding.value
        read += 1
    assert read > len(infos) / 4


def test_a_pair_is_written_as_the_java_client_writes_it() -> None:
    randoms = [avro_schemas.seeded(f"written {seed}") for seed in range(300)]
    pairs = [KeyValue(Part(part(r), "K"), Part(part(r), "é"), r.choice(list(Encoding))) for r in randoms]
    answers = query(
        [
            {
                "op": "join",
                "keyName": each.key.name,
                "key": oracle.wire(each.key.info),
                "valueName": each.value.name,
                "value": oracle.wire(each.value.info),
                "encoding": each.encoding.value if each.encoding else "",
            }
            for each in pairs
        ]
    )
    for each, answer in zip(pairs, answers, strict=True):
        result = answer["result"]
        assert {key: result[key] for key in ("type", "schema", "properties")} == oracle.wire(key_value.encode(each))


def rest_form(random: Random) -> str:
    members: dict[str, Any] = {name: rest_part(random) for name in ("key", "value", "other")}
    text = json.dumps(members, ensure_ascii=random.random() < 0.5, indent=random.choice((None, 1)))
    for _ in range(random.choice((0, 0, 1, 2))):
        at = random.randrange(len(text))
        edit = random.choice(('"', "{", "}", ",", " ", "//", "/* */", "\n", "1", "\x00", "\u2028", "\\u00e9", "1.50e1"))
        text = text[:at] + edit + text[at + random.choice((0, 0, 1)) :]
    return text


def rest_part(random: Random) -> Any:
    odd = ("", None, 1.0, True, [], "text \u2028 <\x7f>", {"a": [1, {"b": "\U0001f600\t"}], "": -0.0})
    return random.choice((*odd, avro_schemas.schema(random), avro_schemas.schema(random)))


def test_a_rest_form_is_stored_as_the_broker_stores_it() -> None:
    forms = [rest_form(avro_schemas.seeded(f"rest {seed}")) for seed in range(sized(1_000, 4_000))]
    answers = query([{"op": "convert", "text": form} for form in forms])
    stored = 0
    for form, answer in zip(forms, answers, strict=True):
        try:
            ours = base64.b64encode(key_value.payload_of(form)).decode()
        except InvalidSchemaError:
            continue  # Gson reads more than JSON
        assert answer.get("result") == ours, (form, answer)
        stored += 1
    assert len(forms) / 3 < stored < len(forms)
    assert sum(answer["verdict"] is True for answer in answers) < len(forms)


def follower(random: Random, info: SchemaInfo) -> SchemaInfo:
    """Return a pair that may follow: some parts as they were, some changed, some of another type."""
    parts = []
    for _, each in key_value.decode(info).parts:
        kind = each.info.type if random.random() < 0.95 else random.choice((*AVRO_TYPES, *sorted(PRIMITIVES)))
        changed = part(random, kind) if random.random() < 0.5 else SchemaInfo(kind, each.info.schema)
        parts.append(Part(changed))
    return key_value.encode(KeyValue(parts[0], parts[1], random.choice(list(Encoding))))


def histories() -> list[tuple[list[Schema], Schema, Strategy]]:
    histories_of_pairs = []
    for seed in range(sized(700, 2_000)):
        random = avro_schemas.seeded(f"history {seed}")
        first, second = (json.dumps(each).encode() for each in avro_schemas.pair(random))
        kind = random.choice((SchemaType.AVRO, SchemaType.JSON))
        key = part(random, random.choice((SchemaType.STRING, SchemaType.PROTOBUF, SchemaType.AVRO)))
        info = key_value.encode(KeyValue(Part(key), Part(SchemaInfo(kind, first))))
        candidate = key_value.encode(KeyValue(Part(key), Part(SchemaInfo(kind, second))))
        infos = [info, candidate] if seed % 2 else [info, follower(random, info), follower(random, info)]
        schemas = [
            schema
            for schema in (tried(formats.parse, each) for each in infos)
            if not isinstance(schema, InvalidSchemaError)
        ]
        if len(schemas) > 1:
            histories_of_pairs.append((schemas[:-1], schemas[-1], random.choice(list(Strategy))))
    return histories_of_pairs


def test_a_pair_may_follow_exactly_if_the_brokers_checker_accepts_it() -> None:
    cases = histories()
    answers = query(
        [
            oracle.check(candidate.info, strategy, *(each.info for each in reversed(earlier)))
            for earlier, candidate, strategy in cases
        ]
    )
    passed = 0
    for (earlier, candidate, strategy), answer in zip(cases, answers, strict=True):
        considered = [Predecessor(index, each.info.type, each) for index, each in enumerate(earlier)]
        considered = considered if strategy.is_transitive else considered[:1]  # the oracle uses the last of the list
        incompatibilities = compatibility.check(candidate, considered, strategy)
        same_bytes = not strategy.is_transitive and earlier[0].info.schema == candidate.info.schema
        if not same_bytes:  # the registry uses no checker then
            assert (not incompatibilities) == (answer["verdict"] is True), (
                candidate.info,
                strategy,
                answer,
                incompatibilities,
            )
        passed += not incompatibilities
    assert len(cases) / 8 < passed < len(cases) * 7 / 8
