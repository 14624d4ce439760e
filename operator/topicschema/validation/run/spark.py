"""Validation of splits by Spark's executors. They return only tallies, merged on the way, of tasks that succeeded.

A task that is lost or runs twice counts once: Spark uses one result for each partition, and the tally of a split is
always the same.
"""

import gc
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from topicschema.core.errors import TopicSchemaError
from topicschema.validation.errors import (
    InvalidRequestError,
    RunError,
    RunOutOfMemoryError,
    SourceError,
)
from topicschema.validation.report.tally import Tally
from topicschema.validation.run.task import Task
from topicschema.validation.sources import Split

_ReportedError = SourceError | InvalidRequestError
MOST_TASKS: Final = 2_000
"""Maximum number of tasks. More splits share tasks."""
AT_ONCE: Final = 100
"""Maximum number of tallies that the driver merges. Executors merge more of them first, in another stage."""
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


def tally(context: Any, task: Task, splits: Sequence[Split], done: Callable[[float], None]) -> Tally:
    """Return the tally of all splits. `done` is called with the completed share, from 0 to 1.

    Raises SourceError if a split cannot be read after Spark's retries, and RunError for any other end of the job.
    """
    if not splits:
        return Tally()
    tasks = min(len(splits), MOST_TASKS)
    try:
        tallies = context.parallelize(splits, tasks).mapPartitions(SplitTallies(task))
        with _watched(context, task.run, tasks, done):
            packed = tallies.treeReduce(merged, 1 if tasks <= AT_ONCE else 2)
    except (Py4JNetworkError, ConnectionError):
        raise RunError(_GONE) from None
    except Py4JError as error:
        raise why(str(getattr(error, "java_exception", error))) from None
    except PySparkException as error:  # with Spark SQL in the process
        raise why(str(error)) from None
    return Tally.unpacked(packed)


@dataclass(frozen=True, slots=True)
class SplitTallies:
    """Function that Spark sends to its workers."""

    task: Task

    def __call__(self, splits: Iterable[Split]) -> Iterator[bytes]:
        """Yield the tally of a partition's splits."""
        total = Tally()
        for split in splits:
            total.merge(self.task.tally(split))
        _settled()
        yield total.packed


@cache
def _settled() -> None:
    """Exclude the loaded modules of a worker from garbage collection, once.

    Spark collects after each task, which otherwise takes 0.1 s.
    """
    gc.collect()
    gc.freeze()


def merged(one: bytes, other: bytes) -> bytes:
    """Return two packed tallies merged into one."""
    return Tally.unpacked(one).merge(Tally.unpacked(other)).packed


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
    """Return the number of completed tasks of the validation stage, which is the first stage of each job."""
    ready = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        stages = sorted(info.stageIds) if info is not None else ()
        stage = tracker.getStageInfo(stages[0]) if stages else None
        ready = max(ready, stage.numCompletedTasks if stage is not None else 0)
    return ready
