"""Options of `decode`, `encode` and `validate`. Imports nothing that a command needs for its work."""

import argparse
from collections.abc import Callable
from typing import Final

from topicschema.core.schemas import EXTERNAL, NEWEST, PulsarVersion, SchemaType

_AS_WRITTEN: Final = argparse.RawDescriptionHelpFormatter
_CLIENTS_ONLY: Final = frozenset({SchemaType.AUTO_CONSUME, SchemaType.AUTO_PUBLISH})
_EXITS: Final = """exit codes:
  0  {yes}
  1  {no}
  2  wrong input: an unreadable file, an invalid schema, a wrong option

examples:
"""
_TEXTS: Final = {
    "decode": (
        "print the value of a payload as JSON",
        _EXITS.format(yes="the value is printed", no="the bytes are no payload of the schema")
        + """  topicschema decode --schema order.avsc message.bin
  echo 089601 | topicschema decode --schema order.proto --hex -
  topicschema decode --schema v2.avsc --writer v1.avsc message.bin""",
    ),
    "encode": (
        "write the payload of a JSON value",
        _EXITS.format(yes="the payload is written", no="the value does not match the schema")
        + """  echo '{"id": 1}' | topicschema encode --schema order.avsc -o message.bin -
  echo '"2026-01-31"' | topicschema encode --type LOCAL_DATE --hex -""",
    ),
    "validate": (
        "check whether bytes are a payload of a schema, and if not, where and why",
        _EXITS.format(yes="valid", no="invalid")
        + """  topicschema validate --schema order.avsc message.bin
  topicschema validate --type JSON --schema order.avsc -o json message.json""",
    ),
}


def add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    proto_options: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the three commands. `proto_options` adds the options for .proto files."""
    for name, (text, epilog) in _TEXTS.items():
        command = commands.add_parser(name, help=text, description=text, epilog=epilog, formatter_class=_AS_WRITTEN)
        proto_options(command)
        command.set_defaults(module=f"topicschema.cli.commands.{name}", is_process=False)
        _schema(command)
        _form(command)
        _ADDED[name](command)


def schema_type(name: str) -> str:
    """Return the name. Raises an argparse error, with the reason, for a type of Pulsar that is not supported."""
    if name == EXTERNAL:
        raise argparse.ArgumentTypeError("EXTERNAL, a type of Pulsar 4.1 and later, is not supported")
    return name


def _schema(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--type",
        type=schema_type,
        metavar="TYPE",
        choices=tuple(each.value for each in SchemaType if each not in _CLIENTS_ONLY),
        help="schema type, by Pulsar's name (default: AVRO, or PROTOBUF_NATIVE for .proto files)",
    )
    command.add_argument("--schema", metavar="FILE", help="file of the schema; a primitive type needs none")
    command.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME=TEXT",
        help="a property of the schema, for instance key.schema.type=STRING of a KEY_VALUE; repeatable",
    )
    command.add_argument(
        "--pulsar-version",
        default=NEWEST.value,
        choices=tuple(each.value for each in PulsarVersion),
        help=f"Pulsar version that reads the schema (default: {NEWEST}, the newest)",
    )


def _form(command: argparse.ArgumentParser) -> None:
    form = command.add_mutually_exclusive_group()
    form.add_argument("--hex", action="store_true", help="payload and key are hexadecimal text")
    form.add_argument("--base64", action="store_true", help="payload and key are base64 text")
    command.add_argument("--key", metavar="FILE", help="file of the message's key, for a SEPARATED KEY_VALUE")


def _reading(command: argparse.ArgumentParser) -> None:
    command.add_argument("--writer", metavar="FILE", help="AVRO: the version that wrote the message")
    command.add_argument("payload", metavar="PAYLOAD", help="file of the payload; - is standard input")


def _encode(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", metavar="FILE", help="file for the payload (default: standard output)")
    command.add_argument("value", metavar="VALUE", help="file with the value as JSON; - is standard input")


def _validate(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", choices=("text", "json"), default="text", help="text (default) or json")
    _reading(command)


_ADDED: Final = {"decode": _reading, "encode": _encode, "validate": _validate}
