"""Commands of Pulsar's binary protocol: bytes to messages of `pulsar_api.proto`, and back. Pure.

Source: the page "Pulsar binary protocol specification".
"""

import struct
from typing import Final

from google.protobuf.message import DecodeError

from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand

PROTOCOL_VERSION: Final = 19
CLIENT_VERSION: Final = "topicschema"


def frame(command: BaseCommand, rest: bytes = b"") -> bytes:
    """Return the command as it is sent; after some commands more bytes follow."""
    content = command.SerializeToString()
    return struct.pack(">II", len(content) + 4 + len(rest), len(content)) + content + rest


def parse(content: bytes) -> BaseCommand:
    """Return a command. ValueError if it is broken."""
    try:
        return BaseCommand.FromString(content)
    except DecodeError as error:
        raise ValueError(str(error)) from None
