"""The rules of KEY_VALUE, besides those of its parts' own types."""

from typing import Final

from topicschema.cli.rules.rule import Chapter, Example, Rule
from topicschema.core.schemas import SchemaType

_ORDER: Final = """
{"key": "", "value":
  {"type": "record", "name": "Order", "fields": []}}
"""
_DOCUMENTED: Final = """
{"key": "", "value":
  {"type": "record", "name": "Order", "doc": "x", "fields": []}}
"""


def _pair(key: str, value: str, **rest: str) -> dict[str, str]:
    return {"key.schema.type": key, "value.schema.type": value, **rest}


def _example(
    candidate: str, properties: dict[str, str], earlier: str | None = None, before: dict[str, str] | None = None
) -> Example:
    kind = SchemaType.KEY_VALUE
    return Example(candidate, earlier, kind, properties=properties, earlier_properties=before)


PAIRS = Chapter(
    "KEY_VALUE",
    introduction="A pair has the form of Pulsar's REST API, and properties give the types of its parts. "
    "Paths begin with `$.key` or `$.value`. The rules of the parts' own types apply within "
    "them.",
    rules=(
        Rule(
            "PART_TYPE_CHANGED",
            "The key or the value has another schema type than before. If the bytes are the same, the "
            "broker does not compare and returns the old version. Then it is a risk.",
            "keep the parts' types, or use another topic.",
            _example(_DOCUMENTED, _pair("STRING", "JSON"), _ORDER, _pair("STRING", "AVRO")),
            _example(_DOCUMENTED, _pair("STRING", "AVRO"), _ORDER),
        ),
        Rule(
            "KEY_VALUE_FORM",
            "The text is not a JSON object with the members `key` and `value`.",
            'write both. A primitive\'s schema is `""`.',
            _example('{"key": ""}', _pair("STRING", "STRING")),
            _example('{"key": "", "value": ""}', _pair("STRING", "STRING")),
        ),
        Rule(
            "PART_DOUBLE_ENCODED",
            "A part is a JSON string that contains JSON. The broker would treat it as a text.",
            "write the part's schema directly, without quotes around it.",
            _example(
                '{"key": "", "value": "{\\"type\\": \\"map\\", \\"values\\": \\"int\\"}"}', _pair("STRING", "AVRO")
            ),
            _example('{"key": "", "value": {"type": "map", "values": "int"}}', _pair("STRING", "AVRO")),
        ),
        Rule(
            "UNKNOWN_PART_TYPE",
            "A part's type is not a schema type.",
            "write Pulsar's name, in capital letters.",
            _example('{"key": "", "value": ""}', _pair("String", "STRING")),
            _example('{"key": "", "value": ""}', _pair("STRING", "STRING")),
        ),
        Rule(
            "NESTED_KEY_VALUE",
            "A part is a KEY_VALUE itself, which cannot be sent to a broker over REST.",
            "make that part a record with two fields.",
            _example('{"key": "", "value": {"key": "", "value": ""}}', _pair("STRING", "KEY_VALUE")),
            _example(_ORDER, _pair("STRING", "AVRO")),
        ),
        Rule(
            "PART_PROPERTIES",
            "A part's own properties are not a JSON object of texts.",
            "write such an object, or remove them.",
            _example('{"key": "", "value": ""}', _pair("STRING", "STRING", **{"key.schema.properties": "a=b"})),
            _example('{"key": "", "value": ""}', _pair("STRING", "STRING", **{"key.schema.properties": '{"a": "b"}'})),
        ),
        Rule(
            "KEY_VALUE_PAYLOAD",
            "The stored bytes are not the lengths and bytes of two schemas. A client registered them "
            "without the REST API.",
            "register the pair again, over the REST API or with Pulsar's own client.",
        ),
    ),
)
