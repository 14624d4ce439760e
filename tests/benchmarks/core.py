"""How long parsing and judging take beside Avro's own library, and what a parsed history weighs.

Each round runs ours and the anchor one after the other; the row is that of the round with the median ratio. What is
counted is the processor time of the one thread that works, on both sides: others on the machine do not count, nor do
the threads on which a JVM compiles and collects garbage. Only a cold start is taken by the clock.
"""

import gc
import json
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import avro.compatibility
import avro.errors
import avro.schema

from benchmarks import java
from benchmarks.releases import history
from benchmarks.rows import Goal, Row, beside, bounded
from topicschema.core import formats
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

_PAIRS = Path(__file__).parents[1] / "conformance" / "avro-random-pairs.json"
_WARM_UP, _ROUNDS = 150, 21  # before some 120 rounds a JVM still becomes faster
_HISTORIES = 5
_STARTS = 21
_MEGABYTE = 1_000_000

Measured = Callable[[], float]
"""Seconds of one run."""


def measure() -> Iterator[Row]:
    """The rows."""
    pairs = [(json.dumps(each["reader"]), json.dumps(each["writer"])) for each in json.loads(_PAIRS.read_text())]
    releases = history()
    with java.avro(pairs, [text.decode() for text in releases]) as theirs:
        yield from _small(pairs, theirs)
        yield _history(releases, theirs)
    yield from _memory(releases)
    yield _cold(pairs)


def _small(pairs: Sequence[tuple[str, str]], theirs: java.Java) -> Iterator[Row]:
    parsed = [(_parse(reader), _parse(writer)) for reader, writer in pairs]

    def verdicts() -> None:
        for reader, writer in parsed:
            formats.unreadable(reader, writer)

    def both() -> None:
        for reader, writer in pairs:
            formats.unreadable(_parse(reader), _parse(writer))

    def package() -> None:
        for reader, writer in pairs:
            _asked_of_package(reader, writer)

    for _ in range(_WARM_UP):
        theirs.seconds("verdicts")
        theirs.seconds("pairs")
    judged = _median(_timed(verdicts), lambda: theirs.seconds("verdicts"), _ROUNDS)
    yield _row("verdict, random small pairs", len(pairs), judged, "Java SchemaValidator", 1)
    read = _median(_timed(both), lambda: theirs.seconds("pairs"), _ROUNDS)
    yield _row("parse and verdict, random small pairs", len(pairs), read, "Java parser, SchemaValidator", 1)
    packaged = _median(_timed(both), _timed(package), 5)
    yield _row("parse and verdict beside Python, random small pairs", len(pairs), packaged, "avro package", 5)


def _history(releases: Sequence[bytes], theirs: java.Java) -> Row:
    def judged() -> None:
        before: list[Schema] = []
        for text in releases:
            schema = formats.parse(SchemaInfo(SchemaType.AVRO, text), validate_defaults=False)
            for earlier in before:
                formats.unreadable(schema, earlier)
            before.append(schema)

    for _ in range(2):
        theirs.seconds("history")
    found = _median(_timed(judged), lambda: theirs.seconds("history"), _HISTORIES)
    count = len(releases) * (len(releases) - 1) // 2
    return _row("parse and verdict, 40 releases of 300-377 kB", count, found, "Java parser, SchemaValidator", 20)


def _memory(releases: Sequence[bytes]) -> Iterator[Row]:
    formats.parse(SchemaInfo(SchemaType.AVRO, releases[0]))
    gc.collect()
    tracemalloc.start()
    one = formats.parse(SchemaInfo(SchemaType.AVRO, releases[-1]))
    yield bounded("memory of a parsed 377 kB schema", tracemalloc.get_traced_memory()[0] / _MEGABYTE, "MB", 4)
    all_of_them = [formats.parse(SchemaInfo(SchemaType.AVRO, text)) for text in releases]
    gc.collect()
    yield bounded("memory of 40 releases together", tracemalloc.get_traced_memory()[0] / _MEGABYTE, "MB", 12)
    tracemalloc.stop()
    del one, all_of_them


def _cold(pairs: Sequence[tuple[str, str]]) -> Row:
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name) / "earlier.avsc", Path(name) / "candidate.avsc"]
        for file, text in zip(files, pairs[0], strict=True):
            file.write_text(text, encoding="utf-8")
        options = ["--type", "JSON", "--strategy", "BACKWARD", "--history", str(files[0]), str(files[1])]
        check = _run([sys.executable, "-m", "topicschema", "check", *options])
        ours, nothing = _median(check, _run([sys.executable, "-c", "pass"]), _STARTS)
    row = bounded("cold `topicschema check` of one pair", ours * 1000, "ms", 150)
    return replace(row, anchor="python -c pass", anchor_value=round(nothing * 1000, 1), ratio=round(ours / nothing, 3))


def _run(command: list[str]) -> Measured:
    return _timed(lambda: subprocess.run(command, capture_output=True, check=False), time.perf_counter)


def _timed(work: Callable[[], object], clock: Measured = time.thread_time) -> Measured:
    def run() -> float:
        start = clock()
        work()
        return clock() - start

    return run


def _median(ours: Measured, theirs: Measured, rounds: int) -> tuple[float, float]:
    """Seconds of ours and of the anchor in the round with the median ratio."""
    found = sorted(((ours(), theirs()) for _ in range(rounds)), key=lambda both: both[0] / both[1])
    return found[len(found) // 2]


def _row(name: str, count: int, seconds: tuple[float, float], anchor: str, at_least: float) -> Row:
    ours, theirs = (count / each for each in seconds)
    return beside(name, ours, "pairs/s", (anchor, theirs), Goal(at_least, at_most=False))


def _parse(text: str) -> Schema:
    return formats.parse(SchemaInfo(SchemaType.JSON, text.encode()), validate_defaults=False)


def _asked_of_package(reader: str, writer: str) -> None:
    try:
        checker = avro.compatibility.ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]
        checker.get_compatibility(avro.schema.parse(reader), avro.schema.parse(writer))
    except avro.errors.AvroException:
        pass  # it refuses some texts that Java takes: that is an answer, too
