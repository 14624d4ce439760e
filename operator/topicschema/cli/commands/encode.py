"""`topicschema encode`: the payload of a value that is given as JSON."""

import sys
from argparse import Namespace

from topicschema import payload
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.inputs import files, payloads
from topicschema.cli.inputs.files import STANDARD_INPUT, UsageError
from topicschema.core.errors import InvalidPayloadError, InvalidSchemaError
from topicschema.core.formats import json_text
from topicschema.core.schemas import Schema, SchemaType
from topicschema.payload import MessageParts, display_json


def run(options: Namespace) -> int:
    """Write the payload. Return 1, with the reason on standard error, if the value does not fit the schema."""
    if options.type == SchemaType.PROTOBUF:
        raise UsageError("a PROTOBUF schema does not describe its messages: name their .proto file instead")
    schema = payloads.schema(options)
    if options.key is not None:
        payloads.demand_separated(schema)
    elif payloads.is_separated(schema):
        raise UsageError("the pair is SEPARATED: name a file for the message's key with --key FILE")
    if options.key == STANDARD_INPUT and options.output in (None, STANDARD_INPUT):
        raise UsageError("key and payload cannot both go to standard output: name a file with --key or -o")
    name = files.shown(options.value)
    try:
        message = payloads.usable(lambda: _message(schema, options.value), options.schema)
    except InvalidPayloadError as error:
        print(f"topicschema encode: {name}: {error.sentence}", file=sys.stderr)
        return INCOMPATIBLE
    if message.payload is None:
        raise UsageError(f"{name}: null is a message without a payload, there is nothing to write")
    if message.key is not None:
        payloads.write(message.key, options.key, options)
    payloads.write(message.payload, options.output, options)
    return COMPATIBLE


def _message(schema: Schema, name: str) -> MessageParts:
    content = files.read(name)
    try:
        value = json_text.read(content.decode())
    except UnicodeDecodeError as error:
        raise UsageError(f"{files.shown(name)}: byte {error.start} is not UTF-8") from None
    except InvalidSchemaError as error:
        raise UsageError(f"{files.shown(name)} is not JSON: {error.sentence}") from None
    return payload.encode(schema, display_json.of_json(schema, value))
