"""Speed of verdict programs, beside Avro's own reader of the messages, and the time before the first verdict.

Each round runs ours and the anchor one after the other, processor time of one thread each; the row is that of the round
with the median ratio. Both read the same messages, of three writers' versions: ours a column for each version, as it
comes from Arrow.
"""

import json
import os
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import java, orders, releases
from benchmarks.rows import Goal, Row, beside, bounded
from support.payloads.avro_messages import parsed
from topicschema import payload
from topicschema.payload.columnar.avro import ProgramValidator, compile_program
from topicschema.payload.columnar.column import Column

_PROGRAM = Path(__file__).with_name("ProgramTimes.java")
_COUNT = 60_000
_WARM_UP, _ROUNDS = 15, 21
_FOR_LARGE = 50
_FIRST_START, _LATER_START = 12, 2
_ONE_MESSAGE = """
from topicschema.core import formats
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.avro import compile_program, run
schema = formats.parse(SchemaInfo(SchemaType.AVRO, b'"long"'))
assert not run(compile_program(schema, schema), Column.of([bytes(1)])).reasons.any()
"""


def measure() -> Iterator[Row]:
    """Yield the rows."""
    made = orders.made(_COUNT)
    writers = [parsed(json.dumps(each)) for each in made.writers]
    reader = parsed(json.dumps(made.reader))
    messages = [(number, payload.encode(writers[number], value).payload or b"") for number, value in made.messages]
    columns = [
        (ProgramValidator(compile_program(reader, writer)), _column([each for of, each in messages if of == number]))
        for number, writer in enumerate(writers)
    ]
    if _bad(columns) != made.bad:
        raise RuntimeError("the verdicts reject other messages than the bad ones")
    mean = sum(len(each) for _, each in messages) / len(messages)
    yield _beside_java(made, messages, columns, f"verdicts on Avro messages of {mean:.0f} bytes, one core")
    yield _large()
    yield from _starts()


def _beside_java(
    made: orders.Orders,
    messages: Sequence[tuple[int, bytes]],
    columns: Sequence[tuple[ProgramValidator, Column]],
    name: str,
) -> Row:
    texts = [json.dumps(each).encode() for each in (made.reader, *made.writers)]
    with tempfile.NamedTemporaryFile("wb", suffix=".messages") as file:
        file.write(_sized(texts[0]) + struct.pack(">i", len(texts) - 1) + b"".join(map(_sized, texts[1:])))
        file.writelines(struct.pack(">i", number) + _sized(content) for number, content in messages)
        file.flush()
        with java.running(_PROGRAM, file.name) as theirs:
            rounds = sorted(_rounds(lambda: _bad(columns), theirs), key=lambda both: both[0] / both[1])
    ours, anchor = (len(messages) / seconds for seconds in rounds[len(rounds) // 2])
    return beside(name, ours, "messages/s", ("Java GenericDatumReader", anchor), Goal(2, at_most=False))


def _rounds(work: Callable[[], object], theirs: java.Java) -> Iterator[tuple[float, float]]:
    for number in range(_WARM_UP + _ROUNDS):
        start = time.thread_time()
        work()
        ours = time.thread_time() - start
        anchor = theirs.seconds("go")
        if number >= _WARM_UP:
            yield ours, anchor


def _large() -> Row:
    """Measure the median of compiling a release of a large schema with the one before."""
    writer, reader = (parsed(text.decode()) for text in releases.texts())
    times = []
    for _ in range(_ROUNDS):
        start = time.thread_time()
        compile_program(reader, writer)
        times.append(time.thread_time() - start)
    return bounded("program of a 377 kB schema", statistics.median(times) * 1000, "ms", _FOR_LARGE)


def _starts() -> Iterator[Row]:
    """Yield the processor time of a process that judges one message, with numba's empty and full cache."""
    with tempfile.TemporaryDirectory() as folder:
        for name, at_most in (("first", _FIRST_START), ("later", _LATER_START)):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            subprocess.run([sys.executable, "-c", _ONE_MESSAGE], env=environment, check=True)
            taken = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            yield bounded(f"verdict on one message, numba's {name} start", taken, "s", at_most)


def _bad(columns: Sequence[tuple[ProgramValidator, Column]]) -> int:
    return sum(int((validator.validate(column).reasons != 0).sum()) for validator, column in columns)


def _column(payloads: Sequence[bytes]) -> Column:
    array = pa.array(payloads, pa.large_binary())
    _, offsets, values = array.buffers()
    return Column.between(np.frombuffer(values, np.uint8), np.frombuffer(offsets, np.int64)[: len(payloads) + 1])


def _sized(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content
