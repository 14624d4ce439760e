"""CRC-32C, which producers put before their content, as a compiled loop over eight bytes at a time.

Source: RFC 3720, appendix B.4 (the polynomial, reflected: 0x82F63B78). PulsarApi.proto's frames define the bytes that
it covers.
"""

from typing import Any, Final

import numpy as np

from topicschema.payload.columnar.compiled import fast

_REFLECTED: Final = 0x82F63B78
_BITS: Final = 8


def _tables() -> Any:
    """Return a table for each of eight positions: the remainder of a byte there after the bytes that follow it."""
    tables = np.zeros((_BITS, 256), np.uint32)
    for byte in range(256):
        left = byte
        for _ in range(_BITS):
            left = left >> 1 ^ (_REFLECTED if left & 1 else 0)
        tables[0, byte] = left
    for place in range(1, _BITS):
        tables[place] = tables[place - 1] >> 8 ^ tables[0][tables[place - 1] & 255]
    return tables


_TABLES: Final = _tables()
_ALL: Final = np.uint32(0xFFFFFFFF)
_BYTE: Final = np.uint32(0xFF)


@fast
def checksum(content: Any, at: Any, end: Any) -> Any:
    """Return the CRC-32C of the bytes from `at` to `end`."""
    left = _ALL
    while end - at >= _BITS:
        piece = content[at : at + _BITS]
        first = left ^ (
            np.uint32(piece[0])
            | np.uint32(piece[1]) << np.uint32(8)
            | np.uint32(piece[2]) << np.uint32(16)
            | np.uint32(piece[3]) << np.uint32(24)
        )
        left = (
            _TABLES[7, first & _BYTE]
            ^ _TABLES[6, first >> np.uint32(8) & _BYTE]
            ^ _TABLES[5, first >> np.uint32(16) & _BYTE]
            ^ _TABLES[4, first >> np.uint32(24)]
            ^ _TABLES[3, piece[4]]
            ^ _TABLES[2, piece[5]]
            ^ _TABLES[1, piece[6]]
            ^ _TABLES[0, piece[7]]
        )
        at += _BITS
    while at < end:
        left = _TABLES[0, (left ^ np.uint32(content[at])) & _BYTE] ^ left >> np.uint32(8)
        at += 1
    return np.int64(left ^ _ALL)
