"""KEY_VALUE as a schema: its parts, its identity, the comparison, the risks, and the words of a refusal."""

import pytest

from support.schemas.examples import record
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, KeyValueSchema, Part, Side, encode
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Direction, Strategy

CHECKED = [each for each in Strategy if each.directions]


def part(kind: SchemaType, schema: bytes = b"") -> Part:
    return Part(SchemaInfo(kind, schema))


def pair(key: Part, value: Part, encoding: Encoding = Encoding.INLINE) -> Schema:
    return formats.parse(key_value.encode(KeyValue(key, value, encoding)))


def check(candidate: Schema, earlier: Schema, strategy: Strategy) -> tuple[Incompatibility, ...]:
    return compatibility.check(candidate, [Predecessor(0, earlier.info.type, earlier)], strategy)


def refusal(info: SchemaInfo) -> InvalidSchemaError:
    with pytest.raises(InvalidSchemaError) as error:
        formats.parse(info)
    return error.value


STRING, INT32 = part(SchemaType.STRING), part(SchemaType.INT32)
ONE, TWO, OTHER = (Part(record(*fields).info) for fields in (("a",), ("a", "b?"), ("a", "c")))


def test_each_part_is_parsed_by_its_own_type() -> None:
    schema = pair(STRING, ONE, Encoding.SEPARATED)
    assert isinstance(schema, KeyValueSchema)
    assert (schema.key.info.type, schema.value.info) == (SchemaType.STRING, ONE.info)
    assert schema.pair.encoding is Encoding.SEPARATED
    assert schema.value.fingerprint == formats.parse(ONE.info).fingerprint


def test_only_the_bytes_are_the_identity() -> None:
    plain = pair(STRING, ONE)
    as_json = Part(SchemaInfo(SchemaType.JSON, ONE.info.schema), "another name")
    assert pair(INT32, as_json, Encoding.SEPARATED).fingerprint == plain.fingerprint
    respaced = part(SchemaType.AVRO, ONE.info.schema.replace(b" ", b""))
    assert pair(STRING, respaced).fingerprint != plain.fingerprint


@pytest.mark.parametrize(
    ("key", "value", "rule", "path"),
    [
        (part(SchemaType.INT8, b"x"), STRING, "PRIMITIVE_HAS_SCHEMA", "$.key"),
        (STRING, part(SchemaType.AVRO), "SYNTAX", "$.value"),
        (STRING, part(SchemaType.AVRO, b'["null","int"]'), "UNION_AT_TOP", "$.value"),
        (part(SchemaType.JSON, b'{"type":"record","name":"R","fields":[{"name":"a"}]}'), STRING, "", "$.key.fields[0]"),
        (STRING, part(SchemaType.AVRO, b'"{\\"type\\":\\"int\\"}"'), "PART_DOUBLE_ENCODED", "$.value"),
        (STRING, part(SchemaType.AVRO, b"{,"), "SYNTAX", "$.value"),
        (part(SchemaType.AUTO_CONSUME), STRING, "UNSUPPORTED_TYPE", "$.key"),
        (STRING, part(SchemaType.KEY_VALUE, bytes(8)), "NESTED_KEY_VALUE", "$.value"),
        (STRING, part(SchemaType.PROTOBUF, b'"Unknown"'), "UNDEFINED_NAME", "$.value"),
    ],
)
def test_a_part_that_is_no_schema_of_its_type_is_refused_with_its_place(
    key: Part, value: Part, rule: str, path: str
) -> None:
    error = refusal(encode(KeyValue(key, value)))
    assert rule in ("", error.rule)
    assert str(error.place) == path


def test_unions_may_be_the_top_of_json_and_protobuf_parts() -> None:
    union = b'["null","int"]'
    assert pair(part(SchemaType.JSON, union), part(SchemaType.PROTOBUF, union)).info.type is SchemaType.KEY_VALUE


