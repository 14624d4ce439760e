"""Course of a run: plan, validate all splits here or in Spark, report. It is the same for any size of topic."""

import time
import uuid
from collections.abc import Callable
from typing import Any

from topicschema.validation.errors import RunError
from topicschema.validation.report.report import Course, Report, report
from topicschema.validation.report.tally import Tally
from topicschema.validation.request import ValidationRequest
from topicschema.validation.run import local
from topicschema.validation.run.sampling import Sampling
from topicschema.validation.run.task import Task
from topicschema.validation.sources import Plan, Source, Split

ReportProgress = Callable[[int, int], None]
"""Function that is called with the number of processed messages and the approximate total."""


def run(
    request: ValidationRequest,
    source: Source,
    *,
    spark: Any = None,
    processes: int | None = None,
    progress: ReportProgress = lambda _done, _of: None,
) -> Report:
    """Return the report on all messages that the source had at the start.

    `spark` is a SparkContext. If it is None, this machine validates in `processes` processes, by default as many as are
    useful.

    Raises SourceError if messages cannot be read, and InvalidRequestError if they cannot be validated. Raises RunError
    if Spark ended, or if the sample randomly selected none of the messages.
    """
    started, clock = time.time_ns() // 1_000_000, time.monotonic()
    plan = source.plan()
    sampling = Sampling.of(request.sample, plan.messages, started)
    task = Task(uuid.uuid4().hex, request.pack().content, source, sampling, dict(plan.writers))
    progress(0, plan.messages)
    counted = _here(task, plan, processes, progress) if spark is None else _there(task, plan, spark, progress)
    progress(plan.messages, plan.messages)
    if counted.drawable and not counted.messages:
        raise RunError(f"the sample took none of {counted.drawable} messages: raise maxMessages or percent")
    return report(request, plan, counted, Course(started, time.monotonic() - clock))


def _here(task: Task, plan: Plan, processes: int | None, progress: ReportProgress) -> Tally:
    ready = 0

    def done(split: Split) -> None:
        nonlocal ready
        ready += split.messages
        progress(ready, plan.messages)

    chosen = local.processes_for(plan.messages) if processes is None else processes
    return local.tally(task, plan.splits, chosen, done)


def _there(task: Task, plan: Plan, spark: Any, progress: ReportProgress) -> Tally:
    from topicschema.validation.run import spark as run_spark  # noqa: PLC0415  # pyspark, only if there are executors

    return run_spark.tally(
        spark, task, plan.splits, lambda share: progress(round(share * plan.messages), plan.messages)
    )
