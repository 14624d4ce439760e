"""Where in a message something is, when what reads it was called: a path in a body, behind those of the calls.

Places are told apart as messages need them, each with a number that it keeps, and no more than there is room for:
what comes later is told together. A context is a call in another context; 0 is that of no call.
"""

from typing import Any

import numpy as np

from topicschema.payload.columnar.avro import vm as m
from topicschema.payload.columnar.avro.values import NO
from topicschema.payload.columnar.compiled import fast


@fast
def _number(k: Any, kind: Any, context: Any, item: Any) -> Any:
    """The number of an item in a context, a new one if there is room; else NO."""
    key = kind << 60 | context << 32 | item
    slots = len(k.known) - 3
    slot = ((key ^ (key >> 29)) * 0x9E3779B1 >> 7) & (slots - 1)
    while k.known[slot, m.KEY] >= 0:
        if k.known[slot, m.KEY] == key:
            return k.known[slot, m.NUMBER]
        slot = (slot + 1) & (slots - 1)
    number = k.known[slots + kind, m.NUMBER]
    if number >= m.PLACES:
        return np.int64(NO)
    k.known[slot, m.KEY], k.known[slot, m.NUMBER] = key, number
    k.known[slots + kind, m.NUMBER] = number + 1
    return number


@fast
def _context(k: Any) -> Any:
    """Where the calls have led to: 0 if to none, NO if there is no more room to tell."""
    top = m.FRAMES + k.state[m.CALLS]
    first = top
    while first > m.FRAMES and k.stack[first - 1, m.CONTEXT] == 0:
        first -= 1
    context = np.int64(0) if first == m.FRAMES else k.stack[first - 1, m.CONTEXT]
    for each in range(first, top):
        if context >= 0:
            number = _number(k, m.CONTEXTS, context, k.stack[each, m.SITE])
            context = number + 1 if number >= 0 else np.int64(NO)
        k.stack[each, m.CONTEXT] = context
    return context


@fast
def placed(k: Any, kind: Any, item: Any) -> Any:
    """The number of the path or loss in what the calls have led to, from 0; NO if there is no room to tell."""
    context = _context(k)
    return _number(k, kind, context, item) if context >= 0 else context
