"""Commands of Pulsar's binary protocol, as far as a reader needs them: bytes to values and back. Pure.

Source: PulsarApi.proto and the page "Pulsar binary protocol specification". A command's number is that of its type and
of its member in BaseCommand. Members that are not named here are not looked at.
"""

import struct
from collections.abc import Mapping
from enum import IntEnum
from typing import Final

Members = dict[int, int | bytes]
PROTOCOL_VERSION: Final = 19
CLIENT_VERSION: Final = b"topicschema"
_VARINT: Final = 0
_EIGHT: Final = 1
_LENGTH: Final = 2
_FOUR: Final = 5
_CONTINUED: Final = 0x80


class Kind(IntEnum):
    """The commands."""

    CONNECT = 2
    CONNECTED = 3
    SUBSCRIBE = 4
    MESSAGE = 9
    FLOW = 11
    SUCCESS = 13
    ERROR = 14
    CLOSE_CONSUMER = 16
    PING = 18
    PONG = 19
    LOOKUP = 23
    LOOKUP_RESPONSE = 24
    GET_LAST_MESSAGE_ID = 29
    GET_LAST_MESSAGE_ID_RESPONSE = 30
    AUTH_CHALLENGE = 36
    AUTH_RESPONSE = 37
    TOPIC_MIGRATED = 68


def frame(kind: Kind, members: Mapping[int, int | bytes]) -> bytes:
    """The command as it is sent."""
    command = written({1: int(kind), int(kind): written(members)})
    return struct.pack(">II", len(command) + 4, len(command)) + command


def written(members: Mapping[int, int | bytes]) -> bytes:
    """A Protobuf message with these members; negative numbers as int32 and int64 have them."""
    out = bytearray()
    for number, value in members.items():
        if isinstance(value, int):
            out += _varint(number << 3 | _VARINT) + _varint(value & 0xFFFFFFFFFFFFFFFF)
        else:
            out += _varint(number << 3 | _LENGTH) + _varint(len(value)) + value
    return bytes(out)


def members(content: bytes) -> Members:
    """The members of a Protobuf message by number; of a repeated one the last. ValueError where it is broken."""
    found: Members = {}
    at = 0
    while at < len(content):
        tag, at = _read_varint(content, at)
        value, at = _read(content, at, tag & 7)
        found[tag >> 3] = value
    return found


def command(content: bytes) -> tuple[int, Members]:
    """A command's number and its members. ValueError where it is broken."""
    found = members(content)
    kind = found.get(1, 0)
    body = found.get(int(kind), b"") if isinstance(kind, int) else b""
    return int(kind) if isinstance(kind, int) else 0, members(body) if isinstance(body, bytes) else {}


def text(found: Members, number: int) -> str:
    """A member that is text; empty where there is none."""
    value = found.get(number, b"")
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


def number(found: Members, member: int, default: int = 0) -> int:
    """A member that is a number, with its sign."""
    value = found.get(member, default)
    if not isinstance(value, int):
        return default
    return value - (1 << 64) if value >> 63 and value > 0 else value


def _read(content: bytes, at: int, form: int) -> tuple[int | bytes, int]:
    if form == _VARINT:
        return _read_varint(content, at)
    size, at = _read_varint(content, at) if form == _LENGTH else ({_EIGHT: 8, _FOUR: 4}.get(form, -1), at)
    if size < 0 or at + size > len(content):
        raise ValueError("a member is not whole")
    return content[at : at + size], at + size


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(content) and shift < 64:  # noqa: PLR2004 - bits
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < _CONTINUED:
            return value, at
    raise ValueError("a number is not whole")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= _CONTINUED:
        out.append(value & 127 | _CONTINUED)
        value >>= 7
    out.append(value)
    return bytes(out)
