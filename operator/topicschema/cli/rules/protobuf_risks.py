"""Risks of PROTOBUF_NATIVE: changes that the broker accepts, and that make consumers lose or misread messages."""

from typing import Final

from topicschema.cli.rules import protobuf_enum_risks
from topicschema.cli.rules.protobuf_risk_examples import file, risk
from topicschema.cli.rules.rule import Chapter

_ITEM: Final = "message Item { int64 id = 1; }"
_MAP: Final = "map<string, int64> sizes = 1;"
_PAIRS: Final = file("repeated Size sizes = 1;", "message Size { string key = 1; int64 value = 2; }")
_ID: Final = "int64 id = 1;"
_ID2: Final = "optional int64 id = 1;"
_BESIDE: Final = "keep the field, and add a new one with its own number."

_FIELDS: Final = (
    risk(
        "FIELD_NUMBER_REUSED",
        "A field's number now has another name and another type, or two fields exchanged their "
        "numbers. The reader reads one field as the other.",
        "reserve the number, and use a new one for the new field.",
        (_ID, "string buyer = 1;", 'reserved 1; reserved "id"; string buyer = 2;'),
    ),
    risk(
        "FIELD_RENUMBERED",
        "A field has another number. Readers find fields by their numbers, so they do not find it.",
        "keep the number.",
        (_ID, "reserved 1; int64 id = 2;", "int64 id = 1; string note = 2;"),
    ),
    risk(
        "FIELD_TYPE_CHANGED",
        "A field, or a map's key or value, has a type with another wire format. The reader takes "
        "its default or another value, or fails on the message.",
        _BESIDE,
        (_ID, "string id = 1;", "int64 id = 1; string key = 2;"),
    ),
    risk(
        "FIELD_TYPE_NARROWED",
        "A field, or a map's key or value, has a type with the same wire format that does not hold "
        "all values of the writer's. int64 after int32 is fine. int32 after int64 cuts values off, "
        "and uint32 after int32 turns negative numbers into large ones. A string of any bytes may "
        "not be UTF-8.",
        _BESIDE,
        (_ID, "int32 id = 1;", "int64 id = 1; int32 code = 2;"),
    ),
    risk(
        "FIELD_TYPE_CHANGED_IN_JSON",
        "A field has a type with the same values on the wire and another form in JSON. Examples are "
        "text and base64, true and 1, an enum's name and its number, a well-known type of protobuf "
        "and another message.",
        _BESIDE,
        ("string note = 1;", "bytes note = 1;", "string note = 1; bytes raw = 2;"),
    ),
    risk(
        "FIELD_TYPE_CHANGED_IN_CODE",
        "A field has a wider type, int64 after int32. All messages are read as they were written. "
        "Newly generated code has another type. Under FORWARD the same change is "
        "FIELD_TYPE_NARROWED.",
        "upgrade all consumers first, then change it under strictness Broker.",
        ("int32 id = 1;", _ID, "int32 id = 1; int64 long_id = 2;"),
    ),
    risk(
        "FIELD_TYPE_RENAMED",
        "A field's message or enum has another name. Messages do not contain the name; generated code does.",
        "keep the type's name.",
        (
            file("Item item = 1;", _ITEM),
            file("Line item = 1;", _ITEM.replace("Item", "Line")),
            file("Item item = 1; Item other = 2;", _ITEM),
        ),
    ),
    risk(
        "FIELD_ENCODING_CHANGED",
        "A message is written as a group (DELIMITED), and the reader expects one with a length "
        "prefix, or vice versa. The reader does not find it.",
        "keep message_encoding.",
        (
            file("Item item = 1;", _ITEM, "2023"),
            file("Item item = 1 [features.message_encoding = DELIMITED];", _ITEM, "2023"),
            file("Item item = 1; Item other = 2;", _ITEM, "2023"),
        ),
    ),
    risk(
        "UTF8_CHECKED",
        "The reader rejects messages with texts that are not UTF-8 (as in proto3), and the writer "
        "does not check its texts (as in proto2).",
        "make sure that there are no such texts; until then set features.utf8_validation = NONE.",
        (
            file("string note = 1 [features.utf8_validation = NONE];", syntax="2023"),
            file("string note = 1;", syntax="2023"),
            file("string note = 1 [features.utf8_validation = NONE]; int64 id = 2;", syntax="2023"),
        ),
    ),
    risk(
        "REPEATED_READ_AS_SINGULAR",
        "The writer sends many values, and the reader expects one. It gets the last one, all "
        "messages merged into one, or nothing of a packed list.",
        _BESIDE,
        ("repeated string notes = 1;", "string notes = 1;", "repeated string notes = 1; string note = 2;"),
    ),
    risk(
        "SINGULAR_READ_AS_REPEATED",
        "The writer sends one value, and the reader expects a list. On the wire it finds the value. "
        "In JSON it expects an array.",
        _BESIDE,
        ("string note = 1;", "repeated string note = 1;", "string note = 1; repeated string notes = 2;"),
    ),
    risk(
        "REPEATED_READ_AS_MAP",
        "The writer sends a list of pairs, and the reader expects a map. It keeps one pair of each "
        "key, without an order.",
        _BESIDE,
        (_PAIRS, _MAP, _PAIRS.replace("= 1; }", "= 1; int64 id = 2; }")),
    ),
    risk(
        "MAP_READ_AS_REPEATED",
        "The writer sends a map, and the reader expects a list of pairs. On the wire it finds them. "
        "In JSON it expects an array.",
        _BESIDE,
        (_MAP, _PAIRS, f"{_MAP} int64 id = 2;"),
    ),
    risk(
        "REQUIRED_NOT_WRITTEN",
        "The reader requires a field that the writer need not send, so it rejects such a message. A "
        "field that is no longer required breaks readers under FORWARD.",
        "never add `required`, and remove it only after all readers have removed it.",
        (
            file(_ID2, syntax="proto2"),
            file("required int64 id = 1;", syntax="proto2"),
            file(f"{_ID2} optional string note = 2;", syntax="proto2"),
        ),
    ),
    risk(
        "DEFAULT_CHANGED",
        "A field that is not sent has another default for the reader than for the writer. Messages "
        "do not contain defaults.",
        "keep the default.",
        (
            file("optional int64 size = 1 [default = 5];", syntax="proto2"),
            file("optional int64 size = 1 [default = 7];", syntax="proto2"),
            file("optional int64 size = 1 [default = 5]; optional int64 id = 2;", syntax="proto2"),
        ),
    ),
    risk(
        "PRESENCE_CHANGED",
        "One side distinguishes an unset field from a zero (`optional`, field_presence = EXPLICIT), "
        "and the other does not. Values are read as they were written. Code that checks presence "
        "gets another result, or does not compile.",
        "keep `optional`, or field_presence.",
        (_ID, "optional int64 id = 1;", "int64 id = 1; optional int64 size = 2;"),
    ),
    risk(
        "ONEOF_MERGED",
        "The reader has fields in one oneof that the writer can set together. The reader gets only the last one.",
        "put only new fields into a oneof with others.",
        (
            "int64 id = 1; string key = 2;",
            "oneof by { int64 id = 1; string key = 2; }",
            "int64 id = 1; string key = 2; oneof by { int64 code = 3; }",
        ),
    ),
    risk(
        "ONEOF_CHANGED",
        "A field moved into a oneof alone, or out of one, or the oneof has another name. Values are "
        "read as they were written. Generated code changes.",
        "keep oneofs, and put only new fields into new ones.",
        (_ID, "oneof by { int64 id = 1; }", "int64 id = 1; oneof by { int64 code = 2; }"),
    ),
    risk(
        "FIELD_RENAMED",
        "A field has another name, also in JSON, so JSON readers do not find it, and generated code "
        "changes. On the wire nothing changes.",
        "keep the name, or keep the JSON name with json_name.",
        (_ID, "int64 number = 1;", "int64 id = 1; int64 number = 2;"),
    ),
    risk(
        "FIELD_RENAMED_IN_CODE",
        "A field has another name, but the same in JSON. Only generated code changes.",
        "keep the name.",
        (_ID, 'int64 number = 1 [json_name = "id"];', "int64 id = 1; int64 number = 2;"),
    ),
    risk(
        "JSON_NAME_CHANGED",
        "The reader does not find a field by its JSON name of the writer, or takes it for another.",
        "keep json_name.",
        ('int64 id = 1 [json_name = "key"];', _ID, 'int64 id = 1 [json_name = "key"]; int64 size = 2;'),
    ),
    risk(
        "FIELD_NUMBER_NOT_RESERVED",
        "A field was removed, and its number is not reserved. If a later field takes the number, "
        "earlier messages are misread, and no comparison with the version before shows it.",
        "reserve the number and the name.",
        ("int64 id = 1; string note = 2;", _ID, 'reserved 2; reserved "note"; int64 id = 1;'),
    ),
    risk(
        "FIELD_NAME_NOT_RESERVED",
        "A field was removed, and its number is reserved, but not its name. A later field may take "
        "the name, which JSON uses.",
        "reserve the name.",
        (
            "int64 id = 1; string note = 2;",
            "reserved 2; int64 id = 1;",
            'reserved 2; reserved "note"; int64 id = 1;',
        ),
    ),
    risk(
        "RESERVED_NUMBER_REMOVED",
        "Reserved numbers of a message or an enum are no longer reserved, or are used.",
        "keep them reserved.",
        (
            'reserved 2; reserved "note"; int64 id = 1;',
            'reserved "note"; int64 id = 1;',
            'reserved 2; reserved "note"; int64 id = 1; int64 size = 3;',
        ),
    ),
    risk(
        "RESERVED_NAME_REMOVED",
        "Reserved names of a message or an enum are no longer reserved, or are used.",
        "keep them reserved.",
        (
            'reserved 2; reserved "note"; int64 id = 1;',
            "reserved 2; int64 id = 1;",
            'reserved 2; reserved "note"; int64 id = 1; int64 size = 3;',
        ),
    ),
    risk(
        "EXTENSION_RANGE_REMOVED",
        "A message no longer allows extensions with some numbers, and readers do not find them.",
        "keep the range.",
        (
            file(f"{_ID2} extensions 100 to 199;", syntax="proto2"),
            file(f"{_ID2} extensions 100 to 149;", syntax="proto2"),
            file(f"{_ID2} extensions 100 to 299;", syntax="proto2"),
        ),
    ),
    risk(
        "MESSAGE_SET_CHANGED",
        "message_set_wire_format was removed: the reader does not find the writer's extensions.",
        "keep the option.",
        (
            file("option message_set_wire_format = true; extensions 4 to 99;", syntax="proto2"),
            file("extensions 4 to 99;", syntax="proto2"),
            file("option message_set_wire_format = true; extensions 4 to 199;", syntax="proto2"),
        ),
    ),
)
RISKS: Final = Chapter(
    "Risks of PROTOBUF_NATIVE",
    introduction="The broker compares only the root message's name, and accepts all this. Strictness Broker "
    "warns of it, and Strict rejects it. The path names the message, field or enum after "
    "`$.fileDescriptorSet`. A proto2 or proto3 file is compared as the corresponding edition. "
    "The examples are compiled first, and use BACKWARD unless they name another strategy: the "
    "candidate reads what version 0 wrote.",
    rules=(*_FIELDS, *protobuf_enum_risks.ENUMS),
    conclusion="Additions are not compared: readers skip unknown fields, on the wire always, in JSON by an "
    "option. Open enums keep unknown numbers. The packing of lists is not compared, because "
    "every reader accepts both forms. Types that the root message does not refer to are not "
    "compared.",
)
