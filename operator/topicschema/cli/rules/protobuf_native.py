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
    introduction="The broker compares nothing but the root message's name. The descriptors in the examples are those "
    "of a file `o.proto`.",
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
            "The text is not the JSON object in which Pulsar keeps descriptors: `fileDescriptorSet` (base64), "
            "`rootMessageTypeName` and `rootFileDescriptorName`.",
            "take the text that Pulsar's own client makes.",
            _example('{"rootMessageTypeName": "Order", "rootFileDescriptorName": "o.proto"}'),
            _GOOD,
        ),
        Rule(
            "INVALID_DESCRIPTOR_SET",
            "The bytes in `fileDescriptorSet` are no serialised FileDescriptorSet.",
            "take what protoc writes with --descriptor_set_out and --include_imports.",
            _example(_envelope("/////w==")),
            _GOOD,
        ),
        Rule(
            "INVALID_DESCRIPTOR",
            "A descriptor has something that protobuf does not allow, for instance a field of a type that is not "
            "defined. A name that more than one imported file defines is refused, too: a broker may use any of them.",
            "compile the sources again; protoc never writes such a descriptor.",
            _example(_envelope(_FIELD_OF_UNKNOWN_TYPE)),
            _example(_envelope(_FIELD_OF_KNOWN_TYPE)),
        ),
        Rule(
            "MISSING_FILE",
            "A file that is needed, the root file or one that it imports, is not in `fileDescriptorSet`, or is not "
            "among the sources.",
            "put all imports in (protoc's --include_imports).",
            _example(_envelope(_IMPORTS_WHAT_IS_NOT_THERE)),
            _example(_envelope(_IMPORTS_ANOTHER)),
        ),
        Rule(
            "CIRCULAR_IMPORT",
            "A file imports itself, directly or through others; the broker overflows its stack on it.",
            "break the circle; of sources that import each other protoc makes no descriptors.",
            _example(_envelope(_IMPORTS_ITSELF)),
            _example(_envelope(_IMPORTS_ANOTHER)),
        ),
        Rule(
            "UNKNOWN_MESSAGE",
            "The root file has no message of the name in `rootMessageTypeName`, or no source has that message.",
            "write the message's full name, with its package, nested messages behind dots; on the command line with "
            "--message.",
            _example(_envelope(_ORDER, "Orders")),
            _GOOD,
        ),
    ),
)
