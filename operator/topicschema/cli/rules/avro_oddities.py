"""Rules of reading about recursive records, aliases, and failures of Avro itself."""

from topicschema.cli.check.engine import Step
from topicschema.cli.rules.rule import Example, Rule
from topicschema.core.schemas import PulsarVersion

_EMPTY_NODE = '{"type": "record", "name": "Node", "fields": []}'

ODDITIES = (
    Rule(
        "RECURSIVE_DEFAULT",
        "The default of a field that only the reader has is a record whose fields, filled with "
        "their defaults, lead back to it. (Only the check alone, `/compatibility`, reports this. "
        "For an upload, such a default is INVALID_DEFAULT.) Or the field's type leads to a record "
        "that directly contains itself, and Avro reads the default by that type.",
        "start the union with null.",
        Example(
            """
{"type": "record", "name": "Node", "fields": [
  {"name": "next", "type": ["Node", "null"], "default": null}]}
""",
            _EMPTY_NODE,
            step=Step.COMPATIBILITY,
        ),
        Example(
            """
{"type": "record", "name": "Node", "fields": [
  {"name": "next", "type": ["null", "Node"], "default": null}]}
""",
            _EMPTY_NODE,
            step=Step.COMPATIBILITY,
        ),
    ),
    Rule(
        "INFINITE_RECORD",
        "A record directly contains itself, without a union, array or map in between. No message "
        "can have it, and the broker's check overflows its stack.",
        "put a union with null, an array or a map in between.",
        Example(
            """
{"type": "record", "name": "Node", "fields": [
  {"name": "next", "type": "Node"}]}
""",
            """
{"type": "record", "name": "Node", "fields": [
  {"name": "next", "type": "Node"}, {"name": "id", "type": "long"}]}
""",
        ),
        Example(
            """
{"type": "record", "name": "Node", "fields": [
  {"name": "next", "type": ["null", "Node"], "default": null}]}
""",
            _EMPTY_NODE,
        ),
    ),
    Rule(
        "RECURSIVE_RECORD_CRASHES_AVRO",
        "A record is in an array or a map below itself, and also part of another record that it "
        "directly has as a field. Such messages can exist. But Avro 1.11.4 fails on the comparison "
        "(NullPointerException), so the broker refuses every further schema.",
        "make the field a union with null.",
        Example(
            """
{"type": "record", "name": "Tree", "fields": [
  {"name": "all", "type": {"type": "array", "items":
    {"type": "record", "name": "Branch", "fields": [
      {"name": "tree", "type": "Tree"},
      {"name": "branches", "type": {"type": "array", "items": "Branch"}}
    ]}}}]}
""",
            """
{"type": "record", "name": "Tree", "doc": "older", "fields": [
  {"name": "all", "type": {"type": "array", "items":
    {"type": "record", "name": "Branch", "fields": [
      {"name": "tree", "type": "Tree"},
      {"name": "more", "type": "int"},
      {"name": "branches", "type": {"type": "array", "items": "Branch"}}
    ]}}}]}
""",
        ),
        Example(
            """
{"type": "record", "name": "Tree", "fields": [
  {"name": "all", "type": {"type": "array", "items":
    {"type": "record", "name": "Branch", "fields": [
      {"name": "tree", "type": ["null", "Tree"], "default": null},
      {"name": "branches", "type": {"type": "array", "items": "Branch"}}
    ]}}}]}
""",
            """
{"type": "record", "name": "Tree", "fields": [
  {"name": "all", "type": {"type": "array", "items":
    {"type": "record", "name": "Branch", "fields": [
      {"name": "branches", "type": {"type": "array", "items": "Branch"}}
    ]}}}]}
""",
        ),
    ),
    Rule(
        "ALIAS_CONFLICT",
        "The reader's aliases give a field or a union's branch of the writer a name that another "
        "one beside it already has.",
        "remove the alias.",
        Example(
            """
{"type": "record", "name": "Order", "fields": [
  {"name": "a", "aliases": ["b"], "type": "int"}]}
""",
            """
{"type": "record", "name": "Order", "fields": [
  {"name": "a", "type": "int"}, {"name": "b", "type": "int"}]}
""",
        ),
        Example(
            """
{"type": "record", "name": "Order", "fields": [
  {"name": "a", "aliases": ["b"], "type": "int"}]}
""",
            """
{"type": "record", "name": "Order", "fields": [
  {"name": "b", "type": "int"}]}
""",
        ),
    ),
    Rule(
        "DOLLAR_IN_NAME",
        "If the reader has aliases, Avro renames the writer's types and fields. Brokers from 4.1 on "
        "accept `$` in names, but this part of Avro does not. Pulsar 4.0 accepts no `$` at all "
        "(INVALID_NAME).",
        "remove the aliases from the reader.",
        Example(
            """
{"type": "record", "name": "Order$", "fields": [
  {"name": "count", "aliases": ["amount"], "type": "int"}]}
""",
            """
{"type": "record", "name": "Order$", "fields": [
  {"name": "amount", "type": "int"}]}
""",
            pulsar_version=PulsarVersion.V4_1,
        ),
        Example(
            """
{"type": "record", "name": "Order$", "fields": [
  {"name": "count", "default": 0, "type": "int"}]}
""",
            """
{"type": "record", "name": "Order$", "fields": [
  {"name": "amount", "type": "int"}]}
""",
            pulsar_version=PulsarVersion.V4_1,
        ),
    ),
    Rule(
        "INVALID_WRITER_DEFAULT",
        "If the reader has aliases, Avro checks every default of the writer, under the names that "
        "the aliases give. One does not fit. Usually it is an old version with an invalid default "
        "(reported only by `/compatibility`, because an upload fails before), or a record's default "
        "that uses a field's old name.",
        "remove the aliases from the reader.",
        Example(
            """
{"type": "record", "name": "Order", "fields": [
  {"name": "at", "default": {"latitude": 0}, "type":
    {"type": "record", "name": "Point", "fields": [
      {"name": "latitude", "aliases": ["x"], "type": "int"}]}}]}
""",
            """
{"type": "record", "name": "Order", "fields": [
  {"name": "at", "default": {"x": 0}, "type":
    {"type": "record", "name": "Point", "fields": [
      {"name": "x", "type": "int"}]}}]}
""",
        ),
        Example(
            """
{"type": "record", "name": "Order", "fields": [
  {"name": "at", "type":
    {"type": "record", "name": "Point", "fields": [
      {"name": "latitude", "aliases": ["x"], "type": "int"}]}}]}
""",
            """
{"type": "record", "name": "Order", "fields": [
  {"name": "at", "type":
    {"type": "record", "name": "Point", "fields": [
      {"name": "x", "type": "int"}]}}]}
""",
        ),
    ),
)
