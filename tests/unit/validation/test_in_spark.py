"""The work of Spark's workers on many splits, and the errors if Spark fails; all without a JVM."""

import functools
import importlib
import pickle
import pkgutil
import random
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

from support.validation import order_files
from topicschema.core.errors import TopicSchemaError
from topicschema.validation import sources
from topicschema.validation.errors import InvalidRequestError, RunError, RunOutOfMemoryError, SourceError
from topicschema.validation.report.tally import EXAMPLES, Tally
from topicschema.validation.run import local, spark
from topicschema.validation.run.sampling import Sampling
from topicschema.validation.run.spark import Tallies
from topicschema.validation.run.task import Task
from topicschema.validation.sources import Expired, NotDelivered, Plan, Split
from topicschema.validation.sources.pulsar.errors import SourceSilentError

SPLITS = 150
ORDERS = order_files.orders(3_000, share=0.3)


def results(task: Task, splits: Sequence[Split], at_once: int, folder: Path) -> list[bytes]:
    """Return the tallies of Spark's tasks with that number of splits each, by the data source, in random order."""
    groups = [tuple(splits[start : start + at_once]) for start in range(0, len(splits), at_once)]
    file = folder / "run"
    file.write_bytes(pickle.dumps((task, groups)))
    reader = Tallies({"file": str(file)}).reader(StructType())
    partitions = reader.partitions()
    sent = pickle.loads(pickle.dumps(reader))  # noqa: S301  # as Spark sends it to a worker, without the driver's file
    file.unlink()
    shuffled = random.Random(5).sample(partitions, len(partitions))  # noqa: S311  # the same each time
    return [packed for partition in shuffled for (packed,) in sent.read(partition)]


def merged(packed: Sequence[bytes]) -> Tally:
    return functools.reduce(Tally.merge, map(Tally.unpacked, packed), Tally())


def test_150_splits_count_exactly_whether_each_has_a_task_or_all_share_one(tmp_path: Path) -> None:
    path = order_files.write(ORDERS, tmp_path / "orders.parquet", len(ORDERS) // SPLITS)
    request = order_files.validation_request(path)
    files = order_files.source(request, 1)
    splits = files.plan().splits
    assert len(splits) == SPLITS
    task = Task("150 splits", request.pack().content, files, Sampling(0))
    (whole,) = results(task, splits, SPLITS, tmp_path)
    each = results(task, splits, 1, tmp_path)
    assert len(each) == SPLITS
    assert merged(each).packed == merged(results(task, splits, 7, tmp_path)).packed == whole
    tally = Tally.unpacked(whole)
    totals = {reason: 0 for reason, *_ in tally.findings.counts}
    for (reason, *_), count in tally.findings.counts.items():
        totals[reason] += count
    assert (tally.messages, totals) == (len(ORDERS), order_files.reasons(ORDERS))
    assert {reason: len(examples) for reason, examples in tally.examples.items()} == dict.fromkeys(totals, EXAMPLES)


@dataclass(frozen=True)
class Withholding:
    """A source whose splits hold no messages for a reader; one of them has lost some, too."""

    def plan(self) -> Plan:
        return Plan(tuple(Split(number, 1) for number in range(20)))

    def read(self, split: Split) -> Iterator[Expired | NotDelivered]:
        if split.what == 7:
            yield Expired(100)
        yield NotDelivered(split.what)


def test_what_is_withheld_counts_once_here_and_with_executors(tmp_path: Path) -> None:
    request = order_files.validation_request(Path("orders.parquet"))
    task = Task("withheld", request.pack().content, Withholding(), Sampling(0))
    splits = task.source.plan().splits
    there = merged(results(task, splits, 3, tmp_path))
    here = local.tally(task, splits, 1, lambda _split: None)
    assert there.packed == here.packed
    assert (there.withheld, there.gone, there.messages) == (sum(range(20)), 100, 0)


def aborted(reason: str) -> str:
    """Return the message of a job's exception after a task's fourth failure."""
    return (
        "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most"
        f" recent failure: Lost task 0.3 in stage 0.0 (TID 6) (10.88.0.12 executor 7): {reason}\nDriver stacktrace:\n"
    )


LOST = """ExecutorLostFailure (executor 7 exited caused by one of the running tasks) Reason:
The executor with id 7 exited with exit code 137(SIGKILL, possible container OOM).

The API gave the following container statuses:

\t container name: executor
\t container state: terminated
\t exit code: 137
\t termination reason: OOMKilled
"""
CRASHED = """org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider setting 'spark.x'
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator$$anonfun$1.applyOrElse(PythonRunner.scala:1136)
"""
RAISED = """org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "work.py", line 1, in tally
topicschema.validation.errors.SourceError: orders.parquet: it is broken
"""


@pytest.mark.parametrize(
    ("reason", "kind", "words"),
    [
        (aborted(LOST), RunOutOfMemoryError, "executors ran out of memory: raise template.resources.limits.memory"),
        (aborted(LOST.replace("OOMKilled", "Error")), RunError, "Spark gave the run up: "),
        (aborted(CRASHED), RunError, "a worker process of an executor was killed, or broke down; if memory ran out"),
        (aborted(RAISED), SourceError, "orders.parquet: it is broken"),
        ("org.apache.spark.SparkException: Job 0 cancelled because SparkContext was shut down", RunError,
         "executors failed again and again until Spark ended; the driver's log says why"),
        ("", RunError, "Spark gave the run up: it does not say why"),
    ],
)  # fmt: skip
def test_the_end_of_a_job_is_reported_with_advice(reason: str, kind: type[Exception], words: str) -> None:
    error = spark.why(reason)
    assert type(error) is kind
    assert error.message.startswith(words)


def with_subclasses(*kinds: type[TopicSchemaError]) -> list[type[TopicSchemaError]]:
    """Return these classes and all their subclasses."""
    return [each for kind in kinds for each in (kind, *with_subclasses(*kind.__subclasses__()))]


def test_every_error_of_a_worker_about_source_or_request_keeps_its_class() -> None:
    for module in pkgutil.walk_packages(sources.__path__, f"{sources.__name__}."):
        importlib.import_module(module.name)
    kinds = with_subclasses(SourceError, InvalidRequestError)
    assert SourceSilentError in kinds
    for kind in kinds:
        make: Any = kind
        error = make("shop/live/orders: the words, with a SourceError: in them")
        (raised,) = traceback.format_exception_only(error)
        actual = spark.why(aborted("PythonException: Traceback (most recent call last):\n" + raised))
        assert (type(actual), actual.reason, actual.message) == (kind, error.reason, error.message)


def test_any_other_error_of_a_worker_is_a_run_failure() -> None:
    (raised,) = traceback.format_exception_only(RunError("the words"))
    assert type(spark.why(aborted(raised))) is RunError
