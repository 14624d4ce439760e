import pytest

from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PRIMITIVES, Schema, SchemaInfo, SchemaType


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
    with pytest.raises(InvalidSchemaError, match="leave it empty") as refusal:
        formats.parse(SchemaInfo(kind, text))
    assert (refusal.value.rule, str(refusal.value.place)) == ("PRIMITIVE_HAS_SCHEMA", "$")


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


def test_a_default_that_does_not_fit_is_refused_because_the_dedupe_would_choke_on_it() -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}'
    with pytest.raises(InvalidSchemaError) as error:
        parsed(text)
    assert error.value.rule == "INVALID_DEFAULT"
    info = SchemaInfo(SchemaType.PROTOBUF, text.encode())
    assert formats.parse(info, validate_defaults=False).info == info
