"""Rules of PROTOBUF_NATIVE from `.proto` sources. See `protobuf_native` for the rules of an envelope."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from topicschema.cli.rules.rule import Chapter, Example, Rule
from topicschema.core.schemas import SchemaType


@dataclass(frozen=True, slots=True)
class ProtoExample(Example):
    """A candidate that is compiled first: the text of `file`, whose message Order is the root."""

    type: SchemaType = SchemaType.PROTOBUF_NATIVE
    file: str = "order.proto"
    message: str = "Order"

    @override
    def _terms(self) -> Iterator[str]:
        yield f"file {self.file}, root message {self.message}"


_ORDER: Final = """
syntax = "proto3";
message Order { int64 id = 1; }
"""
_GOOD: Final = ProtoExample(_ORDER)
_OPTION: Final = """
syntax = "proto2";
import "google/protobuf/descriptor.proto";
extend google.protobuf.MessageOptions { optional Order of = 50000; }
message Order { optional Order o = 1; option (of)"""

SOURCES = Chapter(
    "PROTOBUF_NATIVE from sources",
    introduction="`.proto` files are compiled before the comparison. The path leads to one of `$.files`, or "
    "to `$.message`. MISSING_FILE, CIRCULAR_IMPORT, UNKNOWN_MESSAGE and NOT_UTF8 also apply "
    "here.",
    rules=(
        Rule(
            "INVALID_PROTO",
            "protoc rejects the file. The message is protoc's own, and the place has line and column.",
            "fix the file at that place.",
            ProtoExample('syntax = "proto3";\nmessage Order { Item item = 1; }'),
            _GOOD,
        ),
        Rule(
            "FILE_NAME",
            "A file's name cannot be imported. It must be a relative path with `/` between folders, "
            "ending in `.proto`, of at most 255 letters, digits and `. _ - + @`.",
            "use the name that the other files import, for instance `shop/order.proto`.",
            ProtoExample(_ORDER, file="../order.proto"),
            ProtoExample(_ORDER, file="shop/order.proto"),
        ),
        Rule(
            "SOURCES_TOO_LARGE",
            "More than 256 files, more than 1 MiB of text, or an envelope of more than 1 MiB.",
            "give only the files that the root message needs, or the Java client's envelope of the generated class "
            "as the schema (docs/spec/protobuf-native.md).",
            ProtoExample("// a comment\n// " + "x" * 1024 * 1024),
            _GOOD,
        ),
        Rule(
            "COMPILATION_TOO_EXPENSIVE",
            "Compiling the files takes more than 3 seconds or 256 MiB of memory, or protoc crashes. No "
            "usual schema does that.",
            "give smaller or fewer files.",
            ProtoExample(_OPTION + ".o" * 400_000 + " = {}; }"),
            ProtoExample(_OPTION + ".o.o = {}; }"),
        ),
    ),
)
