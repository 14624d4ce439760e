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
_BESIDE: Final = "keep the field, and add one with a number of its own beside it."

_FIELDS: Final = (
    risk(
        "FIELD_NUMBER_REUSED",
        "A field's number now has another name and another type, or two fields changed places. What was written as "
        "the one is read as the other.",
        "reserve the number, and take a new one for the new field.",
        (_ID, "string buyer = 1;", 'reserved 1; reserved "id"; string buyer = 2;'),
    ),
    risk(
        "FIELD_RENUMBERED",
        "A field has another number. Fields are found by their numbers: the reader does not find it.",
        "keep the number.",
        (_ID, "reserved 1; int64 id = 2;", "int64 id = 1; string note = 2;"),
    ),
    risk(
        "FIELD_TYPE_CHANGED",
        "A field, or a map's key or value, has a type of another wire format. The reader gets the default or another "
        "value, or refuses the message.",
        _BESIDE,
        (_ID, "string id = 1;", "int64 id = 1; string key = 2;"),
    ),
    risk(
        "FIELD_TYPE_NARROWED",
        "A field, or a map's key or value, has a type of the same wire format that does not hold all values of the "
        "writer's. int64 after int32 is safe, int32 after int64 cuts off. uint32 after int32 turns negative numbers "
        "into large ones, and a string of any bytes may be no UTF-8.",
        _BESIDE,
        (_ID, "int32 id = 1;", "int64 id = 1; int32 code = 2;"),
    ),
    risk(
        "FIELD_TYPE_CHANGED_IN_JSON",
        "A field has a type with the same values on the wire, and another form in JSON. Examples are text and base64, "
        "true and 1, an enum's name and its number, or a well-known type of protobuf and any other message.",
        _BESIDE,
        ("string note = 1;", "bytes note = 1;", "string note = 1; bytes raw = 2;"),
    ),
    risk(
        "FIELD_TYPE_CHANGED_IN_CODE",
        "A field has a wider type, int64 after int32. All messages are read as they were written. Newly "
        "generated code has another type. Under FORWARD the same change is FIELD_TYPE_NARROWED.",
        "upgrade all consumers first; then change it under strictness Broker.",
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
        "A message is written as a group (DELIMITED), and the reader expects one with its length before it, or the "
        "reverse. It is not found.",
        "keep message_encoding.",
        (
            file("Item item = 1;", _ITEM, "2023"),
            file("Item item = 1 [features.message_encoding = DELIMITED];", _ITEM, "2023"),
            file("Item item = 1; Item other = 2;", _ITEM, "2023"),
        ),
    ),
    risk(
        "UTF8_CHECKED",
        "The reader refuses messages in which a text is no UTF-8, as proto3 does, and the writer does not check its "
        "texts, as proto2 does not.",
        "be sure that there are no such texts; until then set features.utf8_validation = NONE.",
        (
            file("string note = 1 [features.utf8_validation = NONE];", syntax="2023"),
            file("string note = 1;", syntax="2023"),
            file("string note = 1 [features.utf8_validation = NONE]; int64 id = 2;", syntax="2023"),
        ),
    ),
    risk(
        "REPEATED_READ_AS_SINGULAR",
        "The writer sends many values, the reader takes one: the last, all messages in one, or nothing of a packed "
        "list.",
        _BESIDE,
        ("repeated string notes = 1;", "string notes = 1;", "repeated string notes = 1; string note = 2;"),
    ),
    risk(
        "SINGULAR_READ_AS_REPEATED",
        "The writer sends one value, the reader takes a list. It finds the value on the wire; in JSON it needs an "
        "array.",
        _BESIDE,
        ("string note = 1;", "repeated string note = 1;", "string note = 1; repeated string notes = 2;"),
    ),
    risk(
        "REPEATED_READ_AS_MAP",
        "The writer sends a list of pairs, the reader takes a map: it keeps one pair of each key, in no order.",
        _BESIDE,
        (_PAIRS, _MAP, _PAIRS.replace("= 1; }", "= 1; int64 id = 2; }")),
    ),
    risk(
        "MAP_READ_AS_REPEATED",
        "The writer sends a map, the reader takes a list of pairs. It finds them on the wire; in JSON it needs an "
        "array.",
        _BESIDE,
        (_MAP, _PAIRS, f"{_MAP} int64 id = 2;"),
    ),
    risk(
        "REQUIRED_NOT_WRITTEN",
        "The reader requires a field that the writer need not send: it refuses the message. A field that was required "
        "and is no longer breaks readers under FORWARD.",
        "never add `required`, and never take it away before all readers did.",
        (
            file(_ID2, syntax="proto2"),
            file("required int64 id = 1;", syntax="proto2"),
            file(f"{_ID2} optional string note = 2;", syntax="proto2"),
        ),
    ),
    risk(
        "DEFAULT_CHANGED",
        "A field that is not sent means another value to the reader than to the writer: defaults are not in messages.",
        "keep the default.",
        (
            file("optional int64 size = 1 [default = 5];", syntax="proto2"),
            file("optional int64 size = 1 [default = 7];", syntax="proto2"),
            file("optional int64 size = 1 [default = 5]; optional int64 id = 2;", syntax="proto2"),
        ),
    ),
    risk(
        "PRESENCE_CHANGED",
        "One side knows whether a field is set (`optional`, field_presence = EXPLICIT), the other does not distinguish "
        "it from a zero. Values are read as they were written. Code that checks for the field gets another result, or "
        "does not compile.",
        "keep `optional`, or field_presence, as it was.",
        (_ID, "optional int64 id = 1;", "int64 id = 1; optional int64 size = 2;"),
    ),
    risk(
        "ONEOF_MERGED",
        "The reader has fields in one oneof that the writer can set side by side: it keeps the last one.",
        "put only fields that are new into a oneof with others.",
        (
            "int64 id = 1; string key = 2;",
            "oneof by { int64 id = 1; string key = 2; }",
            "int64 id = 1; string key = 2; oneof by { int64 code = 3; }",
        ),
    ),
    risk(
        "ONEOF_CHANGED",
        "A field went into a oneof alone, or left one, or the oneof has another name. Values are read as they were "
        "written; generated code changes.",
        "keep oneofs; new ones take new fields.",
        (_ID, "oneof by { int64 id = 1; }", "int64 id = 1; oneof by { int64 code = 2; }"),
    ),
    risk(
        "FIELD_RENAMED",
        "A field has another name, and another one in JSON, so that it is not found there; generated code changes. "
        "On the wire nothing does.",
        "keep the name; or keep the one in JSON with json_name.",
        (_ID, "int64 number = 1;", "int64 id = 1; int64 number = 2;"),
    ),
    risk(
        "FIELD_RENAMED_IN_CODE",
        "A field has another name, and the same in JSON: only generated code changes.",
        "keep the name.",
        (_ID, 'int64 number = 1 [json_name = "id"];', "int64 id = 1; int64 number = 2;"),
    ),
    risk(
        "JSON_NAME_CHANGED",
        "The reader does not find a field by the name that the writer gives it in JSON, or takes it for another.",
        "keep json_name.",
        ('int64 id = 1 [json_name = "key"];', _ID, 'int64 id = 1 [json_name = "key"]; int64 size = 2;'),
    ),
    risk(
        "FIELD_NUMBER_NOT_RESERVED",
        "A field is gone, and nothing keeps a later one from taking its number; messages from before would then be "
        "misread, and neither version before it shows it.",
        "reserve the number and the name.",
        ("int64 id = 1; string note = 2;", _ID, 'reserved 2; reserved "note"; int64 id = 1;'),
    ),
    risk(
        "FIELD_NAME_NOT_RESERVED",
        "A field is gone, and its number is reserved; nothing keeps a later one from taking its name, which is what "
        "JSON goes by.",
        "reserve the name.",
        (
            "int64 id = 1; string note = 2;",
            "reserved 2; int64 id = 1;",
            'reserved 2; reserved "note"; int64 id = 1;',
        ),
    ),
    risk(
        "RESERVED_NUMBER_REMOVED",
        "Numbers of a message or an enum that were reserved are free again, or taken.",
        "keep them reserved.",
        (
            'reserved 2; reserved "note"; int64 id = 1;',
            'reserved "note"; int64 id = 1;',
            'reserved 2; reserved "note"; int64 id = 1; int64 size = 3;',
        ),
    ),
    risk(
        "RESERVED_NAME_REMOVED",
        "Names of a message or an enum that were reserved are free again, or taken.",
        "keep them reserved.",
        (
            'reserved 2; reserved "note"; int64 id = 1;',
            "reserved 2; int64 id = 1;",
            'reserved 2; reserved "note"; int64 id = 1; int64 size = 3;',
        ),
    ),
    risk(
        "EXTENSION_RANGE_REMOVED",
        "A message no longer takes extensions with numbers that it took: readers do not find them.",
        "keep the range.",
        (
            file(f"{_ID2} extensions 100 to 199;", syntax="proto2"),
            file(f"{_ID2} extensions 100 to 149;", syntax="proto2"),
            file(f"{_ID2} extensions 100 to 299;", syntax="proto2"),
        ),
    ),
    risk(
        "MESSAGE_SET_CHANGED",
        "message_set_wire_format was taken away: the reader does not find the writer's extensions.",
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
    introduction="The broker compares the root message's name, and accepts all these changes. Strictness Broker "
    "reports them as warnings, Strict refuses them. The path names the message, field or enum behind "
    "`$.fileDescriptorSet`. A proto2 or proto3 file is compared as the equivalent edition. The examples are compiled "
    "first, and checked under BACKWARD if nothing else is stated: the candidate reads messages of version 0.",
    rules=(*_FIELDS, *protobuf_enum_risks.ENUMS),
    conclusion="Additions: on the wire, readers always skip unknown fields, in JSON if they are configured so. Open "
    "enums retain unknown numbers. The packing of lists, because every reader accepts both forms. Types that the root "
    "message does not use.",
)
