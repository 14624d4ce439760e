"""Rules of parsing: Avro texts that are no schema."""

from topicschema.cli.rules.rule import Chapter, Example, Rule
from topicschema.core.schemas import SchemaType

_DEEP = '{"type": "array", "items": ' * 1001 + '"int"' + "}" * 1001
_ENUM = '{"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}'
_RECORD = """
{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": "long"}]}
"""

AVRO = Chapter(
    "Invalid texts of AVRO and JSON",
    introduction="The broker refuses these, too (HTTP 422 or 500).",
    rules=(
        Rule(
            "SYNTAX",
            "The text is not JSON. The place has line and column. Comments are allowed.",
            "fix the text at that place.",
            Example('{"type": "fixed", "name": "Id", "size": 8,}'),
            Example('{"type": "fixed", "name": "Id", "size": 8}'),
        ),
        Rule(
            "NOT_UTF8",
            "The bytes are not UTF-8.",
            "save the file as UTF-8, without a byte order mark.",
            Example('{"type": "string", "doc": "\udce9t\udce9"}'),
            Example('{"type": "string", "doc": "été"}'),
        ),
        Rule(
            "TOO_DEEP",
            "The text is nested more deeply than any broker reads: 1,000 levels of JSON. Or a payload has more levels "
            "than a consumer reads: AVRO 700 (records, arrays and maps), where the stack of a new Java consumer may "
            "overflow, JSON 1,000, protobuf 100.",
            "name inner types once, and refer to them by name.",
            Example(_DEEP),
            Example('{"type": "array", "items": {"type": "array", "items": "int"}}'),
        ),
        Rule(
            "TRAILING_TEXT",
            "There is text after the schema.",
            "remove that text.",
            Example('"string" x'),
            Example('"string"'),
        ),
        Rule(
            "NOT_A_SCHEMA",
            "A JSON value that cannot be a schema. Brokers of 4.0 and 4.1 store only `null` of type "
            "JSON, as an empty JSON Schema. Then they fail on every later upload, as with "
            "LEGACY_JSON_SCHEMA.",
            "write a type's name, an object with a type, or an array of branches.",
            Example("17"),
            Example('"int"'),
        ),
        Rule(
            "UNKNOWN_TYPE",
            "`type` is not a type of Avro.",
            "write one of Avro's types. They are case sensitive.",
            Example('{"type": "Int"}'),
            Example('{"type": "int"}'),
        ),
        Rule(
            "UNDEFINED_NAME",
            "A name is used before it is defined, or never defined in this text.",
            "define the type where it is first used. A name without dots belongs to the enclosing namespace.",
            Example('{"type": "array", "items": "Order"}'),
            Example(
                """
{"type": "array", "items":
  {"type": "record", "name": "Order", "fields": []}}
"""
            ),
        ),
        Rule(
            "MISSING_ATTRIBUTE",
            "A required attribute is missing.",
            "add it.",
            Example('{"type": "record", "name": "Order"}'),
            Example('{"type": "record", "name": "Order", "fields": []}'),
        ),
        Rule(
            "INVALID_ATTRIBUTE",
            "An attribute has the wrong kind or value.",
            "write what Avro's specification requires there.",
            Example('{"type": "fixed", "name": "Id", "size": "8"}'),
            Example('{"type": "fixed", "name": "Id", "size": 8}'),
        ),
        Rule(
            "INVALID_NAME",
            "A name that Avro does not accept. Names have letters, digits and `_`, and do not begin with a digit.",
            "choose another name.",
            Example('{"type": "record", "name": "1st", "fields": []}'),
            Example('{"type": "record", "name": "First", "fields": []}'),
        ),
        Rule(
            "DUPLICATE_NAME",
            "A named type is defined twice.",
            "define it once and refer to it by name, or rename one of the two.",
            Example(
                """
{"type": "record", "name": "File", "fields": [
  {"name": "a", "type": {"type": "fixed", "name": "Id", "size": 8}},
  {"name": "b", "type": {"type": "fixed", "name": "Id", "size": 8}}]}
"""
            ),
            Example(
                """
{"type": "record", "name": "File", "fields": [
  {"name": "a", "type": {"type": "fixed", "name": "Id", "size": 8}},
  {"name": "b", "type": "Id"}]}
"""
            ),
        ),
        Rule(
            "DUPLICATE_FIELD",
            "A record has two fields of one name.",
            "rename or remove one of them.",
            Example(
                """
{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": "long"}, {"name": "id", "type": "string"}]}
"""
            ),
            Example(_RECORD),
        ),
        Rule(
            "DUPLICATE_SYMBOL",
            "An enum has a symbol twice.",
            "remove one of them.",
            Example('{"type": "enum", "name": "Colour", "symbols": ["RED", "RED"]}'),
            Example(_ENUM),
        ),
        Rule(
            "DUPLICATE_BRANCH",
            "A union has a branch twice. It may have one array and one map.",
            "remove one of them.",
            Example('["int", "int"]', type=SchemaType.JSON),
            Example('["int", "long"]', type=SchemaType.JSON),
        ),
        Rule(
            "NESTED_UNION",
            "A union is directly in a union.",
            "list all branches in one union.",
            Example('["null", ["int"]]', type=SchemaType.JSON),
            Example('["null", "int"]', type=SchemaType.JSON),
        ),
        Rule(
            "UNION_AT_TOP",
            "AVRO does not accept a union at the top level. JSON does.",
            "wrap it in a record.",
            Example('["null", "string"]'),
            Example('["null", "string"]', type=SchemaType.JSON),
        ),
        Rule(
            "LEGACY_JSON_SCHEMA",
            "A JSON Schema of a very old Pulsar client, not an Avro schema. The broker would store it, "
            "and then fail on every later upload.",
            "write the Avro schema of the messages, also for the type JSON.",
            Example('{"type": "object", "properties": {}}', type=SchemaType.JSON),
            Example(_RECORD, type=SchemaType.JSON),
        ),
    ),
)
