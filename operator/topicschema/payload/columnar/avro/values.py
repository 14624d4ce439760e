"""Single values in the bytes of a message: the end of each, or a sign that it is invalid.

Compiled by numba, which does not check bounds: each read follows a comparison with the message's end.
"""

from typing import Any, Final

import numpy as np

from topicschema.payload.columnar.avro import opcodes as to
from topicschema.payload.columnar.compiled import fast, inlined

MORE: Final = 0x80
INT_BYTES, LONG_BYTES = 5, 10
"""Maximum bytes of a number."""
LARGEST: Final = 2**63 - 1
NO: Final = -1
_WORD: Final = 8
"""Bytes that are examined together."""
_HIGH: Final = 0x8080808080808080
"""Bits that no byte of an ASCII word has."""


@inlined
def byte(values: Any, at: Any) -> Any:
    """Return the byte at a position that is not negative, without numba's check for an index from the end."""
    return np.int64(values[np.uint64(at)])


@inlined
def signed(bits: Any) -> Any:
    """Return the integer of zigzag bits."""
    return ((bits >> 1) & LARGEST) ^ -(bits & 1)


@inlined
def varint(values: Any, at: Any, end: Any, longest: Any) -> Any:
    """Return the bits and their end, or NO if they do not end or are too many."""
    if at < end and byte(values, at) < MORE:  # most have one byte
        return byte(values, at), at + 1
    bits, shift = np.int64(0), np.int64(0)
    stop = min(end, at + longest)
    while at < stop:
        each = byte(values, at)
        at += 1
        bits |= (each & 0x7F) << shift
        if each < MORE:
            fits = bits >> 32 == 0 if longest == INT_BYTES else shift < 63 or each < 2  # noqa: PLR2004  # a long's last bit
            return bits, at if fits else NO
        shift += 7
    return bits, NO


@inlined
def _character(values: Any, at: Any, end: Any) -> Any:
    """Return the number of bytes of the character at `at`, 0 for an invalid one (Unicode's table 3-7)."""
    first = np.int64(values[at])
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4  # noqa: PLR2004  # the first byte of three, of four
    if first < 0xC2 or first > 0xF4 or size > end - at:  # noqa: PLR2004  # the smallest and the largest
        return 0
    low = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80  # noqa: PLR2004  # not in fewer bytes
    high = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF  # noqa: PLR2004  # no surrogates, nothing beyond
    second = np.int64(values[at + 1])
    if second < low or second > high:
        return 0
    for later in range(at + 2, at + size):
        if values[later] & 0xC0 != 0x80:  # noqa: PLR2004  # a byte that goes on
            return 0
    return size


@inlined
def _of_word(values: Any, at: Any, place: Any) -> Any:
    return np.uint64(byte(values, at + place)) << np.uint64(8 * place)


@inlined
def _word(values: Any, at: Any) -> Any:
    """Return eight bytes as one number, the first the lowest. Written out, it compiles to one instruction."""
    low = _of_word(values, at, 0) | _of_word(values, at, 1) | _of_word(values, at, 2) | _of_word(values, at, 3)
    high = _of_word(values, at, 4) | _of_word(values, at, 5) | _of_word(values, at, 6) | _of_word(values, at, 7)
    return low | high


@inlined
def _is_ascii(values: Any, at: Any, end: Any) -> Any:
    """Return True if all bytes are ASCII. Words may overlap, or reach beyond the end within the memory."""
    size = end - at
    if size >= _WORD:
        combined = _word(values, end - _WORD)
        for each in range(at, end - _WORD, _WORD):
            combined |= _word(values, each)
        return combined & np.uint64(_HIGH) == 0
    if size > 0 and at + _WORD <= len(values):
        return (_word(values, at) & np.uint64(_HIGH)) << np.uint64(8 * (_WORD - size)) == 0
    combined = np.uint64(0)
    for each in range(at, end):
        combined |= np.uint64(values[each])
    return combined < MORE


@fast
def _first_malformed(values: Any, at: Any, end: Any) -> Any:
    while at < end:
        if values[at] < MORE:
            at += _WORD if end - at >= _WORD and _word(values, at) & np.uint64(_HIGH) == 0 else 1
            continue
        size = _character(values, at, end)
        if size == 0:
            return at
        at += size
    return NO


@inlined
def malformed(values: Any, at: Any, end: Any) -> Any:
    """Return the first byte that is not UTF-8, or NO if there is none."""
    return np.int64(NO) if _is_ascii(values, at, end) else _first_malformed(values, at, end)


@inlined
def value(op: Any, operand: Any, values: Any, at: Any, end: Any) -> Any:
    """Return the end of the value for an instruction before UNION, or NO if it is invalid."""
    if op == to.SIZED:
        return at + operand if operand <= end - at else NO
    if op == to.BOOLEAN:
        return at + 1 if at < end and byte(values, at) < 2 else NO  # noqa: PLR2004  # false or true
    bits, after = varint(values, at, end, INT_BYTES if op == to.INT or op == to.ENUM else LONG_BYTES)  # noqa: PLR1714
    if after < 0 or op <= to.LONG:
        return after
    number = signed(bits)
    if op == to.ENUM:
        return after if 0 <= number < operand else NO
    if number < 0 or number > end - after:
        return NO
    return NO if op == to.STRING and malformed(values, after, after + number) >= 0 else after + number
