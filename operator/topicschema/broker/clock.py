"""The passing of time, as far as calls to a broker wait for it: one value, so that tests may have their own."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """`now` counts seconds from anywhere; `spread` is a random number between its two bounds."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    spread: Callable[[float, float], float] = random.uniform
