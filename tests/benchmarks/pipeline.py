"""Speed of a whole run, beside spark-avro's from_avro over the same Parquet file: two threads of Spark for each.

Both sessions are warm, and take turns. A row is that of the round with the median ratio, once by the clock, once by the
processor time of all that a session runs. from_avro only counts the valid messages, without reasons and paths.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from benchmarks import orders, processes
from benchmarks.rows import Goal, Row, beside, row
from testbed import maven, paths
from testbed.build import alone
from testbed.progress import Progress
from topicschema import payload
from topicschema.core import formats
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation.request import FileSource, ValidationRequest
from topicschema.validation.run import runner
from topicschema.validation.sources.files.source import FileMessages

COUNT, BAD = 2_000_000, 12_994
POOL = 20_000
_GROUP = 50_000
_WARM_UP, _ROUNDS = 3, 7
_PYSPARK = "4.1.1"
_START = 1_760_000_000_000
_HERE = Path(__file__).parent
FROM_AVRO, SPARK_AVRO = _HERE / "from_avro.py", _HERE / "spark_avro" / "pom.xml"
"""The anchor's program, and the project of its class path."""


class _Round(NamedTuple):
    """A round: its seconds, its processor time, and the number of messages in its result."""

    seconds: float
    processor: float
    messages: int


def measure() -> Iterator[Row]:
    """Yield the rows."""
    with tempfile.TemporaryDirectory() as folder:
        made = orders.made(POOL)
        request = request_of(made, stored(made, Path(folder) / "orders.parquet"))
        yield _alone(request)
        yield from _beside_spark_avro(made, request, Path(folder))


def _alone(request: ValidationRequest) -> Row:
    """Return the row of a run without Spark, as a pod without executors makes it."""
    assert request.files is not None  # it was made with them
    reports = [runner.run(request, FileMessages(request.files), workers=2).document for _ in range(3)]
    if [each["invalid"] for each in reports] != [BAD] * 3:
        raise RuntimeError("the run reported other messages than the bad ones")
    return row(
        "validation of 2,000,000 messages, two processes, no JVM",
        COUNT / sorted(each["seconds"] for each in reports)[1],
        "messages/s",
    )


def _beside_spark_avro(made: orders.Orders, request: ValidationRequest, folder: Path) -> Iterator[Row]:
    packed = folder / "request.xz"
    packed.write_bytes(request.pack().content)
    what = "whole validation run in Spark, local[2]: Parquet in, report out"
    files = str(folder / "orders.parquet"), _texts(made, folder)
    yield from _beside_from_avro(what, ["benchmarks.run_pipeline", str(packed)], files, 1)


def verdicts(folder: Path) -> Iterator[Row]:
    """Yield the rows of the data source `pulsar-verdicts`. `folder` is for the messages."""
    made = orders.made(POOL)
    files = str(stored(made, folder / "orders.parquet")), _texts(made, folder)
    what = "pulsar-verdicts over Parquet, local[2], grouped by version, reason and path"
    yield from _beside_from_avro(what, ["benchmarks.run_verdicts", *files], files, 2.5)


def _texts(made: orders.Orders, folder: Path) -> str:
    """Write the texts of the reader and the writers, and return the file."""
    texts = folder / "texts.json"
    texts.write_text(json.dumps([json.dumps(each) for each in (made.reader, *made.writers)]), encoding="utf-8")
    return str(texts)


