"""The messages and enums of the broker's descriptors, as values. Types refer to each other by full name."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """A field's type, by descriptor.proto's names without their prefix."""

    DOUBLE = "DOUBLE"
    FLOAT = "FLOAT"
    INT64 = "INT64"
    UINT64 = "UINT64"
    INT32 = "INT32"
    FIXED64 = "FIXED64"
    FIXED32 = "FIXED32"
    BOOL = "BOOL"
    STRING = "STRING"
    GROUP = "GROUP"
    MESSAGE = "MESSAGE"
    BYTES = "BYTES"
    UINT32 = "UINT32"
    ENUM = "ENUM"
    SFIXED32 = "SFIXED32"
    SFIXED64 = "SFIXED64"
    SINT32 = "SINT32"
    SINT64 = "SINT64"


class Label(StrEnum):
    """A field's cardinality in its descriptor. Editions express REQUIRED by a feature instead."""

    OPTIONAL = "OPTIONAL"
    REQUIRED = "REQUIRED"
    REPEATED = "REPEATED"


class Presence(StrEnum):
    """The presence of a field: explicit, implicit (zeros are not sent), or required."""

    EXPLICIT = "EXPLICIT"
    IMPLICIT = "IMPLICIT"
    REQUIRED = "REQUIRED"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message, or an extension, whose name is its full name in brackets.

    `type_name` is the full name of its message or enum, empty for others. `oneof` is a oneof in the source: a proto3
    `optional` field has none. `default` is the text in the descriptor, or None. The last three result from the features
    of its edition. If `is_delimited`, a message has the wire format of a group.
    """

    name: str
    number: int
    kind: Kind
    label: Label
    type_name: str = ""
    oneof: str | None = None
    json_name: str = ""
    default: str | None = None
    is_proto3_optional: bool = False
    presence: Presence = Presence.EXPLICIT
    checks_utf8: bool = False
    is_delimited: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `start` to `end`, both included."""

    start: int
    end: int

    def __contains__(self, number: int) -> bool:
        """Return True if the number is in the range."""
        return self.start <= number <= self.end


@dataclass(frozen=True, slots=True)
class Message:
    """A message type. `fields` are by number, in the order of their numbers.

    A map field refers to a message with `is_map_entry`, whose fields are 1 (key) and 2 (value).
    """

    full_name: str
    file: str
    fields: Mapping[int, Field]
    oneofs: tuple[str, ...] = ()
    reserved_numbers: tuple[Range, ...] = ()
    reserved_names: frozenset[str] = frozenset()
    extension_numbers: tuple[Range, ...] = ()
    is_map_entry: bool = False
    is_message_set: bool = False


@dataclass(frozen=True, slots=True)
class Enum:
    """An enum type. `values` are its numbers by name, as declared (several names may share a number).

    If `is_closed`, it has no other numbers: a value with another number counts as not sent.
    """

    full_name: str
    file: str
    values: Mapping[str, int]
    reserved_numbers: tuple[Range, ...] = ()
    reserved_names: frozenset[str] = frozenset()
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """A file's name and its `syntax`: `proto2`, `proto3`, or `edition` and its number, for instance `edition 1000`."""

    name: str
    package: str
    syntax: str


@dataclass(frozen=True, slots=True)
class Descriptors:
    """All files that the root file needs, and their definitions. Every map is by (full) name.

    If two files define one name, which the broker allows, the file that is built first has it. `extensions` are by the
    full name of the extended message, then by number.
    """

    root: Message
    files: Mapping[str, File]
    messages: Mapping[str, Message]
    enums: Mapping[str, Enum]
    extensions: Mapping[str, Mapping[int, Field]]
