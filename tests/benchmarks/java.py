"""The anchor of the programs' benchmark: Avro's own library in a JVM that stays warm, on one core."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from differential import oracle
from testbed import maven

_ONE_CORE = ("-XX:ActiveProcessorCount=1", "-XX:+UseSerialGC")


class Java:
    """The running program."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def seconds(self, command: str) -> float:
        """Run one of the program's commands. Return the processor time of its thread."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the program has no pipes")
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline().split()[0]) / 1e9


@contextmanager
def running(source: Path, argument: str) -> Iterator[Java]:
    """Run a program of one file with Avro's library, which gets the argument."""
    reason = maven.why_absent()
    if reason is not None:
        raise RuntimeError(f"the benchmark needs Java: {reason}")
    jars = maven.jars(oracle.AVRO.parent / "pom.xml")
    command = ["java", *_ONE_CORE, "-cp", f"{jars}/*", str(source), argument]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Java(process)
