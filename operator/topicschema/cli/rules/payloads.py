"""Rules of payloads: bytes that are no message of a schema, and values that have no bytes (docs/payloads.md)."""

from typing import Final

from topicschema.cli.rules.payload_example import PayloadExample
from topicschema.cli.rules.rule import Chapter, Rule
from topicschema.core.schemas import PulsarVersion, SchemaType

_CHECK_PRODUCER: Final = "check the producer: it used another schema, or did not write the whole message."
_MEND: Final = "fix the value at that path."
_ID: Final = "Ch4KB28ucHJvdG8iEwoFT3JkZXISCgoCaWQYASABKAM="
"""Descriptors of a file o.proto, with a message Order that has an int64 `id` as its field 1."""
_CHOICE: Final = "CjEKB28ucHJvdG8iJgoFT3JkZXISCwoBYRgBIAEoA0gAEgsKAWIYAiABKANIAEIDCgFj"
"""Descriptors of an Order with a oneof of two int64, `a` and `b`."""
_PARSING_INFO: Final = '[{"number":1,"name":"n","type":"INT64","label":"OPTIONAL"}]'


def _of(field: str) -> str:
    return f'{{"type": "record", "name": "Order", "fields": [\n  {{"name": "n", "type": {field}}}]}}'


def _avro(field: str, payload: str, writer: str | None = None) -> PayloadExample:
    earlier = None if writer is None else _of(writer)
    return PayloadExample(_of(field), earlier, payload=bytes.fromhex(payload))


def _later(field: str, payload: str) -> PayloadExample:
    return PayloadExample(_of(field), pulsar_version=PulsarVersion.V4_1, payload=bytes.fromhex(payload))


def _json(field: str, payload: str) -> PayloadExample:
    return PayloadExample(_of(field), type=SchemaType.JSON, payload=payload.encode())


def _native(payload: str = "", descriptors: str = _ID, value: str | None = None) -> PayloadExample:
    envelope = (
        f'{{"fileDescriptorSet":\n  "{descriptors}",\n'
        ' "rootMessageTypeName": "Order", "rootFileDescriptorName": "o.proto"}'
    )
    content = bytes.fromhex(payload)
    return PayloadExample(envelope, type=SchemaType.PROTOBUF_NATIVE, payload=content, value=value)


def _text(payload: str, charset: str) -> PayloadExample:
    properties = {"__charset": charset}
    return PayloadExample("", type=SchemaType.STRING, properties=properties, payload=bytes.fromhex(payload))


