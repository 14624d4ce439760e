"""Risks of AVRO and JSON: what the broker lets pass, and consumers then lose or misread."""

from typing import Final

from topicschema.cli.rules.rule import Chapter, Example, Rule
from topicschema.core.policy import Strictness
from topicschema.core.schemas import SchemaType

_ENUM: Final = '{"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}'
_WITH_DEFAULT: Final = """
{"type": "enum", "name": "Colour", "default": "RED",
 "symbols": ["RED", %s"GREEN"]}
"""
_MILLIS: Final = '{"type": "long", "logicalType": "timestamp-millis"}'
_ADDRESS: Final = """
{"type": "record", "name": "Address", "fields": [
  {"name": "city", "type": "string"}]}
"""
_IN_UNION: Final = """
{"type": "record", "name": "Order", "fields": [
  {"name": "to", "type": ["null", {"type": "record", "name": "%s",
    "fields": [{"name": "city", "type": "string"}]}]}]}
"""
_ALIASED: Final = """
{"type": "record", "name": "Order", "fields": [
  {"name": "%s", "type": "long", "default": 0, "aliases": ["number"]}]}
"""


def _strict(candidate: str, earlier: str, kind: SchemaType = SchemaType.AVRO) -> Example:
    return Example(candidate, earlier, kind, strictness=Strictness.STRICT)


def _decimal(precision: int, scale: int) -> str:
    return f'{{"type": "bytes", "logicalType": "decimal",\n "precision": {precision}, "scale": {scale}}}'


RISKS = Chapter(
    "Risks of AVRO and JSON",
    introduction="The broker accepts all this. Strictness Broker warns of it, and Strict rejects it. "
    "PROTOBUF, which the broker does not compare at all, has these risks too, and everything "
    "that AVRO would reject. The examples use BACKWARD: the candidate reads what version 0 "
    "wrote.",
    rules=(
        Rule(
            "ENUM_SYMBOL_UNKNOWN",
            "The writer's enum has symbols that the reader's lacks, and the reader's has no default. "
            "The broker does not compare symbols. A reader fails on each message with such a symbol. In "
            "JSON a default does not help.",
            "keep the symbols, or give the reader's enum a default.",
            _strict('{"type": "enum", "name": "Colour", "symbols": ["RED"]}', _ENUM),
            _strict(_ENUM.replace("RED", "GREEN", 1).replace("[", '["RED", '), _ENUM),
        ),
        Rule(
            "ENUM_SYMBOL_REPLACED",
            "The writer's enum has symbols that the reader's lacks. The reader replaces them by its "
            "default, and the written symbol is lost.",
            "keep the symbols that must stay distinct.",
            _strict(_WITH_DEFAULT % "", _WITH_DEFAULT % '"BLUE", '),
            _strict(_WITH_DEFAULT % '"BLUE", ', _WITH_DEFAULT % ""),
        ),
        Rule(
            "RECORD_RENAMED",
            "A record has another name. Java's clients, like the broker, still read it. Clients that "
            "follow Avro's specification (Python's among them) fail on every message.",
            "keep the name, or give the reader's record the old one as an alias.",
            _strict(_ADDRESS.replace("Address", "Place"), _ADDRESS),
            _strict(
                """
{"type": "record", "name": "Place", "aliases": ["Address"], "fields": [
  {"name": "city", "type": "string"}]}
""",
                _ADDRESS,
            ),
        ),
        Rule(
            "UNION_BRANCH_BY_STRUCTURE",
            "The reader's union has no record of the writer's name, and Avro takes a branch whose "
            "fields happen to fit. An empty record fits everything.",
            "keep the name, or give the reader's record the old one as an alias.",
            _strict(_IN_UNION % "Place", _IN_UNION % "Address"),
            _strict(_IN_UNION.replace('["null", ', '["string", "null",\n    ') % "Address", _IN_UNION % "Address"),
        ),
        Rule(
            "CLASS_RENAMED",
            "A type has another namespace, or, in JSON, another name. Messages are read as before. "
            "Generated classes have other names.",
            "keep the full name, or give the reader's type the old one as an alias.",
            _strict(_ADDRESS.replace("Address", "post.Address"), _ADDRESS.replace("Address", "shop.Address")),
            _strict(
                _ADDRESS.replace('"Address",', '"post.Address", "aliases": ["shop.Address"],\n '),
                _ADDRESS.replace("Address", "shop.Address"),
            ),
        ),
        Rule(
            "LOGICAL_TYPE_CHANGED",
            "The same type has another logical type: the same number means another value.",
            "keep the logical type, or add a field under another name.",
            _strict(_MILLIS.replace("millis", "micros"), _MILLIS),
            _strict(_MILLIS.replace("}", ', "doc": "x"}'), _MILLIS),
        ),
        Rule(
            "LOGICAL_TYPE_ONE_SIDED",
            "A logical type was added or removed. The bytes are the same. Generated code and clients "
            "that write JSON have other values.",
            "keep it as it is, or add a field under another name.",
            _strict(_MILLIS, '"long"'),
            _strict('{"type": "long", "logicalType": "date"}', '"long"'),
        ),
        Rule(
            "DECIMAL_SCALE_CHANGED",
            "A decimal has another scale: a reader puts the decimal point in another place.",
            "keep the scale, or add a field under another name.",
            _strict(_decimal(9, 3), _decimal(9, 2)),
            _strict(_decimal(12, 2), _decimal(9, 2)),
        ),
        Rule(
            "DECIMAL_PRECISION_REDUCED",
            "A reader's decimal has fewer digits than the writer's, and cannot hold the longer values.",
            "keep the precision, or raise it on the reading side.",
            _strict(_decimal(6, 2), _decimal(9, 2)),
            _strict(_decimal(12, 2), _decimal(9, 2)),
        ),
        Rule(
            "NUMBER_ROUNDED",
            "An int or a long is read as a float, or a long as a double, which cannot represent all of "
            "its values. Large ones are rounded.",
            "keep the type; int may become long or double.",
            _strict('"double"', '"long"'),
            _strict('"double"', '"int"'),
        ),
        Rule(
            "BYTES_AS_TEXT",
            "Bytes are read as a string: bytes that are not UTF-8 are lost. In JSON, where bytes are "
            "base64, neither can be read as the other.",
            "keep the type, or add a field under another name.",
            _strict('"string"', '"bytes"'),
            _strict('"bytes"', '"string"'),
        ),
        Rule(
            "ALIAS_IN_JSON",
            "In type JSON, a field has another name and the old one as an alias. The broker follows the "
            "alias. JSON messages have the old name, which no client reads.",
            "keep the name, or write both fields until no client reads the old one.",
            _strict(_ALIASED % "no", _ALIASED % "number", SchemaType.JSON),
            _strict(_ALIASED % "no", _ALIASED % "number"),
        ),
    ),
)