def test_a_default_that_does_not_fit_passes_in_a_part_because_pairs_are_deduped_by_their_bytes() -> None:
    text = b'{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}'
    assert pair(STRING, part(SchemaType.AVRO, text)).info.schema.endswith(text)


def test_a_missing_part_type_is_bytes_and_its_schema_is_not_read() -> None:
    schema = formats.parse(SchemaInfo(SchemaType.KEY_VALUE, key_value.payload_of('{"key":{"a":1},"value":""}')))
    assert isinstance(schema, KeyValueSchema)
    assert (schema.key.info.type, schema.key.info.schema) == (SchemaType.BYTES, b'{"a":1}')
    assert schema.pair.encoding is Encoding.INLINE


@pytest.mark.parametrize("name", ["avro", "", "AUTO", "EXTERNAL", "Map"])
def test_an_unknown_part_type_is_refused(name: str) -> None:
    types = {"key.schema.type": "STRING", "value.schema.type": name}
    error = refusal(SchemaInfo(SchemaType.KEY_VALUE, bytes(8), types))
    assert (error.rule, str(error.place)) == ("UNKNOWN_PART_TYPE", "$.value")


@pytest.mark.parametrize("strategy", CHECKED)
def test_a_parts_type_may_not_change(strategy: Strategy) -> None:
    as_json = part(SchemaType.JSON, OTHER.info.schema)
    (finding,) = check(pair(STRING, as_json), pair(STRING, ONE), strategy)
    assert (finding.rule, finding.path) == ("PART_TYPE_CHANGED", "$.value")
    assert (finding.direction, finding.schema_version) == (None, 0)
    assert finding.message in (
        "the candidate has a value of type JSON, version 0 of type AVRO",
        "version 0 has a value of type AVRO, the candidate of type JSON",
    )


def test_equal_bytes_pass_the_latest_only_check_whatever_the_parts_types() -> None:
    earlier, candidate = pair(STRING, INT32), pair(INT32, STRING)
    assert check(candidate, earlier, Strategy.FULL) == ()
    findings = check(candidate, earlier, Strategy.FULL_TRANSITIVE)
    assert [(each.rule, each.path) for each in findings] == [
        ("PART_TYPE_CHANGED", "$.key"),
        ("PART_TYPE_CHANGED", "$.value"),
    ]


def test_each_part_is_compared_by_the_checker_of_its_type() -> None:
    both = check(pair(OTHER, OTHER), pair(ONE, ONE), Strategy.BACKWARD)
    assert [(each.rule, each.path, each.direction) for each in both] == [
        ("FIELD_WITHOUT_DEFAULT", "$.key.fields[1]", Direction.BACKWARD),
        ("FIELD_WITHOUT_DEFAULT", "$.value.fields[1]", Direction.BACKWARD),
    ]
    assert check(pair(STRING, TWO), pair(STRING, ONE), Strategy.FULL) == ()
    assert check(pair(STRING, OTHER), pair(STRING, ONE), Strategy.FORWARD) == ()


def test_a_part_without_a_checker_may_change_at_will() -> None:
    protobuf = [part(SchemaType.PROTOBUF, record(name).info.schema) for name in "ab"]
    assert check(pair(STRING, protobuf[0]), pair(STRING, protobuf[1]), Strategy.FULL_TRANSITIVE) == ()


def test_the_encoding_is_not_compared() -> None:
    for strategy in CHECKED:
        assert check(pair(STRING, TWO, Encoding.SEPARATED), pair(STRING, ONE), strategy) == ()


def test_the_strategies_without_a_direction_answer_as_pulsars_checkers_do() -> None:
    null = part(SchemaType.STRING, b"null")
    plain, changed = pair(STRING, INT32), pair(null, INT32)
    assert check(changed, plain, Strategy.ALWAYS_COMPATIBLE) == ()
    assert check(changed, plain, Strategy.UNDEFINED) == ()
    assert [each.rule for each in check(changed, plain, Strategy.ALWAYS_INCOMPATIBLE)] == ["ALWAYS_INCOMPATIBLE"]
    assert [each.rule for each in check(pair(STRING, TWO), pair(STRING, ONE), Strategy.UNDEFINED)] == ["UNDEFINED"]
    retyped = check(pair(null, part(SchemaType.INT64)), plain, Strategy.UNDEFINED)
    assert [(each.rule, each.path) for each in retyped] == [("PART_TYPE_CHANGED", "$.value")]


