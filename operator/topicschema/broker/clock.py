"""The clock of calls to a broker, as one value, so that tests can replace it."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """`now` returns seconds from an arbitrary start; `spread` returns a random number between its two bounds."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    spread: Callable[[float, float], float] = random.uniform
