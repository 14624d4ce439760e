"""The rate limiter of one broker: a token bucket in FIFO order, with a pause for Retry-After."""

from typing import Final

from topicschema.broker.clock import Clock

PER_SECOND: Final = 20
BURST_SECONDS: Final = 2
"""After an idle time, the requests of this number of seconds are sent at once."""


class RateLimiter:
    """A token bucket with a virtual clock (GCRA). `_filled` is the due time of the next request at the exact rate.

    It allows `per_second` requests each second, and a burst of `BURST_SECONDS`. Other requests wait in FIFO order.
    """

    def __init__(self, clock: Clock, per_second: int = PER_SECOND) -> None:
        self.per_second = per_second
        self._clock = clock
        self._interval = 1 / per_second
        self._tolerance = BURST_SECONDS - self._interval
        self._filled = clock.now()

    async def take(self) -> None:
        """Wait until the next request may be sent."""
        now = self._clock.now()
        due = max(self._filled, now)
        self._filled = due + self._interval
        if due - self._tolerance > now:
            await self._clock.sleep(due - self._tolerance - now)

    def pause(self, seconds: float) -> None:
        """Delay all requests for the seconds of the broker's `Retry-After`."""
        self._filled = max(self._filled, self._clock.now() + seconds + self._tolerance)
