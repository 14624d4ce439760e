"""How much work a call is, counted and not timed: a test that a clock decides fails on a busy machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(call: Callable[[], object]) -> int:
    """How many of Python's instructions the call takes; what C code does within one of them is not seen."""
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
    """By how much more the work of twice the size is: 2 where it is linear, 4 where it goes with the square."""
    return steps(work(2 * size)) / steps(work(size))
