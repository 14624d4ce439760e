"""Which texts Avro 1.11.4 parses and which schemas it holds equal, as recorded from the library."""

import json
from pathlib import Path
from typing import Any

import pytest

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import identity, parser
from topicschema.core.formats.avro.model import Node
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType

RECORDED = json.loads((Path(__file__).parent / "avro-parse-and-equality.json").read_text())


def parsed(text: str, *, validate_defaults: bool) -> Node:
    info = SchemaInfo(SchemaType.JSON, text.encode())
    return parser.parse(info, PulsarLine.V4_0, validate_defaults=validate_defaults)


def accepts(text: str, *, validate_defaults: bool) -> bool:
    try:
        parsed(text, validate_defaults=validate_defaults)
    except InvalidSchemaError:
        return False
    return True


@pytest.mark.parametrize("case", RECORDED["parse"], ids=lambda case: repr(case["text"])[:60])
def test_a_text_is_taken_where_avro_takes_it(case: dict[str, Any]) -> None:
    recorded = case["avro_1_11_4"]
    assert accepts(case["text"], validate_defaults=False) is recorded["accept_without_default_validation"]
    assert accepts(case["text"], validate_defaults=True) is recorded["accept_with_default_validation"]


@pytest.mark.parametrize("case", RECORDED["schema_equality_used_for_dedupe"], ids=lambda case: case["id"])
def test_schemas_are_equal_where_avro_holds_them_equal(case: dict[str, Any]) -> None:
    a = parsed(case["a"], validate_defaults=False)
    b = parsed(case["b"], validate_defaults=False)
    fingerprints = {identity.fingerprint(SchemaType.AVRO, node) for node in (a, b)}
    assert (len(fingerprints) == 1) is case["equal"]
    assert identity.equal(a, b) is case["equal"]
