"""Texts that are a JSON Schema to Jackson: a wrong member anywhere, and it is none."""

import pytest

from topicschema.core import jackson
from topicschema.core.jackson import TextReading

TAKEN = (
    '{"type": "object"} and more',
    '{"type": "array", "items": [{"type": "string"}, null]}',
    '{"type": "object", "properties": {"a": ["number", {"maximum": " 1e3 "}]}, "patternProperties": {"b": null}}',
    '{"type": "object", "additionalProperties": false, "dependencies": {"a": [1]}, "oneOf": [1], "x": {"type": 1}}',
    '{"type": "object", "links": [{"href": "a", "schema": {"type": "any"}, "rel": true}, null]}',
    '{"maxItems": "2", "uniqueItems": "True", "type": "array", "enum": ["a", 1, null], "required": 7, "minItems": ""}',
    '{"type": "object", "properties": {"a": {"type": "string", "format": "no-such", "maxLength": 1.9}}}',
    '{"type": "array", "items": {"type": "any", "id": 1.5}}',
    '{"type": "integer", "format": 99, "divisibleBy": "+2", "minimum": "NaN"}',
    '{"type": "object", "type": "record"}',
    '{"type": null, "type": ["record"], "type": "object"}',
    "null",
    '["object"]',
    '["object", {"id": "x"}]',
)
PASSED_OVER = (
    '{"type": "array", "items": [1]}',
    '{"type": "array", "items": "string"}',
    '{"type": "array", "additionalItems": []}',
    '{"type": "array", "maxItems": 3000000000}',
    '{"type": "array", "maxItems": 2147483647.5}',
    '{"type": "object", "properties": {"a": {}}}',
    '{"type": "object", "properties": {"a": {"type": "record"}}}',
    '{"type": "object", "properties": [{"type": "any"}]}',
    '{"type": "object", "properties": {"a": ["record"]}}',
    '{"type": "object", "extends": {"type": "any"}}',
    '{"type": "object", "required": ["a"]}',
    '{"type": "object", "required": 1.5}',
    '{"type": "object", "id": {}}',
    '{"type": "object", "enum": [{}]}',
    '{"type": "object", "enum": "a"}',
    '{"type": "object", "dependencies": []}',
    '{"type": "object", "links": [{"targetSchema": "a"}]}',
    '{"type": "number", "maximum": "1f"}',
    '{"type": "number", "format": 1.5}',
    '{"type": "integer", "divisibleBy": "2.0"}',
    '{"type": "object", "unknown": ' + "9" * 1001 + "}",
    '{"type": ["object"]}',
    '["object", {"id": []}]',
    '["object", {}, {}]',
    '["record", nothing',
    '["record" "object"]',
    '{"id": "x"}',
    '"object"',
    "[]",
    "1",
)
FAILED = ('{"id": [], "type": "record"}', '{"type": 1.0}', '{"type": false', "[true]", '["record", {"a": nothing')


@pytest.mark.parametrize("text", TAKEN)
def test_a_json_schema_is_one_for_all_that_jackson_coerces_and_does_not_know(text: str) -> None:
    assert jackson.reading(text.encode()) is TextReading.JSON_SCHEMA


@pytest.mark.parametrize("text", PASSED_OVER)
def test_one_wrong_member_however_deep_and_it_is_no_json_schema(text: str) -> None:
    assert jackson.reading(text.encode()) is TextReading.NEITHER


@pytest.mark.parametrize("text", FAILED)
def test_an_outermost_type_of_another_kind_is_a_failure_before_anything_else_is_read(text: str) -> None:
    assert jackson.reading(text.encode()) is TextReading.FAILURE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"type": "any", "id": "x", "id": 1.50}', "1.50"),
        ('{"type": "any", "id": true}', "true"),
        ('["any", {"id": "x"}]', "x"),
        ('["any"]', None),
        ('{"type": "any", "id": "x", "id": null}', None),
        ('{"type": "any"}', None),
    ],
)
def test_the_id_is_the_last_that_is_written_as_a_text(text: str, expected: str | None) -> None:
    assert jackson.id_of(text.encode()) == expected


def test_a_type_alone_in_an_array_is_null_to_jackson() -> None:
    assert all(map(jackson.is_null, (b"null", b'["any"]')))
    assert not any(map(jackson.is_null, (b'["any", {}]', b"{}")))
