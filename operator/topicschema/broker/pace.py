"""How fast one broker is asked: a token bucket, first come first served, and slower while the broker is in trouble."""

from typing import Final

from topicschema.broker.clock import Clock

PER_SECOND: Final = 20.0
BURST: Final = 40
_INTERVAL: Final = 1 / PER_SECOND
_SLOWEST: Final = 2.0


class Pace:
    """One broker's bucket, by its virtual time: when it would be full of requests that came one interval apart.

    Requests beyond the burst wait in the order in which they came. `slower` doubles the interval, up to one request
    in two seconds and without bursts; `faster` takes that back step by step.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._interval = _INTERVAL
        self._filled = clock.now()

    async def take(self) -> None:
        """Return when the next request may go out."""
        now = self._clock.now()
        tolerance = (BURST - 1) * _INTERVAL if self._interval == _INTERVAL else 0.0
        due = max(self._filled, now)
        self._filled = due + self._interval
        if due - tolerance > now:
            await self._clock.sleep(due - tolerance - now)

    def slower(self) -> None:
        """The broker answered that it is in trouble."""
        self._interval = min(self._interval * 2, _SLOWEST)

    def faster(self) -> None:
        """The broker answered what it was asked."""
        self._interval = max(self._interval / 2, _INTERVAL)
