"""Texts of pairs that another client registered at a broker. The recorded conversations have those of uploads."""

import json

import pytest

from topicschema.core.formats import key_value
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.registry.answers import RestError, shown

TYPES = {"key.schema.type": "STRING", "value.schema.type": "AVRO"}


def test_an_infinite_number_is_a_text_as_at_a_broker() -> None:
    pair = SchemaInfo(SchemaType.KEY_VALUE, key_value.join(b"null", b'{"a": 1.00, "b": -1e400}'), TYPES)
    assert json.loads(shown(pair)) == {"key": "", "value": {"a": 1.0, "b": "-Infinity"}}


def test_a_part_that_is_no_json_cannot_be_shown() -> None:
    with pytest.raises(RestError, match="not JSON") as refused:
        shown(SchemaInfo(SchemaType.KEY_VALUE, key_value.join(b"", b"// comment"), TYPES))
    assert refused.value.status == 500
