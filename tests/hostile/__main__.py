"""The watched child: answers for documents by their numbers, and is killed by the kernel where a call takes too long.

It writes a line for every failure, and where it is into a file, so that its death says which call it was. Time is CPU
time, and a second of a machine that is as fast as the anchor says (`anchor`): other work on this one, which slows down
each of its cores, must not fail a test. Garbage is collected as in the program itself.
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

from hostile import doors
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
    """Makes the calls, measures them, and tells what went wrong."""

    def __init__(self, place: int, seconds: float) -> None:
        self._place = place
        self._seconds = seconds
        self._anchor = Anchor()
        self.number = 0

    def __call__(self, door: str, call: Callable[[], T], texts: int = 1) -> T | None:
        """What `call` returns; None where it raised an error of ours or another, which is told."""
        os.pwrite(self._place, f"{self.number} {door}".ljust(100)[:100].encode(), 0)
        signal.setitimer(signal.ITIMER_PROF, HANGS_AFTER)
        began = time.process_time()
        try:
            return call()
        except doors.OUR_OWN:
            return None
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is what we look for
            last = traceback.extract_tb(error.__traceback__)[-1]
            self.tell(door, f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {str(error)[-600:]}")
            return None
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            spent = time.process_time() - began
            if spent > self._seconds * texts:
                self._slow(door, call, spent / texts, texts)

    def _slow(self, door: str, call: Callable[[], object], spent: float, texts: int) -> None:
        """Tell of a call that took too long, unless the machine did: then it does not each time, nor by the anchor."""
        tries = []
        for again in range(_TRIES):
            if again:
                began = time.process_time()
                with contextlib.suppress(Exception):  # which has been told
                    call()
                spent = (time.process_time() - began) / texts
            tries.append(spent / self._anchor.slowness())
            if tries[-1] <= self._seconds:
                return
        self.tell(door, f"{min(tries):.2f} s, {spent:.2f} s here")

    def tell(self, door: str, what: str) -> None:
        """One failure."""
        _write({"number": self.number, "door": door, "what": what})


def _write(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)  # noqa: T201 - `watching` reads it


def main(seed: int, first: int, beyond: int, seconds: float, limit: int) -> None:
    """Try the documents; stop at the first that took more than `limit` bytes, as the next ones could not be told."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    gc.set_threshold(*COLLECTOR)
    doors.unlock()
    place = os.open(os.environ["HOSTILE_PLACE"], os.O_RDWR | os.O_CREAT)
    guard = Guard(place, seconds)
    for number in range(first, beyond):
        guard.number = number
        doors.knock(document(seed, number), guard)
        if peak() > limit:
            guard.tell("memory", f"{peak() / 1e6:.0f} MB")
            _write({"next": number + 1})
            return
    _write({"next": beyond})


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
