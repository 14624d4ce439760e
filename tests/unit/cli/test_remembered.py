"""Schemas remembered between the lines of a batch: parsed once, within a bound, never what is broken."""

import pytest

from topicschema.cli.check.batch import CachedParse
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType


def remembered(text: str, memory: CachedParse) -> object:
    return memory(SchemaInfo(SchemaType.AVRO, text.encode()), PulsarLine.V4_0, validate_defaults=True)


def test_a_text_is_parsed_once_while_it_is_remembered() -> None:
    memory = CachedParse(10_000)
    assert remembered('"long"', memory) is remembered('"long"', memory)


def test_what_is_remembered_stays_within_its_bound_and_the_oldest_goes_first() -> None:
    memory = CachedParse(10_000)  # room for two
    first, second = remembered('"long"', memory), remembered('"int"', memory)
    remembered('"string"', memory)
    assert remembered('"int"', memory) is second
    assert remembered('"long"', memory) is not first


def test_a_text_that_is_no_schema_is_never_remembered() -> None:
    memory = CachedParse(10_000)
    for _ in range(2):
        with pytest.raises(InvalidSchemaError):
            remembered("{", memory)


def test_with_other_properties_it_is_another_schema() -> None:
    memory = CachedParse(100_000)
    infos = [SchemaInfo(SchemaType.AVRO, b'"long"', {"owner": owner}) for owner in "ab"]
    found = [memory(each, PulsarLine.V4_0, validate_defaults=True) for each in infos]
    assert [each.info.properties for each in found] == [{"owner": "a"}, {"owner": "b"}]
