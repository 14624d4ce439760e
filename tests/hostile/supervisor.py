"""Supervisor of the child: starts it for a range of documents, and reports its failures, its own death included."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hostile.documents import document

_AT_A_TIME: Final = 500  # documents for one child


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds of CPU time for one call on one schema, and bytes of memory for all of them."""

    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Failure:
    """The failure of a document at an entry point.

    `python -m hostile SEED NUMBER NUMBER+1 1 500000000` repeats it.
    """

    seed: int
    number: int
    entry_point: str
    error: str

    def save(self, folder: Path) -> str:
        """Save the document. Return a line with the failure and the file."""
        made = document(self.seed, self.number)
        file = folder / f"{self.seed}-{self.number}"
        file.write_bytes(made.info.schema)
        # Not the value: it may be too deep, or too large a number, to be shown. The seed and the number make it again.
        file.with_suffix(".about").write_text(ascii((made, made.payload[:1000], type(made.value))))
        where = f"seed {self.seed}, document {self.number} ({made.shape}, saved in {file})"
        return f"{where}: {self.entry_point}: {self.error}"


def failures(seed: int, numbers: range, limits: Limits, folder: Path) -> Iterator[Failure]:
    """Yield all failures of the documents with these numbers. A dead child's successor starts behind its document."""
    place = folder / "place"
    _run(seed, range(0), limits, place)  # numba's compilation takes 300 MB, which would hide the peaks of documents
    first = numbers.start
    while first < numbers.stop:
        beyond = min(first + _AT_A_TIME, numbers.stop)
        child = _run(seed, range(first, beyond), limits, place)
        lines = [json.loads(line) for line in child.stdout.splitlines()]
        yield from (Failure(seed, **line) for line in lines if "next" not in line)
        following = [line["next"] for line in lines if "next" in line]
        if following:
            first = following[0]
            continue
        if child.returncode > 0:
            raise RuntimeError(child.stderr)
        number, _, entry_point = place.read_text().strip().partition(" ")
        yield Failure(seed, int(number), entry_point, f"the process died of {signal.Signals(-child.returncode).name}")
        first = int(number) + 1


def _run(seed: int, numbers: range, limits: Limits, place: Path) -> subprocess.CompletedProcess[str]:
    figures = (seed, numbers.start, numbers.stop, limits.seconds, limits.bytes)
    command = [sys.executable, "-m", "hostile", *map(str, figures)]
    environment = {**os.environ, "HOSTILE_PLACE": str(place)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
