"""The anchor of the judging benchmark: Avro's own library in a JVM that stays warm (AvroTimes.java), on one core."""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from differential import oracle
from testbed import maven

_PROGRAM = Path(__file__).with_name("AvroTimes.java")
_ONE_CORE = ("-XX:ActiveProcessorCount=1", "-XX:+UseSerialGC")


class Java:
    """The running program."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def seconds(self, command: str) -> float:
        """Processor time of the thread that did one of the program's commands."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the program has no pipes")
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline().split()[0]) / 1e9


@contextmanager
def avro(pairs: Sequence[tuple[str, str]], history: Sequence[str]) -> Iterator[Java]:
    """The program, told what to work on."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as work:
        json.dump({"pairs": pairs, "history": history}, work)
        work.flush()
        with running(_PROGRAM, work.name) as program:
            yield program


@contextmanager
def running(source: Path, argument: str) -> Iterator[Java]:
    """A program of one file with Avro's library, told where its work is."""
    reason = maven.why_absent()
    if reason is not None:
        raise RuntimeError(f"the benchmark needs Java: {reason}")
    jars = maven.jars(oracle.AVRO.parent / "pom.xml")
    command = ["java", *_ONE_CORE, "-cp", f"{jars}/*", str(source), argument]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Java(process)
