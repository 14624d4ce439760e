"""Commands of Pulsar's binary protocol, parsed to messages of `pulsar_api.proto` and serialized. It has no I/O.

Source: the page "Pulsar binary protocol specification".
"""

import struct
from typing import Final

from google.protobuf.message import DecodeError

from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand

PROTOCOL_VERSION: Final = 19
CLIENT_VERSION: Final = "topicschema"


def frame(command: BaseCommand, rest: bytes = b"") -> bytes:
    """Return the command as a frame. `rest` are the bytes that follow some commands."""
    content = command.SerializeToString()
    return struct.pack(">II", len(content) + 4 + len(rest), len(content)) + content + rest


def parse(content: bytes) -> BaseCommand:
    """Return a command. Raises ValueError if it is broken."""
    try:
        return BaseCommand.FromString(content)
    except DecodeError as error:
        raise ValueError(str(error)) from None
