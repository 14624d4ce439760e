"""Telling a person what is being made and how far it is."""

import sys
import time
from dataclasses import dataclass, field
from typing import TextIO

_EVERY = 15.0


@dataclass(slots=True)
class Progress:
    """Where the words go; by default standard error."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _told: float = 0.0
    _open_line: bool = False

    def say(self, text: str) -> None:
        """Write a line that stays."""
        self._close()
        print(text, file=self.stream, flush=True)

    def step(self, text: str) -> None:
        """Write where things stand: replaces the last step on a terminal, else at most one line in 15 s."""
        now = time.monotonic()
        if self.stream.isatty():
            print(f"\r\x1b[K{text}", end="", file=self.stream, flush=True)
            self._open_line = True
        elif now - self._told >= _EVERY:
            print(text, file=self.stream, flush=True)
            self._told = now

    def _close(self) -> None:
        if self._open_line:
            print("\r\x1b[K", end="", file=self.stream)
            self._open_line = False
