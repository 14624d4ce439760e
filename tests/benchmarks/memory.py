"""Peak memory of a whole run, driver and workers together; ten times the messages need no more.

The files are those of the pipeline benchmark, eight of them each time: the same processes judge few messages and many.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import orders, peak_memory, pipeline
from benchmarks.rows import Goal, Row, beside
from topicschema.validation.job.result import FAILED_STATUS

_FEW, _MANY = 200_000, 2_000_000
_FILES = 8
_RATIO = 1.25


def measure() -> Iterator[Row]:
    """Yield the rows."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = (_peaks(Path(folder) / str(count), count) for count in (_FEW, _MANY))
    for name, peak in many.items():
        anchor = ("the same with 200,000 messages", few[name])
        yield beside(
            f"memory at most, validation of 2,000,000 messages, {name}", peak, "MiB", anchor, Goal(_RATIO, at_most=True)
        )


def _peaks(folder: Path, count: int) -> Mapping[str, int]:
    """Return the peaks in MiB, by how the run is made."""
    packed = _write_request(folder, count)
    arguments = [str(folder), "--termination-log", str(folder / "verdict")]
    pod = [sys.executable, "-m", "topicschema.validation.run.driver", *arguments]
    spark = [sys.executable, "-m", "benchmarks.run_pipeline", str(packed)]
    return {
        "a pod without executors": peak_memory.of_command(pod, {FAILED_STATUS}),
        "Spark, local[2]": peak_memory.of_command(spark, stdin="go\n"),
    }


def _write_request(folder: Path, count: int) -> Path:
    """Write the files of `count` messages, all alike, and the packed request beside them. Return the request's path."""
    folder.mkdir()
    made = orders.made(pipeline.POOL)
    share = count // _FILES
    paths = [folder / f"{number}.parquet" for number in range(_FILES)]
    first, *others = paths
    pipeline.stored(made, first, share, share * pipeline.BAD // pipeline.COUNT)
    for path in others:
        shutil.copyfile(first, path)
    request = pipeline.request_of(made, *paths)
    packed = folder / "request.xz.0"
    packed.write_bytes(request.pack().content)
    return packed
