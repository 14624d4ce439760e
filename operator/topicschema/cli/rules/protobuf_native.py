"""Rules of PROTOBUF_NATIVE: its envelope, the descriptors in it, and the broker's comparison."""

from typing import Final

from topicschema.cli.rules.rule import Chapter, Example, Rule
from topicschema.core.schemas import SchemaType

# FileDescriptorSets, serialized: the file o.proto, mostly with an empty message Order.
_ORDER: Final = "ChIKB28ucHJvdG8iBwoFT3JkZXI="
_ITEM: Final = "ChEKB28ucHJvdG8iBgoESXRlbQ=="
_ORDER_WITH_ID: Final = "Ch4KB28ucHJvdG8iEwoFT3JkZXISCgoCaWQYASABKAM="
_IMPORTS_WHAT_IS_NOT_THERE: Final = "ChsKB28ucHJvdG8aB2kucHJvdG8iBwoFT3JkZXI="
_IMPORTS_ANOTHER: Final = "CgkKB2kucHJvdG8KGwoHby5wcm90bxoHaS5wcm90byIHCgVPcmRlcg=="
_IMPORTS_ITSELF: Final = "ChsKB28ucHJvdG8aB28ucHJvdG8iBwoFT3JkZXI="
_FIELD_OF_UNKNOWN_TYPE: Final = "CiUKB28ucHJvdG8iGgoFT3JkZXISEQoCaWQYASABKAsyBS5JdGVt"
_FIELD_OF_KNOWN_TYPE: Final = "CiYKB28ucHJvdG8iGwoFT3JkZXISEgoCaWQYASABKAsyBi5PcmRlcg=="


def _envelope(descriptors: str, root: str = "Order") -> str:
    return (
        f'{{"fileDescriptorSet":\n  "{descriptors}",\n'
        f' "rootMessageTypeName": "{root}", "rootFileDescriptorName": "o.proto"}}'
    )


def _example(candidate: str, earlier: str | None = None) -> Example:
    return Example(candidate, earlier, SchemaType.PROTOBUF_NATIVE)


_GOOD: Final = _example(_envelope(_ORDER))

NATIVE = Chapter(
    "PROTOBUF_NATIVE",
    introduction="The broker compares only the root message's name. The descriptors in the examples are "
    "those of a file `o.proto`.",
    rules=(
        Rule(
            "ROOT_MESSAGE_CHANGED",
            "The root message has another full name.",
            "keep the message's name and its package, or use another topic.",
            _example(_envelope(_ITEM, "Item"), _envelope(_ORDER)),
            _example(_envelope(_ORDER_WITH_ID), _envelope(_ORDER)),
        ),
        Rule(
            "NOT_AN_ENVELOPE",
            "The text is not Pulsar's JSON object for descriptors: `fileDescriptorSet` (base64), "
            "`rootMessageTypeName` and `rootFileDescriptorName`.",
            "use the text that Pulsar's own client makes.",
            _example('{"rootMessageTypeName": "Order", "rootFileDescriptorName": "o.proto"}'),
            _GOOD,
        ),
        Rule(
            "INVALID_DESCRIPTOR_SET",
            "The bytes in `fileDescriptorSet` are not a serialized FileDescriptorSet.",
            "use the output of protoc with --descriptor_set_out and --include_imports.",
            _example(_envelope("/////w==")),
            _GOOD,
        ),
        Rule(
            "INVALID_DESCRIPTOR",
            "A descriptor is invalid, for instance a field has a type that does not exist. A name that "
            "several imported files define is rejected, too, because the broker's choice among them is "
            "arbitrary.",
            "compile the sources again; protoc never writes such a descriptor.",
            _example(_envelope(_FIELD_OF_UNKNOWN_TYPE)),
            _example(_envelope(_FIELD_OF_KNOWN_TYPE)),
        ),
        Rule(
            "MISSING_FILE",
            "The root file or an import is not in `fileDescriptorSet`, or not among the sources.",
            "add all imports (protoc's --include_imports).",
            _example(_envelope(_IMPORTS_WHAT_IS_NOT_THERE)),
            _example(_envelope(_IMPORTS_ANOTHER)),
        ),
        Rule(
            "CIRCULAR_IMPORT",
            "A file imports itself, directly or through others. The broker overflows its stack on it.",
            "remove the circular import; protoc does not compile such sources.",
            _example(_envelope(_IMPORTS_ITSELF)),
            _example(_envelope(_IMPORTS_ANOTHER)),
        ),
        Rule(
            "UNKNOWN_MESSAGE",
            "The root file has no message of the name in `rootMessageTypeName`, or no source has the message.",
            "write the message's full name, with its package, and nested messages after dots. On the "
            "command line, use --message.",
            _example(_envelope(_ORDER, "Orders")),
            _GOOD,
        ),
    ),
)
