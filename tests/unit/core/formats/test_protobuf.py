"""PROTOBUF as Pulsar has it: an Avro schema, deduped as Avro is, and never compared."""

import pytest

from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


def parsed(text: str, kind: SchemaType = SchemaType.PROTOBUF) -> Schema:
    return formats.parse(SchemaInfo(kind, text.encode()))


def test_the_text_must_be_an_avro_schema_and_may_be_a_union() -> None:
    assert parsed('["null", "int"]').info.type is SchemaType.PROTOBUF
    with pytest.raises(InvalidSchemaError) as error:
        parsed('syntax = "proto3";')
    assert error.value.rule == "SYNTAX"


def test_it_is_deduped_by_structure_but_not_with_another_type() -> None:
    spaced, plain = (
        '{"type": "record", "doc": "d", "name": "R", "fields": []}',
        '{"type":"record","name":"R","fields":[]}',
    )
    assert parsed(spaced).fingerprint == parsed(plain).fingerprint
    assert parsed(plain).fingerprint != parsed(plain, SchemaType.AVRO).fingerprint


def test_a_default_that_does_not_fit_is_refused_because_the_dedupe_would_choke_on_it() -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}'
    with pytest.raises(InvalidSchemaError) as error:
        parsed(text)
    assert error.value.rule == "INVALID_DEFAULT"
    info = SchemaInfo(SchemaType.PROTOBUF, text.encode())
    assert formats.parse(info, validate_defaults=False).info == info


@pytest.mark.parametrize("strategy", Strategy)
def test_anything_may_follow_except_under_always_incompatible(strategy: Strategy) -> None:
    earlier = Predecessor(0, SchemaType.PROTOBUF, parsed('"int"'))
    found = compatibility.check(parsed('"string"'), [earlier], strategy)
    assert [each.rule for each in found] == (
        ["ALWAYS_INCOMPATIBLE"] if strategy is Strategy.ALWAYS_INCOMPATIBLE else []
    )
    assert not compatibility.is_payload_needed(strategy, SchemaType.PROTOBUF, SchemaType.PROTOBUF)
