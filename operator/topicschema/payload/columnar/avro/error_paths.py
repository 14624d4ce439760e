"""Places of errors in called bodies: a path in a body, after those of the calls.

Each place gets a number when a message needs it, up to a limit. Later places share one number. A context is a call in
another context; 0 means no call.
"""

from typing import Any

import numpy as np

from topicschema.payload.columnar.avro import vm as m
from topicschema.payload.columnar.compiled import NO, fast


@fast
def _number(k: Any, kind: Any, context: Any, item: Any) -> Any:
    """Return the number of an item in a context, a new one if the limit allows, else NO."""
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
    """Return the context of the current calls: 0 for none, NO beyond the limit."""
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
    """Return the number of the path or loss in the current context, from 0, or NO beyond the limit."""
    context = _context(k)
    return _number(k, kind, context, item) if context >= 0 else context
