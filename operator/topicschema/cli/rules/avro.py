"""Rules of reading: writers that a reader cannot read. In the examples the candidate is the reader."""

from topicschema.cli.rules.avro_oddities import ODDITIES
from topicschema.cli.rules.rule import Chapter, Example, Rule

READING = Chapter(
    "AVRO and JSON: reader and writer",
    introduction="*Reader* and *writer* are Avro's words. Under BACKWARD the candidate is the reader, and "
    "earlier versions are writers. Under FORWARD an earlier version is the reader of what the "
    'candidate writes. So "give it a default" concerns the reader\'s schema. The examples use '
    "BACKWARD.",
    conclusion="The broker does *not* compare the symbols of enums, the names of records (outside unions), "
    "the order of fields, and fields that only the writer has. It also ignores logical types, "
    "docs, and the defaults of fields that both have. If consumers then lose or misread "
    "messages, it is a risk.",
    rules=(
        Rule(
            "FIELD_WITHOUT_DEFAULT",
            "The reader has a field that the writer does not have, without a default. Names are case "
            "sensitive. An enum's own default does not count as the field's.",
            "give the reader's field a default, or an alias that names the writer's field.",
            Example(
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": "long"},
  {"name": "note", "type": "string"}]}
""",
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": "long"}]}
""",
            ),
            Example(
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": "long"},
  {"name": "note", "type": "string", "default": ""}]}
""",
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": "long"}]}
""",
            ),
        ),
        Rule(
            "TYPE_MISMATCH",
            "The two have different types in the same place, and the writer's is not promoted to the "
            "reader's. Promotions are int to long, float, double; long to float, double; float to "
            "double; string to bytes and back.",
            "keep the type, widen it on the reading side first, or add a field under another name.",
            Example('"int"', '"long"'),
            Example('"long"', '"int"'),
        ),
        Rule(
            "NAME_MISMATCH",
            "An enum or a fixed has another simple name. Namespaces do not count here, and records may be renamed "
            "freely.",
            "keep the name, or give the reader's type the old name as an alias.",
            Example(
                '{"type": "enum", "name": "Color", "symbols": ["RED"]}',
                '{"type": "enum", "name": "Colour", "symbols": ["RED"]}',
            ),
            Example(
                """
{"type": "enum", "name": "Color", "aliases": ["Colour"],
 "symbols": ["RED"]}
""",
                '{"type": "enum", "name": "Colour", "symbols": ["RED"]}',
            ),
        ),
        Rule(
            "FIXED_SIZE",
            "A fixed has another size.",
            "keep the size; for another one add a field of a new type, with a default.",
            Example('{"type": "fixed", "name": "Hash", "size": 32}', '{"type": "fixed", "name": "Hash", "size": 16}'),
            Example(
                """
{"type": "record", "name": "File", "fields": [
  {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 2}},
  {"name": "wide", "default": "0000",
   "type": {"type": "fixed", "name": "Wide", "size": 4}}]}
""",
                """
{"type": "record", "name": "File", "fields": [
  {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 2}}]}
""",
            ),
        ),
        Rule(
            "NO_UNION_BRANCH",
            "The reader has a union here, and none of its branches matches what the writer writes. An "
            "enum or a fixed needs a branch of its full name. A record matches the branch of its full "
            "name, else one whose fields fit.",
            "add the branch to the reader, or do not remove it.",
            Example(
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "note", "type": ["null", "string"]}]}
""",
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "note", "type": ["null", "string", "int"]}]}
""",
            ),
            Example(
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "note", "type": ["null", "string", "int"]}]}
""",
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "note", "type": ["null", "string"]}]}
""",
            ),
        ),
        Rule(
            "UNION_BRANCH_UNREADABLE",
            "The writer has a union here, and the reader, which has none, cannot read one of its branches.",
            "keep the union in the reader.",
            Example(
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "note", "type": "string"}]}
""",
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "note", "type": ["null", "string"]}]}
""",
            ),
            Example(
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "note", "type": ["null", "string"]}]}
""",
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "note", "type": "string"}]}
""",
            ),
        ),
        Rule(
            "INVALID_DEFAULT",
            "A default does not fit its type. A schema with such a default is rejected before any "
            "comparison: the broker would store it as a first version, and fail on every later upload. "
            "Between versions, it is the default of a field that only the reader has. A union's default "
            "belongs to its first branch; from Pulsar 4.1 on, to any branch. From Pulsar 4.1 on, a broker may also "
            "fail on the default of a record that refers back to the field's record.",
            "make the default fit, or remove it.",
            Example(
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "note", "type": ["string", "null"], "default": null}]}
"""
            ),
            Example(
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "note", "type": ["null", "string"], "default": null}]}
"""
            ),
        ),
        *ODDITIES,
    ),
)
