"""The circuit: after failures that mean that nobody is there, calls fail at once, and one probe at a time goes out."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from topicschema import telemetry
from topicschema.broker.clock import Clock
from topicschema.broker.errors import BrokerUnavailableError
from topicschema.core.errors import WaitingError

_FAILURES: Final = 3
_SHORTEST: Final = 5.0
_LONGEST: Final = 60.0
_SPREAD: Final = 0.25


class Circuit:
    """Closed while there are answers. It opens after three failures in a row, or one that waiting alone will not mend.

    While it is open, calls get the error that opened it. When the time comes, one call goes out; if it fails, too, the
    next goes out after twice the time, up to a minute (each time a quarter longer or shorter). `of` is what the metrics
    count it as: a broker, or one policy.
    """

    def __init__(self, clock: Clock, of: str) -> None:
        self._clock = clock
        self._of = of
        self._failures = 0
        self._openings = 0
        self._probe_at: float | None = None
        self._is_probing = False
        self._error: WaitingError = BrokerUnavailableError("the broker was not asked yet")

    @property
    def is_open(self) -> bool:
        """Whether nobody was there the last time."""
        return self._probe_at is not None

    def check(self) -> None:
        """The error that opened the circuit, unless a request may go out now."""
        if self._probe_at is None or (not self._is_probing and self._clock.now() >= self._probe_at):
            return
        raise _again(self._error, max(self._probe_at - self._clock.now(), 1.0))

    @contextmanager
    def passage(self) -> Iterator[None]:
        """Let a request out, or raise as `check`; while it lasts and is a probe, no other goes out."""
        self.check()
        is_probe = self._is_probing = self._probe_at is not None
        try:
            yield
        finally:
            if is_probe:
                self._is_probing = False

    def succeed(self) -> None:
        """There was an answer: the circuit is closed."""
        self._failures = self._openings = 0
        self._probe_at = None
        telemetry.OPEN_CIRCUITS.leave(self, self._of)

    def fail(self, error: WaitingError, after: float | None = None) -> None:
        """Nobody was there; `after` is how long the broker wants to be left alone, in seconds."""
        self._failures += 1
        waits = isinstance(error, BrokerUnavailableError) and after is None
        if self._probe_at is not None and not self._is_probing:
            return  # sent before it opened
        if self._failures < _FAILURES and waits and self._probe_at is None:
            return
        pause = min(_SHORTEST * 2**self._openings, _LONGEST)
        pause *= self._clock.spread(1 - _SPREAD, 1 + _SPREAD)
        self._openings = min(self._openings + 1, 10)
        self._probe_at = self._clock.now() + max(pause, after or 0.0)
        telemetry.OPEN_CIRCUITS.enter(self, self._of)
        self._error = error


def _again(error: WaitingError, after: float) -> WaitingError:
    """The same error for another call. It is a new one: an exception that is raised twice collects two tracebacks."""
    twin = copy.copy(error)
    twin.after = max(after, error.after)
    return twin
