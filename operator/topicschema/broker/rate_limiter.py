"""The rate limiter of one broker: a token bucket, first come first served, which a broker may ask to pause."""

from typing import Final

from topicschema.broker.clock import Clock

PER_SECOND: Final = 20
BURST_SECONDS: Final = 2
"""After a rest, the requests of this many seconds go out at once."""


class RateLimiter:
    """A token bucket, by its virtual time: when it would be full of requests that came one interval apart.

    `per_second` requests go out at most, after a burst of two seconds' worth. Requests beyond the burst wait in the
    order in which they came.
    """

    def __init__(self, clock: Clock, per_second: int = PER_SECOND) -> None:
        self.per_second = per_second
        self._clock = clock
        self._interval = 1 / per_second
        self._tolerance = BURST_SECONDS - self._interval
        self._filled = clock.now()

    async def take(self) -> None:
        """Return when the next request may go out."""
        now = self._clock.now()
        due = max(self._filled, now)
        self._filled = due + self._interval
        if due - self._tolerance > now:
            await self._clock.sleep(due - self._tolerance - now)

    def pause(self, seconds: float) -> None:
        """Hold back all requests for that time: the broker asked for it (`Retry-After`)."""
        self._filled = max(self._filled, self._clock.now() + seconds + self._tolerance)
