"""Damaged sources are compiled to what a broker takes, or refused with their place; nothing else happens."""

from random import Random

import pytest

from support.schemas import proto_sources
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.protoc import ProtobufSources, compile_envelope

FILES = proto_sources.EVERYTHING | proto_sources.EDITIONS
PIECES = (
    *('"', "{", "}", "[", ";", "=", "\0", "é", "\udcff", "\U0001f600", "/*", "//", "\\", "0x7fffffff", "-1", "9" * 30),
    *("option ", "extend ", "import ", "reserved ", "map<", "group ", "oneof ", "features.", "a." * 200, "_" * 300),
)


def damaged(random: Random) -> dict[str, str]:
    name = random.choice(list(FILES))
    text = FILES[name]
    start = random.randrange(len(text))
    end = start + random.randrange(20)
    put = random.choice(["", text[start:end] * random.randrange(30), random.choice(PIECES)])
    return FILES | {name: text[:start] + put + text[end:]}


@pytest.mark.parametrize("seed", range(40))
def test_damaged_sources_are_compiled_or_refused_with_their_place(seed: int) -> None:
    sources = ProtobufSources("shop.every_thing.Everything", damaged(Random(seed)))  # noqa: S311  # a test's variety
    try:
        envelope = compile_envelope(sources)
    except InvalidSchemaError as error:
        assert error.rule in {"INVALID_PROTO", "MISSING_FILE", "NOT_UTF8", "UNKNOWN_MESSAGE"}  # noqa: PT017
        assert error.place.path.startswith("$.files[") or error.rule == "UNKNOWN_MESSAGE"  # noqa: PT017
    else:
        assert formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope))