GOOD = SchemaInfo(SchemaType.AVRO, b'"int"')


def pair_with(side: Side, info: SchemaInfo) -> SchemaInfo:
    parts = {Side.KEY: Part(GOOD), Side.VALUE: Part(GOOD), side: Part(info)}
    return encode(KeyValue(parts[Side.KEY], parts[Side.VALUE]))


@pytest.mark.parametrize("side", Side)
def test_a_parts_line_and_column_are_in_the_message_as_they_are_not_the_pairs(side: Side) -> None:
    info = SchemaInfo(SchemaType.JSON, b'{"type":\n int}')
    alone, within = refusal(info), refusal(pair_with(side, info))
    assert within.rule == alone.rule == "SYNTAX"
    assert within.message == f"{alone.message} (line 2, column 2 of the {side}'s schema)"
    assert within.place.line is None


@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("kind", [SchemaType.NONE, SchemaType.BYTES])
def test_a_text_that_nothing_compares_is_reported_once_for_both_directions(side: Side, kind: SchemaType) -> None:
    one, other = (formats.parse(pair_with(side, SchemaInfo(kind, text))) for text in (b"{}", b"[]"))
    assert formats.unreadable(one, other) == ()
    [risk] = formats.risks(one, other)
    assert (risk.rule, risk.reader_path, risk.is_mutual) == ("UNCHECKED_CHANGE", f"$.{side}", True)
    assert formats.risks(one, one) == ()


AB = b'{"type":"enum","name":"E","symbols":["A","B"]}'
A = AB.replace(b',"B"', b"")


def risks(reader: Schema, writer: Schema) -> list[tuple[str, str]]:
    return [(each.rule, each.reader_path) for each in formats.risks(reader, writer)]


@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF])
def test_a_parts_own_risks_are_reported_with_its_path(kind: SchemaType) -> None:
    reader, writer = (pair(part(kind, text), part(kind, text)) for text in (A, AB))
    assert risks(reader, writer) == [("ENUM_SYMBOL_UNKNOWN", "$.key"), ("ENUM_SYMBOL_UNKNOWN", "$.value")]


def test_a_change_of_a_parts_type_is_left_to_the_check() -> None:
    reader, writer = pair(STRING, part(SchemaType.AVRO, A)), pair(STRING, INT32)
    assert risks(reader, writer) == []
    assert [each.rule for each in formats.unreadable(reader, writer)] == ["PART_TYPE_CHANGED"]


def test_the_encoding_is_reported_once_and_is_inline_where_it_is_not_stated() -> None:
    inline, separated = pair(STRING, STRING), pair(STRING, STRING, Encoding.SEPARATED)
    (risk,) = formats.risks(inline, separated)
    assert (risk.rule, risk.is_mutual) == ("ENCODING_CHANGED", True)
    assert risk.message.startswith("{writer} has the encoding SEPARATED, {reader} the encoding INLINE")
    info = inline.info
    bare = SchemaInfo(info.type, info.schema, {k: v for k, v in info.properties.items() if k != "kv.encoding.type"})
    assert risks(formats.parse(bare), inline) == []
    assert formats.self_risks(formats.parse(bare)) == ()


def test_the_charset_of_a_part_counts() -> None:
    latin = Part(SchemaInfo(SchemaType.STRING, b"", {"__charset": "ISO-8859-1"}))
    before, after = pair(STRING, STRING), pair(STRING, latin)
    assert risks(after, before) == [("CHARSET_CHANGED", "$.value")]
    assert before.fingerprint == after.fingerprint
