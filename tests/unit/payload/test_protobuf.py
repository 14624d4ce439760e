"""PROTOBUF payloads, validated by the parsing information that Pulsar's Java client stores as a property."""

import json
from typing import Any

import pytest

from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

FIELDS = [
    {"number": 2, "name": "id", "type": "INT64", "label": "LABEL_OPTIONAL", "definition": None},
    {"number": 1, "name": "line", "type": "MESSAGE", "label": "LABEL_REPEATED", "definition": None},
    {"number": 3, "name": "color", "type": "ENUM", "label": "LABEL_OPTIONAL", "definition": None},
    {"number": 4, "name": "n", "type": "SINT32", "label": "LABEL_REPEATED", "definition": None},
    {"number": 5, "name": "part", "type": "GROUP", "label": "LABEL_OPTIONAL", "definition": None},
]


def schema(parsing_info: Any) -> Schema:
    value = parsing_info if isinstance(parsing_info, str) else json.dumps(parsing_info)
    properties = {} if parsing_info is None else {"__PARSING_INFO__": value}
    text = b'{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'
    return formats.parse(SchemaInfo(SchemaType.PROTOBUF, text, properties))


def test_fields_are_read_by_the_numbers_of_the_property_and_messages_inside_are_bytes() -> None:
    content = bytes.fromhex("0a 02 08 05 0a 00 10 96 01 18 07 22 02 01 02 20 01")
    value = {"line": [b"\x08\x05", b""], "id": 150, "color": 7, "n": [-1, 1, -1]}
    assert payload.decode(schema(FIELDS), content) == value
    assert payload.validate(schema(FIELDS), content) == ()


def test_what_is_wrong_has_its_byte_and_field() -> None:
    [finding] = payload.validate(schema(FIELDS), b"\x10\x01\x0a\x05")
    assert (finding.rule, finding.path, finding.offset) == ("TRUNCATED", "$.line[0]", 3)
    [finding] = payload.validate(schema(FIELDS), b"\x33\x08\x01\x34")
    assert (finding.rule, finding.is_tolerated) == ("UNKNOWN_FIELD", True)


@pytest.mark.parametrize(
    "parsing_info",
    [
        None,
        "[",
        {},
        [1],
        [{"number": 0, "name": "id", "type": "INT64", "label": "LABEL_OPTIONAL"}],
        [{"number": 1, "name": "id", "type": ["INT64"], "label": "LABEL_OPTIONAL"}],
        [{"number": 1, "name": "id", "type": "INT64", "label": None}],
        [{"number": 1, "name": None, "type": "INT64", "label": "LABEL_OPTIONAL"}],
    ],
)
def test_without_the_property_the_refusal_names_it(parsing_info: Any) -> None:
    with pytest.raises(InvalidSchemaError, match="__PARSING_INFO__") as caught:
        payload.codec(schema(parsing_info))
    assert caught.value.rule == "MISSING_PARSING_INFO"


def test_they_cannot_be_written() -> None:
    with pytest.raises(InvalidSchemaError, match="by their") as caught:
        payload.encode(schema(FIELDS), {"id": 1})
    assert caught.value.rule == "UNSUPPORTED_TYPE"
