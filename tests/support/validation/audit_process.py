"""An audit in a process group of its own, with its JVM, that is killed at a moment between two of Spark's writes.

    python -m support.validation.audit_process FOLDER < OPTIONS

writes the number of messages to standard output.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from topicschema.cli.audit.session import local_session
from topicschema.spark.audit import audit

_SECONDS = 300


class LastBatches(NamedTuple):
    """Numbers of the last micro-batches that are planned, whose facts are written, and that are committed, or -1."""

    planned: int
    written: int
    committed: int


@dataclass(frozen=True, slots=True)
class AuditProcess:
    """An audit of a topic's namespace, into a folder."""

    options: Mapping[str, str]
    folder: Path

    def run(self) -> int:
        """Return the number of messages of an audit that nothing interrupts."""
        with self._start() as process:
            output, _ = process.communicate(json.dumps(self.options), timeout=_SECONDS)
            return int(output)

    def kill_when(self, is_reached: Callable[[LastBatches, LastBatches], bool]) -> LastBatches:
        """Kill an audit as soon as its batches at the begin, and now, are those. Return the last batches."""
        before, end = self.batches, time.monotonic() + _SECONDS
        with self._start() as process:
            assert process.stdin is not None
            process.stdin.write(json.dumps(self.options))
            process.stdin.close()
            while not is_reached(before, self.batches) and process.poll() is None and time.monotonic() < end:
                time.sleep(0.002)
            os.killpg(process.pid, signal.SIGKILL)
        return self.batches

    @property
    def batches(self) -> LastBatches:
        """The last batches in Spark's logs."""
        logs = ("checkpoint/offsets", "facts/_spark_metadata", "checkpoint/commits")
        return LastBatches(*(_last(self.folder / each) for each in logs))

    def _start(self) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", __name__, str(self.folder)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)


def _last(log: Path) -> int:
    names = [each.name for each in log.iterdir()] if log.exists() else []
    return max((int(name) for name in names if name.isdecimal()), default=-1)


if __name__ == "__main__":
    with local_session() as session:
        print(audit(session, json.load(sys.stdin), Path(sys.argv[1])).messages)  # noqa: T201  # its result
