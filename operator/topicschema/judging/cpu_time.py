"""Limits of CPU time. They hold on a busy machine, too, and for code that counts no steps."""

import signal
import threading
from collections.abc import Callable
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MOST_SECONDS: Final = 5.0
"""The CPU time to read one schema, and that to compare a candidate with all versions. Real ones need a hundredth."""


class OutOfTimeError(Exception):
    """The call needs more CPU time than it may use."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"takes more than {seconds:g} seconds of CPU time")


def call(seconds: float, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Return the result of the function. Raise OutOfTimeError after that CPU time of this process.

    The main thread alone receives signals. In another thread there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments, **options)

    def give_up(*_: Any) -> NoReturn:
        raise OutOfTimeError(seconds)

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # once: no signal comes after the end of this function
    try:
        return function(*arguments, **options)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
