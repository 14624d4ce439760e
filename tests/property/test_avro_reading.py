"""Laws of any schemas: equal ones read each other, and strategies add up."""

import copy
import json
from random import Random
from typing import Any

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
# Schemas on which the broker's own validator breaks down, for all readers.
UNREADABLE_BY_ALL = {"INFINITE_RECORD", "RECURSIVE_RECORD_CRASHES_AVRO"}


def marked(value: Any) -> Any:
    """Return the schema without aliases and with a property on every type: not equal, but the same to a reader."""
    if isinstance(value, dict):
        members = {key: marked(each) if key != "default" else each for key, each in value.items() if key != "aliases"}
        return {**members, "marked": True} if "type" in value else members
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


def schemas(random: Random, count: int) -> list[Schema]:
    """Return a candidate and its sources, as the product parses them: at least two, all of type AVRO."""
    parsed: list[Schema] = []
    value = avro_schemas.schema(random)
    for _ in range(count * 4):
        try:
            parsed.append(formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(value).encode())))
        except InvalidSchemaError:
            value = avro_schemas.schema(random)
        else:
            value = avro_schemas.edited(random, copy.deepcopy(value))
    assume(len(parsed) >= count)
    return parsed[:count]


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
