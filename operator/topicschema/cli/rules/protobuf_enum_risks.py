"""Risks of PROTOBUF_NATIVE in enums. See `protobuf_risks` for those in messages."""

from typing import Final

from topicschema.cli.rules.protobuf_risk_examples import file, risk

_RED_BLUE: Final = "RED = 0; BLUE = 1;"


def _colours(values: str, syntax: str = "proto3") -> str:
    """Return a file with an enum and an Order with a field of it."""
    label = "optional " if syntax == "proto2" else ""
    return file(f"{label}Colour colour = 1;", f"enum Colour {{ {values} }}", syntax)


ENUMS: Final = (
    risk(
        "ENUM_VALUE_UNKNOWN",
        "The writer has a number that the reader's closed enum (proto2, enum_type = CLOSED) lacks. "
        "The reader treats the field as not sent. Open enums keep such numbers.",
        "keep values, and upgrade all consumers before you send a new one.",
        (
            _colours(_RED_BLUE, "proto2"),
            _colours("RED = 0; BLUE = 1; GREEN = 2;", "proto2"),
            file("optional Colour colour = 1; optional int64 id = 2;", f"enum Colour {{ {_RED_BLUE} }}", "proto2"),
        ),
        "FORWARD",
    ),
    risk(
        "ENUM_VALUE_RENUMBERED",
        "An enum's value has another number. Readers identify values by number, so they read it as "
        "another value, or as none.",
        "keep the number.",
        (
            _colours("RED = 0; BLUE = 1; GREEN = 2;"),
            _colours("RED = 0; BLUE = 2; GREEN = 1;"),
            _colours("RED = 0; GREEN = 2; BLUE = 1;"),
        ),
    ),
    risk(
        "ENUM_DEFAULT_CHANGED",
        "Another value is the first of an enum. The first value is the default of a field that is not sent.",
        "keep the first value.",
        (
            _colours(_RED_BLUE, "proto2"),
            _colours("BLUE = 1; RED = 0;", "proto2"),
            file("optional Colour colour = 1; optional int64 id = 2;", f"enum Colour {{ {_RED_BLUE} }}", "proto2"),
        ),
    ),
    risk(
        "ENUM_CLOSED",
        "The reader's enum is closed and the writer's is open. The writer can send numbers without "
        "a value, and the reader drops them.",
        "keep enum_type = OPEN.",
        (
            _colours(_RED_BLUE, "2023"),
            _colours(f"option features.enum_type = CLOSED; {_RED_BLUE}", "2023"),
            _colours(f"{_RED_BLUE} GREEN = 2;", "2023"),
        ),
    ),
    risk(
        "ENUM_VALUE_RENAMED",
        "A number has another name, which JSON uses. On the wire nothing changes, unless the number "
        "now has another meaning.",
        "keep the name as the first one of the number; another one may follow it (allow_alias).",
        (
            _colours(_RED_BLUE),
            _colours("RED = 0; NAVY = 1;"),
            _colours(f"option allow_alias = true; {_RED_BLUE} NAVY = 1;"),
        ),
    ),
    risk(
        "ENUM_VALUE_REMOVED",
        "A value was removed from an enum: JSON readers do not know its name. On the wire an open "
        "enum keeps the number.",
        "keep the value, and mark it as deprecated.",
        (
            _colours(_RED_BLUE),
            _colours('RED = 0; reserved 1; reserved "BLUE";'),
            _colours("RED = 0; BLUE = 1 [deprecated = true];"),
        ),
    ),
    risk(
        "ENUM_NUMBER_NOT_RESERVED",
        "A value was removed from an enum, and its number is not reserved, so a later value may take it.",
        "keep the value, and mark it as deprecated; or reserve the number and the name.",
        (_colours(_RED_BLUE), _colours("RED = 0;"), _colours("RED = 0; BLUE = 1 [deprecated = true];")),
    ),
    risk(
        "ENUM_ALIAS_REMOVED",
        "One of the names of a number was removed, not the one in JSON. Only generated code changes.",
        "keep the name.",
        (
            _colours("option allow_alias = true; RED = 0; RUBY = 0;"),
            _colours("RED = 0;"),
            _colours("option allow_alias = true; RED = 0; RUBY = 0; WINE = 0;"),
        ),
    ),
)
