"""Variable-length integers, seven bits a byte and the lowest first: Avro's and Protobuf's."""

from typing import Final

_SEVEN_BITS: Final = 0x7F


def encode(bits: int) -> bytes:
    """Return the bytes of bits, which are no negative number."""
    out = bytearray()
    while bits > _SEVEN_BITS:
        out.append(bits & _SEVEN_BITS | 0x80)
        bits >>= 7
    out.append(bits)
    return bytes(out)


def decode(content: bytes) -> int:
    """Return the bits of bytes that are one integer."""
    if len(content) == 1:
        return content[0]
    bits = 0
    for byte in reversed(content):
        bits = bits << 7 | byte & _SEVEN_BITS
    return bits


def zigzag(value: int) -> int:
    """Return the bits of a number with a sign, few where it is small."""
    return value << 1 if value >= 0 else ~(value << 1)
