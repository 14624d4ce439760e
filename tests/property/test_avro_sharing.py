"""What schemas share with one another, alive at once, makes no schema another than it is by itself."""

import copy
import json
import random
from dataclasses import fields
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.schemas import avro_schemas
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import fingerprint
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.model import ABSENT, Field, Named, Node
from topicschema.core.formats.avro.parsing import parser
from topicschema.core.formats.avro.parsing.builder import Builder
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType

LONG = "words " * 700  # shorter texts share nothing
OWN = {"digest", "written", "outline", "traits", "reads", "records", "source"}


def edited(rng: random.Random, parts: list[Any]) -> list[Any]:
    parts = copy.deepcopy(parts)
    at = rng.randrange(len(parts))
    change = rng.random()
    if change < 0.5:
        parts[at] = avro_schemas.edited(rng, parts[at])
    elif change < 0.7:
        parts.insert(at, avro_schemas.schema(rng))
    elif change < 0.9:
        parts.pop(at)
    else:
        rng.shuffle(parts)
    return parts or [avro_schemas.schema(rng)]


def text_of(parts: list[Any], space: str) -> dict[str, Any]:
    inner = [{"name": f"f{index}", "type": part} for index, part in enumerate(parts)]
    return {"type": "record", "name": "Root", "namespace": space, "doc": LONG, "fields": inner}


def told(node: Node) -> list[Any]:
    """All that a model holds, without what is found out later; a type that was told of already by its path."""
    lines: list[Any] = []
    seen: set[Named] = set()
    ahead: list[Any] = [node]
    while ahead:
        part = ahead.pop()
        if isinstance(part, tuple):
            ahead.extend(reversed(part))
        elif isinstance(part, Node | Field) and part not in seen:
            seen |= {part} if isinstance(part, Named) else set()
            lines.append(type(part).__name__)
            ahead.extend(getattr(part, each.name) for each in reversed(fields(part)) if each.name not in OWN)
        else:
            lines.append(part.path if isinstance(part, Named) else "absent" if part is ABSENT else repr(part))
    return lines


def alone(text: dict[str, Any], library: Library) -> list[Any] | str:
    try:
        return told(Builder(json.loads(json.dumps(text)), library).build())
    except InvalidSchemaError as error:
        return error.sentence


def parsed(info: SchemaInfo, line: PulsarLine) -> tuple[Node | None, list[Any] | str]:
    try:
        root = parser.parse(info, line, validate_defaults=False)
    except InvalidSchemaError as error:
        return None, error.sentence
    return root, told(root)


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_a_schema_is_the_same_alone_and_among_others(seed: int) -> None:
    rng = avro_schemas.seeded(seed)
    line, library = rng.choice(((PulsarLine.V4_0, Library.AVRO_1_11), (PulsarLine.V4_1, Library.AVRO_1_12)))
    parts = [avro_schemas.schema(rng) for _ in range(3)]
    alive: list[tuple[Node, str]] = []
    for _ in range(6):
        text = text_of(parts, rng.choice(("", "p", "q")))
        root, among_others = parsed(SchemaInfo(SchemaType.AVRO, json.dumps(text).encode()), line)
        assert among_others == alone(text, library)
        if root is not None:
            alive.append((root, fingerprint.fingerprint(SchemaType.AVRO, root)))
        parts = edited(rng, parts)
    assert [fingerprint.fingerprint(SchemaType.AVRO, root) for root, _ in alive] == [form for _, form in alive]


def test_what_is_alike_at_the_same_place_is_one_object_until_nobody_has_it() -> None:
    part = {"type": "record", "name": "Part", "fields": [{"name": "a", "type": "int", "default": 1}]}

    def with_parts(*parts: Any) -> Any:
        return parser.parse(SchemaInfo(SchemaType.AVRO, json.dumps(text_of(list(parts), "p")).encode()))

    first, second, moved = with_parts(part, "int"), with_parts(part, "long"), with_parts("int", part)
    assert first is not second
    assert first.fields[0].type is second.fields[0].type
    assert moved.fields[1].type is not first.fields[0].type
