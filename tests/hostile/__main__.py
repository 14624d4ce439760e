"""The supervised child: tries documents by their numbers. The kernel kills it if a call takes too long.

It writes a line for every failure, and the name of each call into a file, so that its death names the call. Time is
CPU time, in seconds of a machine as fast as the anchor's (`anchor`). Other work slows down each core and must not fail
a test. Garbage is collected as in the program itself.
"""

import contextlib
import gc
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from hostile import entry_points
from hostile.anchor import Anchor
from hostile.documents import document
from support.memory import peak
from topicschema.__main__ import COLLECTOR

T = TypeVar("T")

HANGS_AFTER: Final = 15.0
"""Seconds of one call after which the kernel ends the child, by a signal that no C code can put off."""

_ADDRESSES: Final = 3 * 2**30
_TRIES: Final = 3


class Guard:
    """Makes the calls, measures them, and reports failures."""

    def __init__(self, place: int, seconds: float) -> None:
        self._place = place
        self._seconds = seconds
        self._anchor = Anchor()
        self.number = 0

    def __call__(self, name: str, function: Callable[[], T], texts: int = 1) -> T | None:
        """Return the result of `function`, or None if it raised. Report every error but ours."""
        os.pwrite(self._place, f"{self.number} {name}".ljust(100)[:100].encode(), 0)
        signal.setitimer(signal.ITIMER_PROF, HANGS_AFTER)
        began = time.process_time()
        try:
            return function()
        except entry_points.OUR_OWN:
            return None
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is what we look for
            last = traceback.extract_tb(error.__traceback__)[-1]
            self.report(
                name, f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {str(error)[-600:]}"
            )
            return None
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            spent = time.process_time() - began
            if spent > self._seconds * texts:
                self._slow(name, function, spent / texts, texts)

    def _slow(self, name: str, call: Callable[[], object], spent: float, texts: int) -> None:
        """Report a slow call, unless the machine was slow: a repetition or the anchor shows that."""
        tries = []
        for again in range(_TRIES):
            if again:
                began = time.process_time()
                with contextlib.suppress(Exception):  # reported by the first call
                    call()
                spent = (time.process_time() - began) / texts
            tries.append(spent / self._anchor.slowness())
            if tries[-1] <= self._seconds:
                return
        self.report(name, f"{min(tries):.2f} s, {spent:.2f} s here")

    def report(self, name: str, error: str) -> None:
        """Write one failure."""
        _write({"number": self.number, "entry_point": name, "error": error})


def _write(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)  # noqa: T201 - `supervisor` reads it


def main(seed: int, first: int, beyond: int, seconds: float, limit: int) -> None:
    """Try the documents. Stop at the first that takes more than `limit` bytes, which hides the peaks of the next."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    gc.set_threshold(*COLLECTOR)
    entry_points.warm_up()
    place = os.open(os.environ["HOSTILE_PLACE"], os.O_RDWR | os.O_CREAT)
    guard = Guard(place, seconds)
    for number in range(first, beyond):
        guard.number = number
        entry_points.try_all(document(seed, number), guard)
        if peak() > limit:
            guard.report("memory", f"{peak() / 1e6:.0f} MB")
            _write({"next": number + 1})
            return
    _write({"next": beyond})


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
