"""Protocol Buffers by number: what producers send may break every promise of the protocol, and tests let it."""

from collections.abc import Mapping

Members = Mapping[int, int | bytes]


def written(members: Members) -> bytes:
    """A Protobuf message with these members; negative numbers as int32 and int64 have them."""
    out = bytearray()
    for number, value in members.items():
        if isinstance(value, int):
            out += _varint(number << 3) + _varint(value & 0xFFFFFFFFFFFFFFFF)
        else:
            out += _varint(number << 3 | 2) + _varint(len(value)) + value
    return bytes(out)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 127 | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
