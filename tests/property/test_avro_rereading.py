"""A large text that is read beside a schema like it holds what it holds by itself, and is refused for the same."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.schemas import avro_schemas
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import json_text
from topicschema.core.formats.avro.model import Node, Record
from topicschema.core.formats.avro.parsing import parser
from topicschema.core.formats.avro.parsing.incremental import IncrementalReader, KnownType
from topicschema.core.schemas import SchemaInfo, SchemaType

LONG = "words " * 700  # shorter texts are read at once
PARTS = ('"fields"', '"', "{", "}", "[", "]", ",", ":", "\\", " ", "//c\n", "1", "null", '"fields":[]', '"\\u0041":1,')


def parsed(text: str) -> Node:
    return parser.parse(SchemaInfo(SchemaType.AVRO, text.encode()), validate_defaults=False)


def whole(value: Any) -> Any:
    """The value with everything read."""
    if isinstance(value, KnownType):
        return value.plain()
    if isinstance(value, dict):
        return {name: whole(inner) for name, inner in value.items()}
    return [whole(inner) for inner in value] if isinstance(value, list) else value


def read(text: str, guide: Node | None) -> tuple[Any, str]:
    try:
        return IncrementalReader(text, guide if isinstance(guide, Record) else None).read(), ""
    except InvalidSchemaError as error:
        return None, error.sentence


def read_by_itself(text: str) -> tuple[Any, str]:
    try:
        return json_text.read(text), ""
    except InvalidSchemaError as error:
        return None, error.sentence


def broken(rng: random.Random, text: str) -> str:
    for _ in range(rng.randint(0, 2)):
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(PARTS) + text[at + rng.randint(0, 2) :]
    return text


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_a_text_is_read_beside_another_as_by_itself(seed: int) -> None:
    rng = avro_schemas.seeded(seed)
    parts = [avro_schemas.schema(rng) for _ in range(3)]
    written: dict[str, Any] = {"type": "record", "name": "Root", "namespace": "p"}
    fields = [{"name": f"f{index}", "type": part} for index, part in enumerate(parts)]
    text = json.dumps({**written, "doc": LONG, "fields": fields}, indent=rng.choice((None, 1)))
    try:
        guide: Node | None = parsed(text)
    except InvalidSchemaError:
        guide = None
    for _ in range(8):
        other = broken(rng, text)
        (value, refused), (wanted, wrong) = read(other, guide), read_by_itself(other)
        assert refused == wrong
        assert repr(whole(value)) == repr(wanted)


INNER = '{"type": "record", "name": "Inner", "fields": [{"name": "a", "type": "int"}]}'


@pytest.mark.parametrize("wrappings", [1, 30, 60, 200, 400])
def test_levels_are_counted_in_what_is_read_bit_by_bit_too(wrappings: int) -> None:
    before, after = '{"type": "array", "items": {"type": "map", "values": ' * wrappings, "}}" * wrappings
    refused = []
    for more in range(-2, 3):
        levels = 1000 - 4 - 2 * wrappings + more
        inner = INNER[:-1] + f', "q": {"[" * levels + "]" * levels}}}'
        field = f'{{"name": "f", "type": {before}{inner}{after}}}'
        text = f'{{"type": "record", "name": "R", "doc": "{LONG}", "fields": [{field}]}}'
        refused.append(read(text, None)[1])
        assert refused[-1] == read_by_itself(text)[1]
    assert len(set(refused)) == 2


def test_names_have_the_same_limit() -> None:
    for length in (49_999, 50_000, 50_001):
        name = "n" * length
        for place in (f'"{name}": 1, "fields": []', f'"fields": [{{"name": "a", "type": "int", "{name}": 2}}]'):
            text = f'{{"type": "record", "name": "R", "doc": "{LONG}", {place}}}'
            assert read(text, None) == read_by_itself(text)


def test_a_known_text_in_another_namespace_is_built_again() -> None:
    def root(space: str) -> str:
        inner = f'{{"name": "f", "type": {INNER}}}'
        return f'{{"type": "record", "name": "R", "namespace": "{space}", "doc": "{LONG}", "fields": [{inner}]}}'

    one, other = parsed(root("p")), parsed(root("q"))
    assert isinstance(one, Record)
    assert isinstance(other, Record)
    inner = one.fields[0].type, other.fields[0].type
    assert [each.full_name for each in inner if isinstance(each, Record)] == ["p.Inner", "q.Inner"]


def test_properties_called_like_parts_of_a_schema_are_plain_values() -> None:
    prop = INNER.replace('"Inner"', '"NoType"')
    for name in ("fields", "items", "values", "symbols"):
        field = f'{{"name": "f", "type": {INNER}, "{name}": [{prop}]}}'
        first = parsed(f'{{"type": "record", "name": "R", "doc": "{LONG}", "fields": [{field}]}}')
        again = parsed(f'{{"type": "record", "name": "R", "doc": "{LONG}s", "fields": [{field}]}}')
        assert isinstance(first, Record)
        assert isinstance(again, Record)
        for root in (first, again):
            assert root.fields[0].props == {name: json.loads(f"[{prop}]")}
            (kept,) = root.fields[0].props[name]  # type: ignore[misc,str-unpack]  # a list of one
            assert kept.__class__ is dict


@pytest.mark.parametrize("levels", [1, 3, 90])
def test_definitions_with_much_before_their_marks_are_read_all_the_same(levels: int) -> None:
    before, after = f'{{"type": "array", "x": "{LONG}", "items": ' * levels, "}" * levels
    text = f'{{"type": "record", "name": "R", "fields": [{{"name": "f", "type": {before}{INNER}{after}}}]}}'
    assert read(text, None) == read_by_itself(text)
