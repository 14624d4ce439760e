"""A Pulsar version on Avro 1.12 unlike one on 1.11: texts, defaults, names that come late or twice."""

import json
from typing import Any

import pytest

from support.schemas.avro import array, enum, field, fixed, record
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType

OLD, NEW = PulsarVersion.V4_0, PulsarVersion.V4_1
COLOUR = enum("Colour", "RED", "BLUE")
PART = record("Part", field("size", "int"))


def refusal(schema: Any, pulsar_version: PulsarVersion, kind: SchemaType = SchemaType.JSON) -> tuple[str, str] | None:
    """Return the rule and the path, None if the schema is accepted."""
    try:
        formats.parse(SchemaInfo(kind, json.dumps(schema).encode()), pulsar_version)
    except InvalidSchemaError as error:
        return error.rule, error.place.path
    return None


def only_new(schema: Any) -> tuple[str, str] | None:
    """Return the old version's refusal of what the new one accepts."""
    assert refusal(schema, NEW) is None
    assert refusal(schema, PulsarVersion.V4_2) is None
    return refusal(schema, OLD)


def only_old(schema: Any) -> tuple[str, str] | None:
    """Return the new version's refusal of what the old one accepts."""
    assert refusal(schema, OLD) is None
    assert refusal(schema, PulsarVersion.V4_2) == refusal(schema, NEW)
    return refusal(schema, NEW)


def test_a_dollar_may_stand_in_any_name() -> None:
    assert only_new(record("Order$")) == ("INVALID_NAME", "$.name")
    assert only_new(record("Order", field("$id", "int"))) == ("INVALID_NAME", "$.fields[0].name")
    assert only_new(enum("State", "NEW$")) == ("INVALID_NAME", "$.symbols[0]")
    assert refusal(record("Order", namespace="shop.Outer$"), NEW) is None


@pytest.mark.parametrize("space", ["y-z", "a..b", "1a", ".a", "a."])
def test_every_part_of_a_namespace_must_be_a_name(space: str) -> None:
    assert only_old(record("Order", namespace=space)) == ("INVALID_NAME", "$.namespace")
    assert only_old(record(f"{space}.Order")) == ("INVALID_NAME", "$.name")
    assert refusal(record("Order", aliases=[f"{space}.Old"]), NEW) is None


@pytest.mark.parametrize("late", [COLOUR, PART, fixed("Hash", 16)])
def test_a_type_may_be_named_before_it_is_defined(late: dict[str, Any]) -> None:
    name = late["name"]
    text = record("Order", field("first", ["null", name]), field("second", array(name)), field("last", late))
    assert only_new(text) == ("UNDEFINED_NAME", "$.fields[0].type[1]")
    first_defined = record("Order", field("first", ["null", late]), field("second", array(name)), field("last", name))
    same = [
        formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(each).encode()), NEW) for each in (text, first_defined)
    ]
    assert same[0].fingerprint == same[1].fingerprint


def test_a_name_that_nothing_defines_is_refused_as_before() -> None:
    assert refusal(record("Order", field("part", "Part")), NEW) == ("UNDEFINED_NAME", "$.fields[0].type")
    assert refusal(array({"type": "Part"}), NEW) == ("UNKNOWN_TYPE", "$.items.type")
    both = record("Order", field("part", ["Part", PART]))
    assert refusal(both, NEW) == ("DUPLICATE_BRANCH", "$.fields[0].type[1]")


def test_a_later_fault_is_met_before_a_name_that_nothing_defines() -> None:
    huge = {**array("int"), "x": 2**63}
    for text in (["Lost", {}], [{"type": "Lost"}, {}], [huge, {}], ["int", "int", {}]):
        assert refusal(text, NEW, SchemaType.PROTOBUF) == ("MISSING_ATTRIBUTE", f"$[{len(text) - 1}]")
    assert refusal(["Lost", {}], OLD, SchemaType.PROTOBUF) == ("UNDEFINED_NAME", "$[0]")
    assert refusal(["Lost", "int", "int", {"type": "Gone"}], NEW) == ("DUPLICATE_BRANCH", "$[2]")


def test_a_branch_that_is_named_before_its_definition_and_defined_again_is_twice_in_the_union() -> None:
    assert refusal(["Part", PART], NEW) == ("DUPLICATE_BRANCH", "$[1]")
    assert refusal(["Part", PART, {}], NEW) == ("MISSING_ATTRIBUTE", "$[2]")


def test_until_it_is_defined_a_type_is_a_record_to_its_fields_default() -> None:
    def with_default(default: Any, late: dict[str, Any]) -> dict[str, Any]:
        return record("Order", field("first", late["name"], default=default), field("last", late))

    assert refusal(with_default("RED", COLOUR), NEW) == ("INVALID_DEFAULT", "$.fields[0].default")
    assert refusal(with_default({"size": 1}, PART), NEW) is None
    assert refusal(with_default({}, PART), NEW) == ("INVALID_DEFAULT", "$.fields[0].default")


