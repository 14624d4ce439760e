"""The circuit breaker of one broker: while it does not answer, calls fail at once and only probes are sent."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from topicschema import telemetry
from topicschema.broker.clock import Clock
from topicschema.broker.errors import BrokerUnavailableError
from topicschema.core.errors import TopicSchemaError, WaitingError

_FAILURES: Final = 3
_SHORTEST: Final = 5.0
_LONGEST: Final = 60.0
_SPREAD: Final = 0.25


class CircuitBreaker:
    """A circuit breaker. It opens after three calls in a row without an answer; any answer closes it.

    All policies that name the broker share it. So an error of one policy's Pulsar namespace, token or certificate is an
    answer, too. While it is open, calls raise the error that opened it. The first probe is due after 5 seconds, and
    each next one after twice the time, up to 60 seconds, with a random deviation of up to 25 percent.
    """

    def __init__(self, clock: Clock) -> None:
        self.answers = 0
        self._clock = clock
        self._failures = 0
        self._openings = 0
        self._probe_at: float | None = None
        self._is_probing = False
        self._error: TopicSchemaError = BrokerUnavailableError("the broker was not asked yet")

    @property
    def is_open(self) -> bool:
        """True if the last calls got no answer."""
        return self._probe_at is not None

    def check(self) -> None:
        """Raise the error that opened the breaker, if it is open."""
        if self._probe_at is not None:
            raise _again(self._error, max(self._probe_at - self._clock.now(), 1.0))

    @contextmanager
    def probe(self) -> Iterator[None]:
        """Allow one probe if it is due; else raise like `check`."""
        if self._probe_at is not None and (self._is_probing or self._clock.now() < self._probe_at):
            self.check()
        self._is_probing = True
        try:
            yield
        finally:
            self._is_probing = False

    def succeed(self) -> None:
        """Close the breaker after an answer."""
        self.answers += 1
        self._failures = self._openings = 0
        self._probe_at = None
        telemetry.OPEN_CIRCUIT_BREAKERS.discard(self)

    def fail(self, error: TopicSchemaError, answers: int) -> None:
        """Count a call without an answer, unless other calls got one since it was sent. `answers` is the count then."""
        if self.is_open or answers != self.answers:
            return
        self._failures += 1
        if self._failures >= _FAILURES:
            self.open(error)

    def open(self, error: TopicSchemaError) -> None:
        """Open the breaker, or extend its time after a probe without an answer."""
        pause = min(_SHORTEST * 2**self._openings, _LONGEST)
        self._openings = min(self._openings + 1, 10)
        self._probe_at = self._clock.now() + pause * self._clock.spread(1 - _SPREAD, 1 + _SPREAD)
        self._error = error
        telemetry.OPEN_CIRCUIT_BREAKERS.add(self)


def _again(error: TopicSchemaError, after: float) -> TopicSchemaError:
    """Return a copy of the error for another call. An exception that is raised twice collects two tracebacks."""
    twin = copy.copy(error)
    if isinstance(twin, WaitingError):
        twin.after = after
    return twin
