"""What must hold of any schemas: equal ones read each other, a yes means that messages decode, strategies add up."""

import copy
import io
import json
from random import Random
from typing import Any

import fastavro
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.schemas import avro_readings, avro_schemas
from support.schemas.avro import unreadable
from support.sizes import sized
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

RANDOMS = st.randoms(use_true_random=False)
# Schemas on which the broker's own validator breaks down, whoever reads them.
UNREADABLE_BY_ALL = {"INFINITE_RECORD", "RECURSIVE_RECORD_CRASHES_AVRO"}


def marked(value: Any) -> Any:
    """The schema without aliases and with a property on every type: no longer equal, but the same to a reader."""
    if isinstance(value, dict):
        kept = {key: marked(each) if key != "default" else each for key, each in value.items() if key != "aliases"}
        return {**kept, "marked": True} if "type" in value else kept
    return [marked(each) for each in value] if isinstance(value, list) else value


def without_aliases(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_aliases(each) for key, each in value.items() if key != "aliases"}
    return [without_aliases(each) for each in value] if isinstance(value, list) else value


@given(RANDOMS)
@settings(max_examples=sized(100, 300), deadline=None)
def test_every_schema_reads_itself_and_what_differs_in_properties_alone(random: Random) -> None:
    schema = without_aliases(json.loads(avro_readings.pair(random)[0]))
    try:
        assert {each.rule for each in unreadable(schema, schema)} <= UNREADABLE_BY_ALL
        assert {each.rule for each in unreadable(marked(schema), schema)} <= UNREADABLE_BY_ALL
        assert {each.rule for each in unreadable(schema, marked(schema))} <= UNREADABLE_BY_ALL
    except InvalidSchemaError:
        assume(False)  # noqa: FBT003  # the edits of the generator may break a text


@given(RANDOMS)
@settings(max_examples=sized(100, 300), deadline=None)
def test_what_we_call_readable_decodes(random: Random) -> None:
    """Where fastavro follows the same rules: no renames, no changed symbols, no two branches for one value."""
    writer = _Evolving(random).record(depth=3)
    reader = copy.deepcopy(writer)
    for _ in range(random.randint(1, 4)):
        _evolve(random, reader)
    if unreadable(reader, writer):
        return
    for _ in range(3):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, copy.deepcopy(writer), _value(random, writer))
        stream.seek(0)
        fastavro.schemaless_reader(stream, copy.deepcopy(writer), copy.deepcopy(reader))


class _Evolving:
    """Schemas whose data fastavro reads by the broker's rules."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"N{self.count}"

    def type(self, depth: int) -> Any:
        if depth == 0 or self.random.random() < 0.4:
            return self.random.choice(avro_schemas.PRIMITIVES)
        makers = (self.record, self.array, self.map, self.nullable, self.enum, self.fixed)
        return self.random.choice(makers)(depth - 1)

    def record(self, depth: int) -> dict[str, Any]:
        names = self.random.sample("abcdef", self.random.randint(1, 4))
        fields = [{"name": name, "type": self.type(depth)} for name in names]
        return {"type": "record", "name": self.name(), "fields": fields}

    def array(self, depth: int) -> dict[str, Any]:
        return {"type": "array", "items": self.type(depth)}

    def map(self, depth: int) -> dict[str, Any]:
        return {"type": "map", "values": self.type(depth)}

    def nullable(self, depth: int) -> list[Any]:
        inner = self.type(depth)
        return inner if isinstance(inner, list) else ["null", *([] if inner == "null" else [inner])]

    def enum(self, _: int) -> dict[str, Any]:
        return {"type": "enum", "name": self.name(), "symbols": ["A", "B"]}

    def fixed(self, _: int) -> dict[str, Any]:
        return {"type": "fixed", "name": self.name(), "size": 2}


def _evolve(random: Random, schema: Any) -> None:
    """An edit that people make of a record; about half of them keep old messages readable."""
    records = list(_records(schema))
    record = random.choice(records)
    fields = record["fields"]
    roll = random.random()
    if roll < 0.3:
        kind, default = random.choice((("int", 1), ("string", "x"), (["null", "long"], None), ("double", ...)))
        new = {"name": random.choice("ghijk"), "type": kind, **({} if default is ... else {"default": default})}
        if all(field["name"] != new["name"] for field in fields):
            fields.insert(random.randint(0, len(fields)), new)
    elif roll < 0.45 and len(fields) > 1:
        fields.pop(random.randrange(len(fields)))
    elif roll < 0.6:
        random.shuffle(fields)
    else:
        field = random.choice(fields)
        if isinstance(field["type"], str) and "default" not in field:
            field["type"] = random.choice(("long", "float", "double", "string", "bytes"))
        elif isinstance(field["type"], dict):
            field["type"] = ["null", field["type"]]


def _records(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [record for branch in schema for record in _records(branch)]
    if not isinstance(schema, dict):
        return []
    inner = [record for field in schema.get("fields", ()) for record in _records(field["type"])]
    inner += _records(schema.get("items")) + _records(schema.get("values"))
    return [schema, *inner] if schema["type"] == "record" else inner


_VALUES: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "boolean": (True, False),
    "int": (-(2**31), 0, 2**31 - 1),
    "long": (-(2**63), 0, 2**63 - 1),
    "float": (0.0, 1.5),
    "double": (0.0, 1e300),
    "bytes": (b"", b"text"),
    "string": ("", "text"),
    "enum": ("A", "B"),
    "fixed": (b"ab",),
}


def _value(random: Random, schema: Any) -> Any:
    if isinstance(schema, list):
        return _value(random, random.choice(schema))
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        return {field["name"]: _value(random, field["type"]) for field in schema["fields"]}
    if kind == "array":
        return [_value(random, schema["items"]) for _ in range(random.randint(0, 2))]
    if kind == "map":
        return {"k": _value(random, schema["values"])}
    return random.choice(_VALUES[kind])


def schemas(random: Random, count: int) -> list[Schema]:
    """A candidate and what it was made of, as the product parses them: at least two, all of type AVRO."""
    found: list[Schema] = []
    value = avro_schemas.schema(random)
    for _ in range(count * 4):
        try:
            found.append(formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(value).encode())))
        except InvalidSchemaError:
            value = avro_schemas.schema(random)
        else:
            value = avro_schemas.edited(random, copy.deepcopy(value))
    assume(len(found) >= count)
    return found[:count]


def check(candidate: Schema, history: list[Schema], strategy: Strategy) -> tuple[Incompatibility, ...]:
    considered = [Predecessor(number, each.info.type, each) for number, each in enumerate(history)]
    return compatibility.check(candidate, considered if strategy.is_transitive else considered[-1:], strategy)


@given(RANDOMS)
@settings(max_examples=sized(100, 200), deadline=None)
def test_full_is_backward_and_forward(random: Random) -> None:
    candidate, *history = schemas(random, 3)
    for suffix in ("", "_TRANSITIVE"):
        full, backward, forward = (
            set(check(candidate, history, Strategy(name + suffix))) for name in ("FULL", "BACKWARD", "FORWARD")
        )
        assert full == backward | forward


@given(RANDOMS)
@settings(max_examples=sized(100, 200), deadline=None)
def test_what_passes_against_all_versions_passes_against_the_latest(random: Random) -> None:
    candidate, *history = schemas(random, 4)
    for strategy in (Strategy.BACKWARD, Strategy.FORWARD, Strategy.FULL):
        everything = check(candidate, history, Strategy(f"{strategy}_TRANSITIVE"))
        assert set(check(candidate, history, strategy)) <= set(everything)
