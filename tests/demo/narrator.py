"""The narrator: announces steps, runs shell commands, shows their output, and checks claims.

It prints each command line as it runs it, so that a reader can repeat it.
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
class CommandResult:
    """The output of a command (both streams, as in a terminal) and its exit status."""

    line: str
    output: str
    status: int


@dataclass(slots=True)
class Narrator:
    """A narrator that writes to `stream`, in color if that is a terminal (unless NO_COLOR is set).

    A command that runs longer than `timeout` seconds is killed, and the demo fails.
    """

    stream: TextIO = field(default_factory=lambda: sys.stdout)
    timeout: float = 120
    _step: str = "the start"

    def step(self, title: str, text: str) -> None:
        """Begin a step: print its heading and its explanation."""
        self._step = title
        self.line("")
        self.line(self._paint(f"── {title} ".ljust(_WIDTHS[0], "─"), _BOLD))
        self.note(text)

    def note(self, text: str) -> None:
        self.line(textwrap.fill(" ".join(text.split()), _width()))

    def line(self, text: str) -> None:
        print(text, file=self.stream, flush=True)

    def run(
        self,
        line: str,
        folder: Path,
        environment: Mapping[str, str],
        *,
        fails: bool | None = False,
        most_lines: int = 200,
    ) -> CommandResult:
        """Print the line, run it in the shell and show its output. Raise DemoError if it ends unexpectedly.

        `fails` is True if it is expected to fail, None if both are expected. Of long output, the first `most_lines`
        lines are shown, and the number of the others.
        """
        self.line("")
        self.line(self._paint(f"$ {line}", _CYAN))
        try:
            output, status = _execute(line, folder, environment, self.timeout)
        except subprocess.TimeoutExpired as error:
            raise DemoError(f"{self._step}: no end after {self.timeout:.0f} s: {line}") from error
        self._show(output, most_lines)
        expected = "to fail" if fails else "to succeed"
        if fails is not None and (status != 0) != fails:
            raise DemoError(f"{self._step}: the command was expected {expected} and ended with {status}: {line}")
        return CommandResult(line, output, status)

    def claim(self, text: str, *, holds: bool, instead: object = "") -> None:
        """Write that a checked claim holds. Raise DemoError with the actual value if it does not."""
        if holds:
            self.line(self._paint(f"✓ {text}", _GREEN))
            return
        self.line(self._paint(f"✗ {text}", _RED))
        actual = f"; actually: {str(instead)[:2000]}" if instead != "" else ""
        raise DemoError(f"{self._step}: it does not hold that {text}{actual}")

    def claim_soon(self, text: str, check: Callable[[], object], seconds: float = 30) -> None:
        """Claim that `check()` becomes true within that time."""
        deadline = time.monotonic() + seconds
        while not (value := check()) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.claim(text, holds=bool(value), instead=f"nothing of the kind within {seconds:.0f} s")

    def timed(self, text: str, since: float) -> None:
        """Write that a part of the preparation is done, and its duration (`since` is a time.monotonic())."""
        self.line(f"  {text:<66} {time.monotonic() - since:5.1f} s")

    def table(self, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
        """Write a table. A long last column is wrapped within the column."""
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
        has_color = self.stream.isatty() and not os.environ.get("NO_COLOR") and code != _PLAIN
        return f"\x1b[{code}m{text}\x1b[0m" if has_color else text


class _Wrapper(textwrap.TextWrapper):
    """A wrapper that breaks between words, and a path in a schema before a dot."""

    wordsep_simple_re = re.compile(r"(\s+|(?<=\S)(?=\.\w))")


def _width() -> int:
    """Return the terminal's width, within limits of readability."""
    least, most = _WIDTHS
    return max(least, min(most, shutil.get_terminal_size((100, 24)).columns))


def _execute(line: str, folder: Path, environment: Mapping[str, str], seconds: float) -> tuple[str, int]:
    """Run the line. Return its output on both streams and its exit status. An interruption or a timeout kills it."""
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
