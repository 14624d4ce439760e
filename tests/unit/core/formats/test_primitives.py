import pytest

from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PRIMITIVES, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


@pytest.mark.parametrize("kind", sorted(PRIMITIVES))
def test_a_primitive_type_needs_no_text_and_is_not_compared(kind: SchemaType) -> None:
    schema = formats.parse(SchemaInfo(kind))
    assert schema.info.type is kind
    assert not formats.has_checker(kind)
    assert formats.unreadable(schema, schema) == ()


@pytest.mark.parametrize("kind", sorted(PRIMITIVES))
@pytest.mark.parametrize("text", [b" ", b"null ", b"null", b"\x00"])
def test_a_primitive_type_with_a_text_is_refused(kind: SchemaType, text: bytes) -> None:
    if (kind, text) == (SchemaType.STRING, b"null"):  # as Python's client writes it
        return
    with pytest.raises(InvalidSchemaError) as refusal:
        formats.parse(SchemaInfo(kind, text))
    assert refusal.value.rule == "PRIMITIVE_HAS_SCHEMA"
    assert str(refusal.value.place) == "$"
    assert "leave it empty" in refusal.value.message


def test_each_primitive_type_has_its_own_fingerprint_and_properties_do_not_count() -> None:
    fingerprints = {formats.parse(SchemaInfo(kind)).fingerprint for kind in PRIMITIVES}
    fingerprints.add(formats.parse(SchemaInfo(SchemaType.STRING, b"null")).fingerprint)
    assert len(fingerprints) == len(PRIMITIVES) + 1
    plain, owned = SchemaInfo(SchemaType.INT8), SchemaInfo(SchemaType.INT8, b"", {"owner": "a"})
    assert formats.parse(plain).fingerprint == formats.parse(owned).fingerprint


@pytest.mark.parametrize("kind", [SchemaType.BYTES, SchemaType.NONE, SchemaType.AUTO_CONSUME, SchemaType.AUTO_PUBLISH])
def test_a_type_that_no_topic_should_hold_is_refused_with_its_reason(kind: SchemaType) -> None:
    with pytest.raises(InvalidSchemaError) as refusal:
        formats.parse(SchemaInfo(kind))
    assert refusal.value.rule == "UNSUPPORTED_TYPE"
    assert "yet" not in refusal.value.message


@pytest.mark.parametrize(
    ("kind", "written", "read", "rules"),
    [
        (SchemaType.STRING, "UTF-16", "UTF-8", ["CHARSET_CHANGED"]),
        (SchemaType.STRING, "UTF-16", None, ["CHARSET_CHANGED"]),
        (SchemaType.STRING, "utf-8", None, []),
        (SchemaType.STRING, "Utf-16", "uTF-16", []),
        (SchemaType.INT32, "UTF-16", "UTF-8", []),
    ],
)
def test_only_a_text_has_a_charset_and_its_name_has_no_case(
    kind: SchemaType, written: str, read: str | None, rules: list[str]
) -> None:
    writer, reader = (
        formats.parse(SchemaInfo(kind, b"", {} if charset is None else {"__charset": charset}))
        for charset in (written, read)
    )
    assert [each.rule for each in formats.risks(reader, writer)] == rules
    assert [each.rule for each in formats.risks(writer, reader)] == rules


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
    incompatibilities = compatibility.check(parsed('"string"'), [earlier], strategy)
    assert [each.rule for each in incompatibilities] == (
        ["ALWAYS_INCOMPATIBLE"] if strategy is Strategy.ALWAYS_INCOMPATIBLE else []
    )
    assert not compatibility.is_payload_needed(strategy, SchemaType.PROTOBUF, SchemaType.PROTOBUF)
