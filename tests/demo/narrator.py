"""The narrator: says what comes, types commands as a person would, shows what they really print, and checks the claims.

A command is a line for the shell, and what is echoed is the very line that is run. Whoever reads along can type it too.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from demo.errors import DemoError

_WIDTHS = (80, 120)
_PLAIN = "0"
_BOLD, _GREEN, _RED, _CYAN = "1", "32", "1;31", "36"


@dataclass(frozen=True, slots=True)
class Told:
    """What a command printed (both streams, as a terminal shows them) and how it ended."""

    line: str
    output: str
    status: int


@dataclass(slots=True)
class Narrator:
    """Tells on `stream`, in colour where that is a terminal (unless NO_COLOR is set).

    A command that has not ended after `patience` seconds is ended, and the demo with it.
    """

    stream: TextIO = field(default_factory=lambda: sys.stdout)
    patience: float = 120
    _step: str = "the start"

    def step(self, title: str, why: str) -> None:
        """Begin a step: its heading and a sentence on why it is there."""
        self._step = title
        self.line("")
        self.line(self._paint(f"── {title} ".ljust(_WIDTHS[0], "─"), _BOLD))
        self.note(why)

    def note(self, text: str) -> None:
        """Say a paragraph in plain words."""
        self.line(textwrap.fill(" ".join(text.split()), _width()))

    def line(self, text: str) -> None:
        """Write a line as it is."""
        print(text, file=self.stream, flush=True)

    def run(
        self,
        line: str,
        folder: Path,
        environment: Mapping[str, str],
        *,
        fails: bool | None = False,
        most_lines: int = 200,
    ) -> Told:
        """Echo the line, run it in the shell, show what it prints; DemoError when it ends otherwise than told.

        `fails` says that it is meant to fail, None that either is well. Of long output the first
        `most_lines` lines are shown, and how many more there are.
        """
        self.line("")
        self.line(self._paint(f"$ {line}", _CYAN))
        try:
            output, status = _executed(line, folder, environment, self.patience)
        except subprocess.TimeoutExpired as error:
            raise DemoError(f"{self._step}: no end after {self.patience:.0f} s: {line}") from error
        self._show(output, most_lines)
        meant = "to fail" if fails else "to succeed"
        if fails is not None and (status != 0) != fails:
            raise DemoError(f"{self._step}: the command was meant {meant} and ended with {status}: {line}")
        return Told(line, output, status)

    def claim(self, text: str, *, holds: bool, instead: object = "") -> None:
        """Say that something is so, after checking it; DemoError with what was found instead when it is not."""
        if holds:
            self.line(self._paint(f"✓ {text}", _GREEN))
            return
        self.line(self._paint(f"✗ {text}", _RED))
        found = f"; found instead: {str(instead)[:2000]}" if instead != "" else ""
        raise DemoError(f"{self._step}: it does not hold that {text}{found}")

    def claim_soon(self, text: str, look: Callable[[], object], seconds: float = 30) -> None:
        """Claim that `look()` comes true within that time."""
        deadline = time.monotonic() + seconds
        while not (seen := look()) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.claim(text, holds=bool(seen), instead=f"nothing of the kind within {seconds:.0f} s")

    def timed(self, text: str, since: float) -> None:
        """Say that a part of the preparation is done, and how long it took (`since` is a time.monotonic())."""
        self.line(f"  {text:<66} {time.monotonic() - since:5.1f} s")

    def table(self, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
        """Show a table whose last column may be long: it is broken below itself, not below the others."""
        widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header) - 1)]
        indent = sum(widths) + 2 * len(widths)
        self.line("")
        for number, row in enumerate((header, *rows)):
            start = "".join(f"{cell:<{width}}  " for cell, width in zip(row[:-1], widths, strict=True))
            rest = _Wrapper(max(30, _width() - indent), break_on_hyphens=False).wrap(row[-1]) or [""]
            text = ("\n" + " " * indent).join([start + rest[0], *rest[1:]])
            self.line(self._paint(text, _PLAIN if number else _BOLD))

    def _show(self, output: str, most_lines: int) -> None:
        lines = output.splitlines()
        for line in lines[:most_lines]:
            self.line(line)
        if len(lines) > most_lines:
            self.line(f"... and {len(lines) - most_lines} lines more")

    def _paint(self, text: str, code: str) -> str:
        coloured = self.stream.isatty() and not os.environ.get("NO_COLOR") and code != _PLAIN
        return f"\x1b[{code}m{text}\x1b[0m" if coloured else text


class _Wrapper(textwrap.TextWrapper):
    """Breaks between words, and a path in a schema before a dot: a member's name stays whole."""

    wordsep_simple_re = re.compile(r"(\s+|(?<=\S)(?=\.\w))")


def _width() -> int:
    """The terminal's width, within what reads well."""
    least, most = _WIDTHS
    return max(least, min(most, shutil.get_terminal_size((100, 24)).columns))


def _executed(line: str, folder: Path, environment: Mapping[str, str], seconds: float) -> tuple[str, int]:
    """What the line prints on both streams, and how it ends; what breaks this off (a time-out too) ends all of it."""
    with subprocess.Popen(
        ["bash", "-c", line],  # noqa: S607 - the reader's own shell
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return output, process.returncode
