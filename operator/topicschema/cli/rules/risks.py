"""Risks: changes that the broker accepts, and that make consumers lose or misread messages."""

from typing import Final

from topicschema.cli.rules.rule import Chapter, Example, Rule
from topicschema.core.policy import Strictness
from topicschema.core.schemas import SchemaType

_PAIR: Final = '{"key": "", "value": ""}'
_TYPES: Final = {"key.schema.type": "STRING", "value.schema.type": "STRING"}
_INLINE: Final = {**_TYPES, "kv.encoding.type": "INLINE"}


def _pair(properties: dict[str, str], before: dict[str, str] | None = None, text: str = _PAIR) -> Example:
    return Example(
        text,
        None if before is None else _PAIR,
        SchemaType.KEY_VALUE,
        properties=properties,
        earlier_properties=before,
        strictness=Strictness.STRICT,
    )


def _string(charset: str) -> Example:
    return Example(
        "",
        "",
        SchemaType.STRING,
        properties={"__charset": charset},
        earlier_properties={"__charset": "UTF-8"},
        strictness=Strictness.STRICT,
    )


PROPERTIES = Chapter(
    "Risks of properties",
    introduction="The broker ignores properties when it compares schemas. Clients use them to read messages.",
    rules=(
        Rule(
            "ENCODING_CHANGED",
            "A pair has another encoding (INLINE or SEPARATED) than before. Consumers look for the key "
            "in the payload instead of the message's own key, or vice versa. If nothing else changed, "
            "the broker returns the old version.",
            "keep the encoding, or use another topic.",
            _pair({**_TYPES, "kv.encoding.type": "SEPARATED"}, _INLINE),
            _pair(_INLINE, _TYPES),
        ),
        Rule(
            "UNKNOWN_ENCODING",
            "A pair has an unknown encoding. The broker stores it, and clients fail on it.",
            "write INLINE or SEPARATED, in capital letters, or remove the property, which means INLINE.",
            _pair({**_TYPES, "kv.encoding.type": "inline"}),
            _pair(_INLINE),
        ),
        Rule(
            "PART_TYPE_MISSING",
            "The property with a part's type is missing. The part is then BYTES: the broker stores its "
            "schema, compares nothing, and shows an empty text for it.",
            "add `key.schema.type` and `value.schema.type`.",
            _pair({"key.schema.type": "STRING"}),
            _pair(_TYPES),
        ),
        Rule(
            "UNCHECKED_CHANGE",
            "A part of type BYTES has another schema text than before. The broker does not compare such parts.",
            "give the part the type of its schema, on another topic.",
            Example(
                '{"key": "", "value": "long"}',
                '{"key": "", "value": "int"}',
                SchemaType.KEY_VALUE,
                properties={"key.schema.type": "STRING", "value.schema.type": "BYTES"},
                strictness=Strictness.STRICT,
            ),
            Example(
                '{"key": "", "value": "long"}',
                '{"key": "", "value": "int"}',
                SchemaType.KEY_VALUE,
                properties={"key.schema.type": "STRING", "value.schema.type": "AVRO"},
                strictness=Strictness.STRICT,
            ),
        ),
        Rule(
            "CHARSET_CHANGED",
            "The writer uses another charset (the property `__charset`) than the reader.",
            "keep the charset, or use another topic.",
            _string("ISO-8859-1"),
            _string("utf-8"),
        ),
    ),
)
