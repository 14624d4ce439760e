"""The work of a call, counted and not timed: a test that depends on a clock fails on a busy machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(call: Callable[[], object]) -> int:
    """Return the number of Python instructions that the call runs. C code counts as one instruction."""
    count = 0

    def traced(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def growth(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """Return the factor by which twice the size multiplies the work: 2 if it is linear, 4 if it is quadratic."""
    return steps(work(2 * size)) / steps(work(size))
