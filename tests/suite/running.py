"""One tier in a pytest process of its own, and its result."""

import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from suite.tiers import Tier

_SKIPPED = re.compile(r"^\w+ tier skipped, \d+ tests: (.*)$", re.MULTILINE)
_REPORT = re.compile(r"^(=+ (FAILURES|ERRORS|warnings summary))", re.MULTILINE)
_CLOSING = re.compile(r"\d+ \w+.* in \d[\d.]*s")
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")
_LAST_LINES = 60


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a tier: the number of tests by outcome, the seconds it took, and the output of pytest."""

    tier: Tier
    exit_status: int
    counts: Counter[str]
    seconds: float
    output: str

    @classmethod
    def of(cls, tier: Tier, folder: Path, root: Path) -> Self:
        """Run the tier in `root`. Write its output to a log in `folder`, the progress of a long build to stderr."""
        log = folder / f"{tier.name}.log"
        command = [sys.executable, "-m", "pytest", "-q", "-m", tier.markers, *tier.options, tier.folder]
        started = time.monotonic()
        with log.open("w") as file:
            exit_status = subprocess.run(command, cwd=root, stdout=file, check=False).returncode
        output = log.read_text(errors="replace")
        return cls(tier, exit_status, _counted(output), time.monotonic() - started, output)

    @property
    def is_skipped(self) -> bool:
        """True if this machine cannot run the tier."""
        return self.exit_status == pytest.ExitCode.NO_TESTS_COLLECTED and _SKIPPED.search(self.output) is not None

    @property
    def is_good(self) -> bool:
        return self.exit_status == pytest.ExitCode.OK or self.is_skipped

    @property
    def line(self) -> str:
        """The tier in one line, for people."""
        if self.is_skipped and (reason := _SKIPPED.search(self.output)):
            return f"{self.tier.name:<13} skipped: {reason[1]}"
        counts = ", ".join(
            f"{self.counts[each]} {each}" for each in ("passed", "failed", "skipped") if self.counts[each]
        )
        ending = "" if self.is_good else f"  FAILED, pytest's exit status is {self.exit_status}"
        return f"{self.tier.name:<13} {counts or 'no test ran'}  {self.seconds:.0f} s{ending}"

    @property
    def details(self) -> str:
        """The part of the output that a person has to read: nothing if all passed."""
        report = _REPORT.search(self.output)
        if report is not None:
            return self.output[report.start() :]
        return "" if self.is_good else "\n".join(self.output.splitlines()[-_LAST_LINES:])


def _counted(output: str) -> Counter[str]:
    """Return how many tests passed, failed and were skipped by pytest's closing line; none without one."""
    counts: Counter[str] = Counter()
    closing = next((line for line in reversed(output.splitlines()) if _CLOSING.search(line)), "")
    for number, outcome in _COUNT.findall(closing):
        counts["failed" if outcome.startswith("error") else outcome] += int(number)
    return counts
