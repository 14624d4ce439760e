import json
from typing import Any

import pytest

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import fingerprint
from topicschema.core.formats.avro.model import ABSENT, Fixed, Node, Primitive, Union
from topicschema.core.formats.avro.parsing import parser
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType


def parse(value: Any, kind: SchemaType = SchemaType.AVRO) -> Any:
    """Return the root of a JSON value, or of a text as it is, as Any: each test knows its type."""
    text = value if isinstance(value, str) else json.dumps(value)
    return parser.parse(SchemaInfo(kind, text.encode()), PulsarVersion.V4_0)


def refused(value: Any, kind: SchemaType = SchemaType.AVRO) -> str:
    """Return the rule that a schema breaks."""
    with pytest.raises(InvalidSchemaError) as refusal:
        parse(value, kind)
    return refusal.value.rule


def record(*fields: Any, **rest: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": list(fields), **rest}


def field(kind: Any, name: str = "a", **rest: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **rest}


INNER = {"type": "record", "name": "I", "fields": []}

REFUSED: list[tuple[Any, str, str, str]] = [
    # what kind of thing a schema is
    (1, "NOT_A_SCHEMA", "$", "a number is no schema"),
    ("null", "NOT_A_SCHEMA", "$", "null is no schema"),
    (record(field({"type": "map", "values": False})), "NOT_A_SCHEMA", "$.fields[0].type.values", "a boolean is"),
    (record(field(None)), "NOT_A_SCHEMA", "$.fields[0].type", "null is no schema"),
    ({"type": "array", "items": [1]}, "NOT_A_SCHEMA", "$.items[0]", "a number is no schema"),
    *[(text, "SYNTAX", "$", "empty") for text in ("", "\n\n")],
    # attributes
    ({}, "MISSING_ATTRIBUTE", "$", "needs 'type'"),
    ({"type": None}, "INVALID_ATTRIBUTE", "$.type", "must be a text"),
    ({"type": {"type": "int"}}, "INVALID_ATTRIBUTE", "$.type", "put the inner schema"),
    ({"type": "record", "name": "R"}, "MISSING_ATTRIBUTE", "$", "needs 'fields'"),
    ({"type": "record", "name": "R", "fields": {}}, "INVALID_ATTRIBUTE", "$.fields", "must be an array"),
    ({"type": "record", "fields": []}, "MISSING_ATTRIBUTE", "$", "needs 'name'"),
    (record(1), "INVALID_ATTRIBUTE", "$.fields[0]", "must be an object"),
    (record({"type": "int"}), "MISSING_ATTRIBUTE", "$.fields[0]", "needs 'name'"),
    (record({"name": "a"}), "MISSING_ATTRIBUTE", "$.fields[0]", "'a' needs 'type'"),
    ({"type": "map"}, "MISSING_ATTRIBUTE", "$", "needs 'values'"),
    ({"type": "map", "values": {"type": "array"}}, "MISSING_ATTRIBUTE", "$.values", "needs 'items'"),
    ({"type": "enum", "name": "E"}, "MISSING_ATTRIBUTE", "$", "needs 'symbols'"),
    ({"type": "enum", "name": "E", "symbols": "A"}, "INVALID_ATTRIBUTE", "$.symbols", "must be an array"),
    ({"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}, "INVALID_ATTRIBUTE", "$.default", "'B'"),
    ({"type": "fixed", "name": "F"}, "MISSING_ATTRIBUTE", "$", "needs 'size'"),
    ({"type": "fixed", "name": "F", "size": -1}, "INVALID_ATTRIBUTE", "$.size", "integer from 0"),
    ({"type": "fixed", "name": "F", "size": 4.0}, "INVALID_ATTRIBUTE", "$.size", "integer from 0"),
    ({"type": "fixed", "name": "F", "size": True}, "INVALID_ATTRIBUTE", "$.size", "integer from 0"),
    *[({"type": "fixed", "name": "F", "size": size}, "INVALID_ATTRIBUTE", "$.size", "integer from 0")
      for size in ("1", [1], 2**31)],
    ({"type": "fixed", "name": "F", "size": 2**31 - 8}, "INVALID_ATTRIBUTE", "$.size", "integer from 0"),
    (record(field("int", order="weird")), "INVALID_ATTRIBUTE", "$.fields[0].order", "ascending"),
    (record(field("int", order=None)), "INVALID_ATTRIBUTE", "$.fields[0].order", "ascending"),
    (record(field("int", aliases="b")), "INVALID_ATTRIBUTE", "$.fields[0].aliases", "array of names"),
    (record(aliases=[1]), "INVALID_ATTRIBUTE", "$.aliases", "array of names"),
    # names
    ({"type": "record", "name": 1, "fields": []}, "INVALID_NAME", "$.name", "text in double quotes"),
    (record({"name": 1, "type": "int"}), "INVALID_NAME", "$.fields[0].name", "text in double quotes"),
    (record(name=""), "INVALID_NAME", "$.name", "empty"),
    (record(name="a."), "INVALID_NAME", "$.name", "empty"),
    (record(name="1a"), "INVALID_NAME", "$.name", "start with '1'"),
    (record(name="a-b"), "INVALID_NAME", "$.name", "contain '-'"),
    (record(name="a\0b"), "INVALID_NAME", "$.name", r"contain '\u0000'"),
    (record(name="a\ufffdb"), "INVALID_NAME", "$.name", "no valid Unicode"),
    (record(name="a\U0001d400"), "INVALID_NAME", "$.name", "contain"),
    (record(name="a\ud800"), "INVALID_NAME", "$.name", r"contain '\ud800'"),
    (record(name="int"), "INVALID_NAME", "$.name", "like a primitive"),
    (record(field("int", name="a.b")), "INVALID_NAME", "$.fields[0].name", "contain '.'"),
    (record(aliases=["x-y"]), "INVALID_NAME", "$.aliases", "contain '-'"),
    ({"type": "enum", "name": "E", "symbols": ["A", "a b"]}, "INVALID_NAME", "$.symbols[1]", "contain ' '"),
    ({"type": "enum", "name": "E", "symbols": ["A", 1]}, "INVALID_NAME", "$.symbols[1]", "a symbol must be a text"),
    (record(field("Foo")), "UNDEFINED_NAME", "$.fields[0].type", "'Foo' is not defined"),
    (record(field("String")), "UNDEFINED_NAME", "$.fields[0].type", "spelled 'string'"),
    (record(field("a b")), "INVALID_NAME", "$.fields[0].type", "contain ' '"),
    (record(field("I"), field(INNER, "b")), "UNDEFINED_NAME", "$.fields[0].type", "'I' is not defined before"),
    ({"type": "uuid"}, "UNKNOWN_TYPE", "$.type", "'uuid'"),
    ({"type": "RECORD", "name": "R", "fields": []}, "UNKNOWN_TYPE", "$.type", "'RECORD'"),
    (record(field(record())), "DUPLICATE_NAME", "$.fields[0].type", "defined already at $;"),
    (record(field(INNER), field(INNER, "b")), "DUPLICATE_NAME", "$.fields[1].type", "at $.fields[0].type;"),
    (record(field("int"), field("long")), "DUPLICATE_FIELD", "$.fields[1].name", "'a' twice"),
    ({"type": "enum", "name": "E", "symbols": ["A", "B", "A"]}, "DUPLICATE_SYMBOL", "$.symbols[2]", "'A' twice"),
    # unions
    (record(field(["null", ["int"]])), "NESTED_UNION", "$.fields[0].type[1]", "union"),
    (record(field(["int", "null", "int"])), "DUPLICATE_BRANCH", "$.fields[0].type[2]", "'int' twice"),
    (record(field([INNER, "I"])), "DUPLICATE_BRANCH", "$.fields[0].type[1]", "'I' twice"),
    (record(field([{"type": "map", "values": t} for t in ("int", "long")])), "DUPLICATE_BRANCH", "$.fields[0].type[1]",
     "'map' twice"),
    (["null", "string"], "UNION_AT_TOP", "$", "wrap it in a record"),
    ([], "UNION_AT_TOP", "$", "wrap it in a record"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "rule", "path", "words"), REFUSED, ids=lambda case: ascii(case)[:50].replace("\\", "")
)
def test_a_text_that_avro_refuses_is_refused_with_rule_path_and_reason(
    value: Any, rule: str, path: str, words: str
) -> None:
    with pytest.raises(InvalidSchemaError) as refusal:
        parse(value)
    error = refusal.value
    assert (error.rule, error.place.path) == (rule, path)
    assert words in error.message
    assert len(error.message) <= 512


@pytest.mark.parametrize(
    ("text", "line", "column"), [(b"\xff", 1, 1), (b'{"a":\n "\xc3\xa9\xc3"}', 2, 4), (b'"\xed\xa0\x80"', 1, 2)]
)
def test_bytes_that_are_not_utf_8_are_refused_with_line_and_column(text: bytes, line: int, column: int) -> None:
    with pytest.raises(InvalidSchemaError) as refusal:
        parser.parse(SchemaInfo(SchemaType.AVRO, text))
    error = refusal.value
    assert (error.rule, error.place.line, error.place.column) == ("NOT_UTF8", line, column)


@pytest.mark.parametrize(
    "value",
    [
        {"type": "object", "id": "urn:jsonschema:X", "properties": {}},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": ["object"]},
        {"type": "integer"},
    ],
)
def test_a_json_schema_is_named_as_such_for_type_json_alone(value: Any) -> None:
    assert refused(value, SchemaType.JSON) == "LEGACY_JSON_SCHEMA"
    assert refused(value, SchemaType.AVRO) in {"UNKNOWN_TYPE", "INVALID_ATTRIBUTE"}
    assert refused(record(field("Foo")), SchemaType.JSON) == "UNDEFINED_NAME"


def test_a_union_at_the_top_is_fine_for_json() -> None:
    root = parse(["null", "string"], SchemaType.JSON)
    assert isinstance(root, Union)
    assert [branch.path for branch in root.branches] == ["$[0]", "$[1]"]


@pytest.mark.parametrize(
    ("name", "namespace", "full"),
    [
        ("R", None, "R"),
        ("R", "", "R"),
        ("R", "x.y", "x.y.R"),
        ("x.R", "y", "x.R"),
        (".R", "y", "R"),
        ("R", "x..y-z", "x..y-z.R"),
        ("R", 1, "R"),
        ("é_1", "ü", "ü.é_1"),
    ],
)
def test_a_name_and_a_namespace_make_the_full_name(name: str, namespace: Any, full: str) -> None:
    assert parse(record(name=name, namespace=namespace)).full_name == full


def test_inner_names_resolve_in_the_namespace_of_their_parent_and_then_in_none() -> None:
    root = parse(
        record(
            field({"type": "fixed", "name": "F", "namespace": "", "size": 1}),
            field({"type": "enum", "name": "E", "symbols": ["A"]}, "b"),
            field(["E", "F", "x.R", {"type": "array", "items": {"type": "E", "doc": "overlooked"}}], "c"),
            namespace="x",
        )
    )
    fixed, enum, union = (each.type for each in root.fields)
    assert (fixed.full_name, enum.full_name) == ("F", "x.E")
    assert union.branches[:3] == (enum, fixed, root)
    assert union.branches[3].items is enum


def test_aliases_become_full_names_in_the_types_namespace() -> None:
    root = parse(record(field("int", aliases=["b", "c", "b"]), namespace="x", aliases=["Q", "y.Q", ".Q", "x.Q"]))
    assert tuple(root.aliases) == ("x.Q", "y.Q", "Q")
    assert root.fields[0].aliases == ("b", "c")


def test_properties_are_what_avro_does_not_know() -> None:
    root = parse(
        record(
            field({"type": "int", "logicalType": "date", "default": 1, "order": 2, "size": 3}, logicalType="x", size=4),
            field({"type": "enum", "name": "E", "symbols": ["A"], "default": "A", "x": None}, "b"),
            items="reserved",
            precision=4,
        )
    )
    assert root.props == {"precision": 4}
    assert root.fields[0].props == {"logicalType": "x", "size": 4}
    assert root.fields[0].type.props == {"logicalType": "date", "default": 1, "order": 2}
    assert root.fields[1].type.props == {"x": None}


def test_attributes_of_the_wrong_kind_are_overlooked_where_avro_overlooks_them() -> None:
    root = parse(record(field({"type": "enum", "name": "E", "symbols": ["A"], "default": 1}), doc=1))
    assert (root.doc, root.fields[0].type.default) == (None, None)


def test_defaults_orders_docs_and_sizes_are_stored() -> None:
    root = parse(
        record(
            field("int", doc="how many"),
            field(["null", "int"], "b", default=None, order="IGNORE"),
            field("double", "c", default=" 0x1p3f "),
            field("double", "d", default="1e999"),
            field("string", "e", default="1"),
            field({"type": "fixed", "name": "F", "size": 0}, "f", default=""),
            field({"type": "fixed", "name": "G", "size": 2**31 - 9}, "g"),  # Java's largest array
            doc="words",
        )
    )
    assert root.doc == "words"
    assert [each.default for each in root.fields] == [ABSENT, None, 8.0, float("inf"), "1", "", ABSENT]
    assert [each.order for each in root.fields[:2]] == ["ascending", "ignore"]
    assert root.fields[0].doc == "how many"
    assert isinstance(root.fields[5].type, Fixed)
    assert isinstance(root.fields[4].type, Primitive)


def test_a_chain_of_twenty_thousand_types_is_parsed() -> None:
    """It takes some seconds: the chain is longer than any stack that a recursive parser would use up."""
    types = [
        {"type": "record", "name": f"R{i}", "fields": [field(f"R{i - 1}" if i else "int", default={} if i else 0)]}
        for i in range(20_000)
    ]
    root: Node = parse(types, SchemaType.JSON)
    assert isinstance(root, Union)
    fingerprint.seal(SchemaType.JSON, root)
    assert len({branch.digest for branch in root.branches}) == 20_000


@pytest.mark.parametrize("levels", [10_000, 100_000])
def test_a_text_of_any_depth_is_refused_not_crashed_on(levels: int) -> None:
    assert refused('{"type":"array","items":' * levels + '"int"' + "}" * levels) == "TOO_DEEP"


def test_many_nodes_at_a_great_depth_do_not_fill_the_memory() -> None:
    fields = ",".join(f'{{"name":"f{i}","type":"int"}}' for i in range(30_000))
    text = '{"type":"array","items":' * 900 + '{"type":"record","name":"R","fields":[' + fields + "]}" + "}" * 900
    assert refused(text) == "COMPARISON_TOO_COMPLEX"


def in_long_namespace(*kinds: Any, length: int = 10_000) -> str:
    fields = [field(kind, f"x{n}") for n, kind in enumerate(kinds)]
    return json.dumps(record(*fields, namespace="n" * length))


LONG_NAMES = {
    "definitions": [{"type": "fixed", "name": f"F{n}", "size": 1} for n in range(1_000)],
    "references": [["R", "null"]] * 1_000,
    "aliases": [{"type": "enum", "name": "E", "symbols": [], "aliases": [f"A{n}" for n in range(1_000)]}],
}


@pytest.mark.parametrize("kinds", LONG_NAMES.values(), ids=LONG_NAMES)
def test_many_names_in_a_long_namespace_do_not_fill_the_memory(kinds: list[Any]) -> None:
    parse(in_long_namespace(*kinds, length=1_000))
    assert refused(in_long_namespace(*kinds)) == "COMPARISON_TOO_COMPLEX"


def test_names_that_are_searched_ahead_do_not_fill_the_memory() -> None:
    text = in_long_namespace("Later", *LONG_NAMES["definitions"])
    with pytest.raises(InvalidSchemaError) as refusal:
        parser.parse(SchemaInfo(SchemaType.AVRO, text.encode()), PulsarVersion.V4_2)
    assert refusal.value.rule == "COMPARISON_TOO_COMPLEX"
