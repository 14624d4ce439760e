"""Protocol Buffers by number: what producers send may break every promise of the protocol, and tests let it."""

from collections.abc import Mapping

from topicschema.payload.varints import encode

Members = Mapping[int, int | bytes]


def written(members: Members) -> bytes:
    """A Protobuf message with these members; negative numbers as int32 and int64 have them."""
    out = bytearray()
    for number, value in members.items():
        if isinstance(value, int):
            out += encode(number << 3) + encode(value & 0xFFFFFFFFFFFFFFFF)
        else:
            out += encode(number << 3 | 2) + encode(len(value)) + value
    return bytes(out)
