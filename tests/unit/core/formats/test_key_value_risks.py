"""Risks of pairs: the encoding, the parts by their own types, and what a pair does by itself."""

import pytest

from topicschema.core import formats
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, Part
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

AB = b'{"type":"enum","name":"E","symbols":["A","B"]}'
A = AB.replace(b',"B"', b"")
EMPTY = '""'


def pair(
    key: SchemaType, value: SchemaType, texts: tuple[bytes, bytes] = (b"", b""), encoding: Encoding | None = None
) -> Schema:
    first, second = (Part(SchemaInfo(kind, text)) for kind, text in zip((key, value), texts, strict=True))
    return formats.parse(key_value.encode(KeyValue(first, second, encoding or Encoding.INLINE)))


def risks(reader: Schema, writer: Schema) -> list[tuple[str, str]]:
    return [(each.rule, each.reader_path) for each in formats.risks(reader, writer)]


@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF])
def test_a_parts_own_risks_are_told_with_its_path(kind: SchemaType) -> None:
    reader, writer = (pair(kind, kind, (text, text)) for text in (A, AB))
    assert risks(reader, writer) == [("ENUM_SYMBOL_UNKNOWN", "$.key"), ("ENUM_SYMBOL_UNKNOWN", "$.value")]


def test_a_change_of_a_parts_type_is_left_to_the_check() -> None:
    reader, writer = pair(SchemaType.STRING, SchemaType.AVRO, (b"", A)), pair(SchemaType.STRING, SchemaType.INT32)
    assert risks(reader, writer) == []
    assert [each.rule for each in formats.unreadable(reader, writer)] == ["PART_TYPE_CHANGED"]


def test_the_encoding_is_told_once() -> None:
    kinds = SchemaType.STRING, SchemaType.STRING
    inline, separated = pair(*kinds), pair(*kinds, encoding=Encoding.SEPARATED)
    (found,) = formats.risks(inline, separated)
    assert (found.rule, found.is_mutual) == ("ENCODING_CHANGED", True)
    assert found.message.startswith("{writer} has the encoding SEPARATED, {reader} the encoding INLINE")


def test_without_an_encoding_a_pair_is_inline() -> None:
    info = pair(SchemaType.STRING, SchemaType.STRING).info
    bare = SchemaInfo(info.type, info.schema, {k: v for k, v in info.properties.items() if k != "kv.encoding.type"})
    assert risks(formats.parse(bare), formats.parse(info)) == []
    assert formats.self_risks(formats.parse(bare)) == ()


def test_an_encoding_that_nobody_knows_is_a_trap() -> None:
    info = pair(SchemaType.STRING, SchemaType.STRING).info
    odd = formats.parse(SchemaInfo(info.type, info.schema, {**info.properties, "kv.encoding.type": "inline"}))
    assert [(each.rule, each.reader_path) for each in formats.self_risks(odd)] == [("UNKNOWN_ENCODING", "$")]
    assert risks(odd, formats.parse(info)) == [("ENCODING_CHANGED", "$")]


@pytest.mark.parametrize(
    ("text", "words"), [(A, "its schema is stored and no client reads by it"), (b"", "consumers get plain bytes")]
)
def test_a_part_without_type_is_a_trap(text: bytes, words: str) -> None:
    info = pair(SchemaType.STRING, SchemaType.AVRO, (b"", text or A)).info
    payload = key_value.payload_of(f'{{"key": "", "value": {text.decode() or EMPTY}}}')
    bare = SchemaInfo(info.type, payload, {"key.schema.type": "STRING"})
    (found,) = formats.self_risks(formats.parse(bare))
    assert (found.rule, found.reader_path) == ("PART_TYPE_MISSING", "$.value")
    assert words in found.message


def test_a_text_of_type_bytes_that_changed_is_told() -> None:
    before, after = (pair(SchemaType.STRING, SchemaType.BYTES, (b"", text)) for text in (AB, A))
    assert risks(after, before) == [("UNCHECKED_CHANGE", "$.value")]
    assert risks(after, after) == []
    assert risks(before, pair(SchemaType.STRING, SchemaType.NONE, (b"", A))) == []


def test_the_charset_of_a_part_counts() -> None:
    plain = Part(SchemaInfo(SchemaType.STRING))
    latin = Part(SchemaInfo(SchemaType.STRING, b"", {"__charset": "ISO-8859-1"}))
    before, after = (formats.parse(key_value.encode(KeyValue(plain, each))) for each in (plain, latin))
    assert risks(after, before) == [("CHARSET_CHANGED", "$.value")]
    assert before.fingerprint == after.fingerprint


def test_the_spelling_of_a_charset_does_not_count() -> None:
    small, absent = (
        formats.parse(SchemaInfo(SchemaType.STRING, b"", properties)) for properties in ({"__charset": "utf-8"}, {})
    )
    assert risks(small, absent) == []
