"""Validation of splits by Spark's executors, through a data source whose rows are the tallies of tasks.

A task that is lost or runs twice counts once: Spark uses one result for each task, and the tally of a split is always
the same.
"""

import pickle
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType
from typing_extensions import override

from topicschema.core.errors import TopicSchemaError
from topicschema.validation.errors import (
    InvalidRequestError,
    RunError,
    RunOutOfMemoryError,
    SourceError,
)
from topicschema.validation.report.tally import Tally
from topicschema.validation.run import spark_worker
from topicschema.validation.run.task import Task
from topicschema.validation.sources import Split

_ReportedError = SourceError | InvalidRequestError
MOST_TASKS: Final = 256
"""Maximum number of tasks, whose tallies the driver merges. More splits share tasks."""
_FILE: Final = "file"
_ALL: Final = False
"""Argument of Spark for executors that have ended, too."""
_TICK: Final = 1.0
_OURS: Final = re.compile(r"\b(topicschema(?:\.\w+)+): ([^\n]{1,2000})")

_RAISED: Final = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt)\b[^\n]*)", re.MULTILINE)
"""Last line of a Python traceback, or first line of a Java one."""

_RAISE: Final = "if memory ran out: raise template.resources.limits.memory"
_GONE: Final = f"Spark's process in the driver's pod was killed, or broke down; {_RAISE}"
_KILLED_POD: Final = "termination reason: OOMKilled"
"""Status of the executor of a task's last attempt, as Spark reports it from the API server."""
_ENDS: Final = {
    "Python worker exited unexpectedly": f"a worker process of an executor was killed, or broke down; {_RAISE}",
    "SparkContext was shut down": "executors failed again and again until Spark ended; the driver's log says why",
}
"""Messages of Spark that have no explanation, with the explanations of this module."""


def tally(session: SparkSession, task: Task, splits: Sequence[Split], done: Callable[[float], None]) -> Tally:
    """Return the tally of all splits. `done` is called with the completed share, from 0 to 1.

    Raises SourceError if a split cannot be read after Spark's retries, and RunError for any other end of the job.
    """
    total = Tally()
    if not splits:
        return total
    tasks = min(len(splits), MOST_TASKS)
    try:
        with tempfile.TemporaryDirectory() as folder, _watched(session.sparkContext, task.run, tasks, done):
            file = Path(folder, "run")
            file.write_bytes(pickle.dumps((task, [tuple(splits[number::tasks]) for number in range(tasks)])))
            session.dataSource.register(Tallies)
            rows = session.read.format(Tallies.name()).option(_FILE, str(file)).load().collect()
    except (Py4JNetworkError, ConnectionError):
        raise RunError(_GONE) from None
    except Py4JError as error:
        raise why(str(getattr(error, "java_exception", error))) from None
    except PySparkException as error:
        raise why(str(error)) from None
    for row in rows:
        total.merge(Tally.unpacked(bytes(row.tally)))
    return total


def metrics(session: SparkSession) -> Mapping[str, int | float]:
    """Return what the executors did: their number, tasks and seconds, all also of executors that were lost.

    It is {} if Spark has ended after the result.
    """
    try:
        summaries = session.sparkContext._jsc.sc().statusStore().executorList(_ALL)  # noqa: SLF001  # no public one
        each = [summaries.apply(number) for number in range(summaries.size())]
        executors = [one for one in each if one.id() != "driver"] or each
        return {
            "executors": len(executors),
            "lostExecutors": sum(not one.isActive() for one in executors),
            "tasks": sum(one.totalTasks() for one in executors),
            "failedTasks": sum(one.failedTasks() for one in executors),
            "taskSeconds": round(sum(one.totalDuration() for one in executors) / 1000, 1),
            "garbageCollectionSeconds": round(sum(one.totalGCTime() for one in executors) / 1000, 1),
        }
    except (Py4JError, ConnectionError):
        return {}


class Tallies(DataSource):
    """Data source of a run: a row with the packed tally of each task. The option names a file of the driver."""

    @classmethod
    @override
    def name(cls) -> str:
        """Return the name of the format."""
        return "topicschema-tallies"

    @override
    def schema(self) -> StructType | str:
        """Return the only column."""
        return "tally binary"

    @override
    def reader(self, schema: StructType) -> "TallyReader":
        """Return the reader, with the task."""
        return TallyReader(self.options[_FILE])


class TallyReader(DataSourceReader):
    """Reader of splits, which Spark sends to its workers with the task, but without the splits of other tasks."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._task: Task = _run(file)[0]

    @override
    def partitions(self) -> list[InputPartition]:
        """Return the tasks of Spark. The value of each is its splits."""
        return [InputPartition(splits) for splits in _run(self._file)[1]]

    @override
    def read(self, partition: InputPartition) -> Iterator[tuple[bytes]]:
        """Yield the tally of a task's splits. Raises SourceError and InvalidRequestError as `Task.tally`."""
        total = Tally()
        for split in partition.value:
            total.merge(self._task.tally(split))
        spark_worker.settle()
        yield (total.packed,)


def _run(file: str) -> tuple[Task, list[tuple[Split, ...]]]:
    """Return the task and the splits of Spark's tasks, which this program wrote."""
    run: tuple[Task, list[tuple[Split, ...]]] = pickle.loads(Path(file).read_bytes())  # noqa: S301
    return run


def why(text: str) -> TopicSchemaError:
    """Return the error of a failed job from Spark's message."""
    for name, message in _OURS.findall(text):
        for kind in _with_those_under(SourceError, InvalidRequestError):
            if name == f"{kind.__module__}.{kind.__qualname__}":
                return kind(message)
    if _KILLED_POD in text:
        return RunOutOfMemoryError("executors")
    for sign, meaning in _ENDS.items():
        if sign in text:
            return RunError(meaning)
    raised = _RAISED.findall(text)
    return RunError(
        f"Spark gave the run up: {(raised or text.strip().splitlines() or ['it does not say why'])[-1][:500]}"
    )


def _with_those_under(*kinds: type[_ReportedError]) -> Iterator[type[_ReportedError]]:
    """Yield the kinds of errors and all their subclasses. The plan has imported those of its source."""
    for kind in kinds:
        yield kind
        yield from _with_those_under(*kind.__subclasses__())


@contextmanager
def _watched(context: Any, group: str, tasks: int, done: Callable[[float], None]) -> Iterator[None]:
    """Call `done` about once a second, while the context lasts, with the share of completed tasks of the job."""
    context.setJobGroup(group, "topicschema validates messages")
    ended = threading.Event()

    def watch() -> None:
        with suppress(Py4JError, ConnectionError):  # if the JVM is gone, the job raises the error
            while not ended.wait(_TICK):
                done(min(1.0, _ready(context.statusTracker(), group) / tasks))

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


def _ready(tracker: Any, group: str) -> int:
    """Return the number of completed tasks, which are the first stage of a job."""
    ready = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        stages = sorted(info.stageIds) if info is not None else ()
        stage = tracker.getStageInfo(stages[0]) if stages else None
        ready = max(ready, stage.numCompletedTasks if stage is not None else 0)
    return ready
