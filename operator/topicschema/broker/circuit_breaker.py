"""The circuit breaker of one policy: while its calls get no answer they fail at once, and one probe at a time goes."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from topicschema import telemetry
from topicschema.broker.clock import Clock
from topicschema.broker.errors import BrokerUnavailableError
from topicschema.core.errors import WaitingError

_FAILURES: Final = 3
_SHORTEST: Final = 5.0
_LONGEST: Final = 60.0
_SPREAD: Final = 0.25


@dataclass(frozen=True, slots=True)
class Passage:
    """One call that goes out: how many answers there were before it, and whether it is a probe."""

    answers: int
    is_probe: bool


class Circuit:
    """A circuit breaker. It opens after three failed calls in a row, or one that waiting will not mend.

    A failed call counts once, however often it was sent, and only if nothing was answered since it went out. While the
    circuit is open, calls get the error that opened it. When the time comes, one call goes out; if it fails, too, the
    next goes out after twice the time, up to a minute (each time a quarter longer or shorter).
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answers = 0
        self._failures = 0
        self._openings = 0
        self._probe_at: float | None = None
        self._is_probing = False
        self._error: WaitingError = BrokerUnavailableError("the broker was not asked yet")

    @property
    def is_open(self) -> bool:
        """True if the last calls got no answer."""
        return self._probe_at is not None

    def check(self) -> None:
        """Raise the error that opened the circuit, unless a call may go out now."""
        if self._probe_at is None or (not self._is_probing and self._clock.now() >= self._probe_at):
            return
        raise _again(self._error, max(self._probe_at - self._clock.now(), 1.0))

    @contextmanager
    def passage(self) -> Iterator[Passage]:
        """Let a call out, or raise as `check`; while it lasts and is a probe, no other goes out."""
        self.check()
        passage = Passage(self._answers, is_probe=self._probe_at is not None)
        self._is_probing |= passage.is_probe
        try:
            yield passage
        finally:
            if passage.is_probe:
                self._is_probing = False

    def succeed(self) -> None:
        """Close the circuit: there was an answer."""
        self._answers += 1
        self._failures = self._openings = 0
        self._probe_at = None
        telemetry.OPEN_CIRCUIT_BREAKERS.discard(self)

    def fail(self, passage: Passage, error: WaitingError, after: float | None = None) -> None:
        """Count a call without an answer; `after` is how long the broker wants to be left alone, in seconds."""
        if passage.answers != self._answers or (self._probe_at is not None and not passage.is_probe):
            return  # others were answered since it went out, or it went out before the circuit opened
        self._failures += 1
        waits = isinstance(error, BrokerUnavailableError) and after is None
        if self._failures < _FAILURES and waits and not passage.is_probe:
            return
        pause = min(_SHORTEST * 2**self._openings, _LONGEST)
        pause *= self._clock.spread(1 - _SPREAD, 1 + _SPREAD)
        self._openings = min(self._openings + 1, 10)
        self._probe_at = self._clock.now() + max(pause, after or 0.0)
        telemetry.OPEN_CIRCUIT_BREAKERS.add(self)
        self._error = error


def _again(error: WaitingError, after: float) -> WaitingError:
    """The same error for another call. It is a new one: an exception that is raised twice collects two tracebacks."""
    twin = copy.copy(error)
    twin.after = after
    return twin