def _beside_from_avro(what: str, module: Sequence[str], files: Sequence[str], goal: float) -> Iterator[Row]:
    anchor_command = [*map(str, (anchors_python(), FROM_AVRO, maven.jars(SPARK_AVRO))), *files]
    with serving([sys.executable, "-m", *module]) as ours, serving(anchor_command) as anchor:
        rounds = [(run_round(ours), run_round(anchor)) for _ in range(_WARM_UP + _ROUNDS)][_WARM_UP:]
    if {each.messages for both in rounds for each in both} != {BAD, COUNT - BAD}:
        raise RuntimeError("a round counted other messages than the bad ones")
    for suffix, field in (("", "seconds"), (", by processor time", "processor")):
        times = [(getattr(mine, field), getattr(anchor_s, field)) for mine, anchor_s in rounds]
        taken, theirs_taken = sorted(times, key=lambda both: both[0] / both[1])[_ROUNDS // 2]
        yield beside(
            f"{what}{suffix}",
            COUNT / taken,
            "messages/s",
            ("spark-avro's from_avro with count", COUNT / theirs_taken),
            Goal(goal, at_most=False),
        )


def stored(made: orders.Orders, path: Path, count: int = COUNT, bad_ones: int = BAD) -> Path:
    """Write the messages: a pool of them repeated, with `bad_ones` bad ones at places that the seed determines."""
    good, bad = _pools(made)
    chance = random.Random(1)  # noqa: S311  # a seed, not a secret
    places = set(chance.sample(range(count), bad_ones))
    pool = pa.table(
        {
            "value": pa.array([each for _, each in good + bad], pa.binary()),
            "schema_version": [each for each, _ in good + bad],
        }
    )
    writer = parquet.ParquetWriter(path, pool.schema.append(pa.field("publish_time", pa.int64())), compression="snappy")
    with writer:
        for start in range(0, count, _GROUP):
            rows = range(start, min(count, start + _GROUP))
            taken = [
                len(good) + chance.randrange(len(bad)) if at in places else chance.randrange(len(good)) for at in rows
            ]
            times = pa.array([_START + 300 * at for at in rows], pa.int64())
            writer.write_table(pool.take(pa.array(taken)).append_column("publish_time", times), row_group_size=_GROUP)
    return path


def _pools(made: orders.Orders) -> tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]]:
    """Return the valid messages and the invalid ones."""
    writers = [formats.parse(_info(each)) for each in made.writers]
    reader = formats.parse(_info(made.reader))
    readers = [payload.reader(reader, each) for each in writers]
    pools: tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]] = ([], [])
    for number, value in made.messages:
        content = payload.encode(writers[number], value).payload or b""
        pools[bool(readers[number].read(content)[1])].append((number, content))
    return pools


def request_of(made: orders.Orders, *files: Path) -> ValidationRequest:
    """Return the request to check the messages in these files with the newest schema."""
    versions = {number: _info(each) for number, each in enumerate(made.writers)}
    source = FileSource(tuple(map(str, files)))
    return ValidationRequest(_info(made.reader), versions, "persistent://shop/orders/created", files=source)


def _info(text: dict[str, Any]) -> SchemaInfo:
    return SchemaInfo(SchemaType.AVRO, json.dumps(text).encode())


def anchors_python() -> Path:
    """Return a Python with the PySpark of spark-avro, installed once, outside the checkout."""
    folder = paths.cache() / f"pyspark-{_PYSPARK}"
    python = folder / "bin" / "python"
    if not python.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with alone(folder.with_suffix(".lock"), Progress()):
            if not python.exists():
                _install(folder)
    return python


def _install(folder: Path) -> None:
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", f"pyspark=={_PYSPARK}"]
        subprocess.run(command, check=True)
    except subprocess.CalledProcessError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def serving(command: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    """Run a program that responds to a line with a line, without the `PYSPARK_PYTHON` of this process."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("PYSPARK", "SPARK"))}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environ
    ) as process:
        yield process
        if process.stdin is not None:
            process.stdin.close()


def run_round(process: "subprocess.Popen[str]", line: str = "go") -> _Round:
    """Return the round that the program runs for the line."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the program has no pipes")
    before = processes.cpu_seconds(process.pid)
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    seconds, count = json.loads(process.stdout.readline())
    return _Round(seconds, processes.cpu_seconds(process.pid) - before, count)
