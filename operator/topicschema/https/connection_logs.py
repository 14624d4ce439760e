"""Logs of the libraries about connections, limited: any client that reaches the port can break a connection."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp.http_exceptions import HttpProcessingError
from typing_extensions import override

_LOGGERS: Final = ("asyncio", "aiohttp.server", "topicschema.webhook.connections")
_SECONDS: Final = 1.0


@contextmanager
def limited(clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Log at most one line a second while the context lasts."""
    limit = _OncePerSecond(clock)
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(limit)
    try:
        yield
    finally:
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(limit)


class _OncePerSecond(logging.Filter):
    """Filter that passes one record a second, and adds the number of those that it dropped before.

    The errors of broken connections lose their traceback, and their text, which may quote what the client sent.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._next = -_SECONDS
        self._dropped = 0

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        now = self._clock()
        if now < self._next:
            self._dropped += 1
            return False
        text = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, OSError | HttpProcessingError):
            text, record.exc_info = f"{text.partition(chr(10))[0]}: {type(error).__name__}", None
        if self._dropped:
            text += f" (and {self._dropped:,} more log lines about connections)"
        record.msg, record.args = text, ()
        self._next, self._dropped = now + _SECONDS, 0
        return True
