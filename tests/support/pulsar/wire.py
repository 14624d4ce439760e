"""Protocol Buffers by number: tests send messages that break the protocol, as producers may."""

from collections.abc import Mapping

from topicschema.payload.varints import encode

Members = Mapping[int, int | bytes]


def encode_members(members: Members) -> bytes:
    """Return a Protobuf message with these members. Negative numbers are encoded as int32 and int64 do."""
    out = bytearray()
    for number, value in members.items():
        if isinstance(value, int):
            out += encode(number << 3) + encode(value & 0xFFFFFFFFFFFFFFFF)
        else:
            out += encode(number << 3 | 2) + encode(len(value)) + value
    return bytes(out)
