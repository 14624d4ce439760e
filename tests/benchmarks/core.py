"""The time to parse and judge a large schema, the memory of one, and a cold start of the command.

Parsing and judging counts the processor time of the thread, so that other programs on the machine do not count.
"""

import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks import releases
from benchmarks.rows import Row, bounded
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Predecessor
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

_ROUNDS = 21
_MEGABYTE = 1_000_000
_FIELD = {"name": "id", "type": "string"}


def measure() -> Iterator[Row]:
    """Yield the rows."""
    earlier, candidate = releases.texts()
    seconds = statistics.median(_judging(earlier, candidate) for _ in range(_ROUNDS))
    yield bounded("parse and judge one 377 kB schema against one version, cold", seconds * 1000, "ms", 60)
    yield bounded("memory of a parsed 377 kB schema", _memory(candidate) / _MEGABYTE, "MB", 4)
    yield _cold_start()


def _judging(earlier: bytes, candidate: bytes) -> float:
    """Return the seconds to parse both texts and to find all that the check and the risks report."""
    start = time.thread_time()
    schema, predecessor = (formats.parse(SchemaInfo(SchemaType.AVRO, text)) for text in (candidate, earlier))
    considered = [Predecessor(0, SchemaType.AVRO, predecessor)]
    compatibility.check(schema, considered, Strategy.BACKWARD)
    compatibility.risks(schema, considered, Strategy.BACKWARD)
    return time.thread_time() - start


def _memory(text: bytes) -> int:
    gc.collect()
    tracemalloc.start()
    schema = formats.parse(SchemaInfo(SchemaType.AVRO, text))
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del schema
    return size


def _cold_start() -> Row:
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name) / "earlier.avsc", Path(name) / "candidate.avsc"]
        for file in files:
            file.write_text(json.dumps({"type": "record", "name": "R", "fields": [_FIELD]}), encoding="utf-8")
        options = ["--type", "JSON", "--strategy", "BACKWARD", "--history", *map(str, files)]
        check = [sys.executable, "-m", "topicschema", "check", *options]
        nothing = [sys.executable, "-c", "pass"]
        rounds = [(_seconds(check), _seconds(nothing)) for _ in range(_ROUNDS)]
    ours, anchor = (statistics.median(each) for each in zip(*rounds, strict=True))
    row = bounded("cold `topicschema check` of one pair", ours * 1000, "ms", 150)
    return replace(row, anchor="python -c pass", anchor_value=round(anchor * 1000, 1), ratio=round(ours / anchor, 3))


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - start