def test_a_default_that_looks_into_an_incomplete_copy_is_refused() -> None:
    inner = record("B", field("back", ["null", "A"], default=None), field("ahead", ["null", "X"], default=None))
    outer = record("A", field("f", inner, default={}), field("g", record("X", field("b", "B"))))
    assert refusal(outer, NEW) == ("INVALID_DEFAULT", "$.fields[0].default")


def test_a_default_of_a_record_that_is_copied_later_is_refused() -> None:
    price = record("Price", field("of", ["null", "Item"]))
    item = record("Item", field("price", price, default={"of": None}))
    assert refusal(item, NEW) is None
    assert refusal(record("Order", field("first", ["Price", item])), NEW) is None  # its last branch is copied first
    assert only_old(record("Order", field("first", [item, "Price"]))) == (
        "INVALID_DEFAULT",
        "$.fields[0].type[0].fields[0].default",
    )


def test_a_name_may_be_defined_twice_where_avro_sees_no_difference() -> None:
    inner = record("Order", field("id", "int"))
    assert only_new(record("Order", field("again", inner))) == ("DUPLICATE_NAME", "$.fields[0].type")
    assert only_new(record("Order", field("a", COLOUR), field("b", COLOUR))) == ("DUPLICATE_NAME", "$.fields[1].type")
    after = record("Order", field("a", PART), field("b", PART))
    assert refusal(after, NEW) == ("DUPLICATE_NAME", "$.fields[1].type")
    other = record("Order", field("a", COLOUR), field("b", enum("Colour", "RED")))
    assert refusal(other, NEW) == ("DUPLICATE_NAME", "$.fields[1].type")


def test_a_record_that_is_defined_again_within_itself_equals_the_record() -> None:
    def box(inner: Any) -> Any:
        return record("Box", field("inner", array(inner)))

    schemas = [
        formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(text).encode()), NEW)
        for text in (box("Box"), box(box("Box")), box(box(box("Box"))), box(box("int")))
    ]
    assert schemas[0].fingerprint == schemas[1].fingerprint == schemas[2].fingerprint != schemas[3].fingerprint


def test_two_definitions_of_a_name_are_two_types() -> None:
    texts = [record("Order", field("again", record("Order", field("id", kind)))) for kind in ("int", "long", "int")]
    schemas = [formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(text).encode()), NEW) for text in texts]
    assert schemas[0].fingerprint == schemas[2].fingerprint != schemas[1].fingerprint
    assert formats.unreadable(schemas[1], schemas[0]) == ()
    assert [each.rule for each in formats.unreadable(schemas[0], schemas[1])] == ["TYPE_MISMATCH"]


def test_a_default_may_belong_to_any_branch_of_a_union() -> None:
    later = field("note", ["null", "string", {"type": "array", "items": ["null", "int"]}], default=[1])
    assert only_new(record("Order", later)) == ("INVALID_DEFAULT", "$.fields[0].default")
    neither = record("Order", field("note", ["null", "string"], default=1))
    of_itself = record("Order", field("note", ["Order", {"type": "map", "values": "int"}], default={}))
    for schema in (neither, of_itself):
        assert refusal(schema, NEW) == ("INVALID_DEFAULT", "$.fields[0].default")


def test_a_default_of_a_later_branch_is_put_in() -> None:
    writer, reader = record("Order"), record("Order", field("note", ["null", "string"], default="x"))
    for pulsar_version, rules in ((OLD, ["INVALID_DEFAULT"]), (NEW, [])):
        infos = [SchemaInfo(SchemaType.AVRO, json.dumps(each).encode()) for each in (reader, writer)]
        parsed = [formats.parse(info, pulsar_version, validate_defaults=False) for info in infos]
        assert [each.rule for each in formats.unreadable(*parsed)] == rules


def test_properties_of_records_arrays_and_maps_hold_no_huge_integers() -> None:
    assert only_old(record("Order", x=2**63)) == ("INVALID_ATTRIBUTE", "$.x")
    assert only_old({**array("int"), "x": [{"y": -(2**63) - 1}]}) == ("INVALID_ATTRIBUTE", "$.x")
    assert refusal(record("Order", field("id", "int", x=10**30), x=2**63 - 1), NEW) is None
    assert refusal(enum("State", "NEW", x=10**30), NEW) is None


def test_a_json_schema_is_refused_for_every_version() -> None:
    for pulsar_version in PulsarVersion:
        assert refusal({"type": "object", "properties": {}}, pulsar_version) == ("LEGACY_JSON_SCHEMA", "$")
