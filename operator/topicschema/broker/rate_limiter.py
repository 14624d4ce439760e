"""How fast one broker is asked: a token bucket, first come first served, and slower while the broker is in trouble."""

from typing import Final

from topicschema.broker.clock import Clock

PER_SECOND: Final = 20
BURST_SECONDS: Final = 2
"""After a rest as many requests go out at once as else in so many seconds."""
_SLOWEST: Final = 2.0


class Pace:
    """One broker's bucket, by its virtual time: when it would be full of requests that came one interval apart.

    `per_second` requests go out at most, after a burst of two seconds' worth.

    Requests beyond the burst wait in the order in which they came. `slower` doubles the interval, up to one request
    in two seconds and without bursts; `faster` takes that back step by step.
    """

    def __init__(self, clock: Clock, per_second: int = PER_SECOND) -> None:
        self.per_second = per_second
        self._clock = clock
        self._usual = self._interval = 1 / per_second
        self._filled = clock.now()

    async def take(self) -> None:
        """Return when the next request may go out."""
        now = self._clock.now()
        tolerance = BURST_SECONDS - self._usual if self._interval == self._usual else 0.0
        due = max(self._filled, now)
        self._filled = due + self._interval
        if due - tolerance > now:
            await self._clock.sleep(due - tolerance - now)

    def slower(self) -> None:
        """The broker answered that it is in trouble."""
        self._interval = min(self._interval * 2, _SLOWEST)

    def faster(self) -> None:
        """The broker answered what it was asked."""
        self._interval = max(self._interval / 2, self._usual)