_BYTES = (
    Rule(
        "TRUNCATED",
        "The payload ends before the value does.",
        _CHECK_PRODUCER,
        _avro('"long"', "80"),
        _avro('"long"', "02"),
    ),
    Rule(
        "TRAILING_BYTES",
        "Bytes follow the value. Java ignores them in AVRO, KEY_VALUE, INSTANT and LOCAL_DATE_TIME.",
        _CHECK_PRODUCER,
        _avro('"long"', "02 00"),
        _avro('"long"', "02"),
    ),
    Rule(
        "INVALID_UTF8",
        "A text is not UTF-8. Java reads U+FFFD instead, and fails in JSON and in proto3.",
        "make the producer write UTF-8, or use a field of bytes.",
        _avro('"string"', "02 ff"),
        _avro('"string"', "02 61"),
    ),
    Rule(
        "INVALID_TEXT",
        "A STRING is not in its `__charset`. Java reads U+FFFD for the invalid part.",
        "make the producer use the charset that the schema names.",
        _text("e9", "US-ASCII"),
        _text("65", "US-ASCII"),
    ),
    Rule(
        "OUT_OF_RANGE",
        "A number is outside its type's limits, or a fixed has another size. Java takes the lower "
        "32 or 64 bits of an Avro int or long that is not a length.",
        "make the producer write a value of the type, or use a larger type.",
        _avro('"int"', "ff ff ff ff 1f"),
        _avro('"int"', "02"),
    ),
    Rule(
        "INVALID_BOOLEAN",
        "A boolean is neither the byte 0 nor 1. Java reads false in AVRO, and true in BOOLEAN.",
        "make the producer write the byte 0 or 1.",
        PayloadExample("", type=SchemaType.BOOLEAN, payload=b"\2"),
        PayloadExample("", type=SchemaType.BOOLEAN, payload=b"\1"),
    ),
    Rule("NEGATIVE_LENGTH", "A length is below zero.", _CHECK_PRODUCER, _avro('"bytes"', "01"), _avro('"bytes"', "00")),
    Rule(
        "VARINT_TOO_LONG",
        "A number has more bytes than its type allows: 5 for an int of Avro, 10 for all others.",
        _CHECK_PRODUCER,
        _avro('"int"', "ff ff ff ff ff 01"),
        _avro('"int"', "02"),
    ),
)
_AVRO = (
    Rule(
        "UNION_INDEX",
        "The union has no branch with that index.",
        _CHECK_PRODUCER,
        _avro('["null", "long"]', "04"),
        _avro('["null", "long"]', "00"),
    ),
    Rule(
        "ENUM_INDEX",
        "The enum has no symbol with that index.",
        _CHECK_PRODUCER,
        _avro('{"type": "enum", "name": "E", "symbols": ["A"]}', "02"),
        _avro('{"type": "enum", "name": "E", "symbols": ["A"]}', "00"),
    ),
    Rule(
        "BLOCK_SIZE",
        "A block of an array or a map has another size than it declares. A reader that skips it "
        "reads wrong bytes; one that reads it does not notice.",
        "fix the producer; Avro's own libraries write no wrong sizes.",
        _avro('{"type": "array", "items": "long"}', "01 0a 02 00"),
        _avro('{"type": "array", "items": "long"}', "01 02 02 00"),
    ),
    Rule(
        "TOO_MANY_VALUES",
        "There are more than a million values, or a few bytes claim more values (Avro) than fit into memory.",
        "split the message.",
        _avro('{"type": "array", "items": "null"}', "80 89 7a 00"),
        _avro('{"type": "array", "items": "null"}', "02 00"),
    ),
    Rule(
        "ARRAY_OF_DOUBLES_AS_FLOATS",
        "Pulsar's clients of 4.1, 4.2 and 5.0 have Avro 1.12.0, whose GenericDatumReader stores each value of an array "
        "of doubles as a float: 0.1 becomes 0.10000000149011612, and 1e300 becomes Infinity. Consumers with "
        "AUTO_CONSUME or a generated class get these values, and so does `decode`. Consumers get what was written if "
        "their class has a List<Double> or double[], and so do other languages. The finding is reported if a value "
        "changes. Validation counts it as a loss, and a schema with such an array gets a warning, never a refusal.",
        'make the items a union, `["null", "double"]`, in the readers\' schema. Avro then keeps doubles. Or read with '
        "a class that has a List<Double>.",
        _later('{"type": "array", "items": "double"}', "02 9a 99 99 99 99 99 b9 3f 00"),
        _later('{"type": "array", "items": ["null", "double"]}', "02 02 9a 99 99 99 99 99 b9 3f 00"),
    ),
    Rule(
        "UNRESOLVABLE",
        "The reader's version has no place for what the writer wrote, or a field that only the "
        "reader has lacks a default.",
        "compare the two versions with `topicschema check`.",
        _avro('"long"', "02 61", '"string"'),
        _avro('"long"', "02", '"int"'),
    ),
    Rule(
        "READ_OFFSET",
        "The property `__AVRO_READ_OFFSET__` of an AVRO schema, or of an AVRO part of a KEY_VALUE, is not a number. Or "
        "the schema has an attribute of that name with another value. The property states how many bytes another "
        "system puts before each message; a consumer with AUTO_CONSUME skips them. Here it fails on every message, "
        "and so do `decode`, `encode`, `validate` and `validate-messages`.",
        "write the number of bytes before each message into the property, and remove the attribute.",
        PayloadExample(_of('"long"'), payload=b"\2", properties={"__AVRO_READ_OFFSET__": "five"}),
        PayloadExample(_of('"long"'), payload=b"\2\2", properties={"__AVRO_READ_OFFSET__": "1"}),
    ),
)
_JSON = (
    Rule(
        "WRONG_TYPE",
        "A value has another type than the schema.",
        _MEND,
        _json('"int"', '{"n": "x"}'),
        _json('"int"', '{"n": 1}'),
    ),
    Rule(
        "UNKNOWN_SYMBOL",
        "The enum has no such symbol. In protobuf an unknown number is only reported; proto2 drops "
        "it, proto3 keeps it.",
        "write one of the enum's symbols, or add this one to the schema.",
        _json('{"type": "enum", "name": "E", "symbols": ["A"]}', '{"n": "B"}'),
        _json('{"type": "enum", "name": "E", "symbols": ["A"]}', '{"n": "A"}'),
    ),
    Rule(
        "ENUM_AS_NUMBER",
        "An enum in JSON is written as a number. Jackson reads the symbol at that index, counted from 0. Pulsar's "
        "Python client writes the enum's own value, so that Java silently reads another symbol.",
        "write the symbol's name.",
        _json('{"type": "enum", "name": "E", "symbols": ["A"]}', '{"n": 0}'),
        _json('{"type": "enum", "name": "E", "symbols": ["A"]}', '{"n": "A"}'),
    ),
    Rule(
        "INVALID_BASE64",
        "Bytes in JSON are not base64.",
        "write them in base64, with their padding.",
        _json('"bytes"', '{"n": "?"}'),
        _json('"bytes"', '{"n": "/w=="}'),
    ),
    Rule(
        "INVALID_FOR_CLASS",
        "A value in JSON has the schema's type, but Jackson cannot read it into the Java class that the schema names, "
        "and a consumer with that class fails. A class is named by `java-class` (BigDecimal, BigInteger, URI, URL, "
        "Short, Byte, Character), by a logical type (uuid: UUID; time-*: LocalTime; local-timestamp-*: "
        "LocalDateTime), or as a record (java.util.Date). Java writes a LocalTime as `[12, 30]`, and does not read it "
        "from a number. A consumer with AUTO_CONSUME reads such values.",
        "write the value as Java does, or remove the `java-class` or logical type if no consumer has the class.",
        _json('{"type": "string", "logicalType": "uuid"}', '{"n": "x"}'),
        _json('{"type": "string", "logicalType": "uuid"}', '{"n": "123e4567-e89b-12d3-a456-426614174000"}'),
    ),
    Rule(
        "NO_BRANCH",
        "No branch of the union matches the value.",
        _MEND,
        _json('["int", "string"]', '{"n": true}'),
        _json('["int", "string"]', '{"n": 1}'),
    ),
    Rule(
        "MISSING_FIELD",
        "A required field is missing. Jackson ignores this in JSON. A required field of proto2 is "
        "always reported, and so is every required field when a value is written.",
        "write the field.",
        _json('"int"', "{}"),
        _json('"int"', '{"n": 1}'),
    ),
    Rule(
        "UNEXPECTED_NULL",
        "A field is null that must not be null. Jackson ignores this.",
        "write a value, or make the field's type a union with null.",
        _json('"int"', '{"n": null}'),
        _json('["null", "int"]', '{"n": null}'),
    ),
    Rule(
        "UNKNOWN_FIELD",
        "A field is not in the schema. Jackson and every reader of protobuf ignore it. It cannot be written.",
        "add the field to the schema, or remove it from the value.",
        _json('"int"', '{"n": 1, "m": 2}'),
        _json('"int"', '{"n": 1}'),
    ),
)
_PROTOBUF = (
    Rule("INVALID_FIELD_NUMBER", "A field has the number 0.", _CHECK_PRODUCER, _native("00"), _native("08 01")),
    Rule(
        "INVALID_WIRE_TYPE",
        "A field has the wire type 6 or 7, which do not exist.",
        _CHECK_PRODUCER,
        _native("0f"),
        _native("08 01"),
    ),
    Rule("UNMATCHED_GROUP", "A group ends that did not begin.", _CHECK_PRODUCER, _native("0c"), _native("08 01")),
    Rule(
        "WRONG_WIRE_TYPE",
        "A field has another wire type than its type. Java treats it as an unknown field.",
        "do not change a field's type; use a new number for the new type.",
        _native("0d 00 00 00 00"),
        _native("08 01"),
    ),
    Rule(
        "ONEOF_CONFLICT",
        "A value to write has two fields of one oneof.",
        "remove one of them.",
        _native(descriptors=_CHOICE, value='{"a": 1, "b": 2}'),
        _native(descriptors=_CHOICE, value='{"a": 1}'),
    ),
    Rule(
        "MISSING_PARSING_INFO",
        "A schema of type PROTOBUF has no property `__PARSING_INFO__`, or one without fields. "
        "Without field numbers, no payload can be read.",
        "publish the schema with Pulsar's Java client, or use PROTOBUF_NATIVE.",
        PayloadExample(_of('"long"'), type=SchemaType.PROTOBUF, payload=b"\x08\x01"),
        PayloadExample(
            _of('"long"'),
            type=SchemaType.PROTOBUF,
            payload=b"\x08\x01",
            properties={"__PARSING_INFO__": _PARSING_INFO},
        ),
    ),
)
_CHARSET = Rule(
    "UNKNOWN_CHARSET",
    "The property `__charset` of a STRING does not name a charset that every Java has.",
    "use UTF-8, US-ASCII, ISO-8859-1, UTF-16, UTF-16BE or UTF-16LE.",
    _text("61", "EBCDIC-XML-US"),
    _text("61", "UTF-8"),
)

PAYLOADS = Chapter(
    "Payloads",
    introduction="Findings of `topicschema decode`, `encode` and `validate` in a message's bytes. A finding "
    "has a byte offset from 0 and a path through the schema's fields. payloads.md says which "
    "ones consumers ignore. SYNTAX and TOO_DEEP also apply to payloads.",
    rules=(*_BYTES, *_AVRO, *_JSON, *_PROTOBUF, _CHARSET),
)
