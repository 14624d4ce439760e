"""Progress messages for people."""

import sys
import time
from dataclasses import dataclass, field
from typing import TextIO

_EVERY = 15.0


@dataclass(slots=True)
class Progress:
    """The output of the messages, by default standard error."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _last_step: float = 0.0
    _open_line: bool = False

    def write(self, text: str) -> None:
        """Write a line that stays."""
        self._close()
        print(text, file=self.stream, flush=True)

    def step(self, text: str) -> None:
        """Write the current step. It replaces the last one on a terminal, else there is at most one line in 15 s."""
        now = time.monotonic()
        if self.stream.isatty():
            print(f"\r\x1b[K{text}", end="", file=self.stream, flush=True)
            self._open_line = True
        elif now - self._last_step >= _EVERY:
            print(text, file=self.stream, flush=True)
            self._last_step = now

    def _close(self) -> None:
        if self._open_line:
            print("\r\x1b[K", end="", file=self.stream)
            self._open_line = False
