"""Compiled searches in the tables: the field with a number, and the numbers of an enum or of extensions."""

from typing import Any

import numpy as np

from topicschema.payload.columnar.compiled import NO, fast
from topicschema.payload.columnar.protobuf import layout as to


@fast
def row_of(m: Any, number: Any) -> Any:
    """Return the row of the field with that number, negative if the message has none."""
    node = m.state[to.NODE]
    if number < to.DIRECT:
        return np.int64(m.direct[node, number])
    low = m.messages[node, to.FIRST]
    high = low + m.messages[node, to.COUNT]
    while low < high:
        middle = (low + high) >> 1
        if m.fields[middle, to.NUMBER] < number:
            low = middle + 1
        else:
            high = middle
    is_it = low < m.messages[node, to.FIRST] + m.messages[node, to.COUNT] and m.fields[low, to.NUMBER] == number
    return low if is_it else np.int64(NO)


@fast
def has_symbol(m: Any, row: Any, bits: Any) -> Any:
    """Return True if the field's enum has the number in the lowest 32 bits."""
    number = ((bits & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
    low = m.fields[row, to.ENUM_FIRST]
    last = low + m.fields[row, to.ENUM_COUNT]
    high = last
    while low < high:
        middle = (low + high) >> 1
        if m.numbers[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low < last and m.numbers[low] == number


@fast
def extends(m: Any, number: Any) -> Any:
    """Return True if the message's writer reserves the number for extensions.

    The nearest range that begins before it decides.
    """
    node = m.state[to.NODE]
    low = m.messages[node, to.RANGES_FIRST]
    takes = False
    for each in range(m.messages[node, to.RANGES_COUNT]):
        if m.numbers[low + 2 * each] > number:
            break
        takes = number < m.numbers[low + 2 * each + 1]
    return takes
