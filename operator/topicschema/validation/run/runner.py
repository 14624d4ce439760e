"""Course of a run: plan, validate all splits here or in Spark, report."""

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from topicschema.validation.errors import RunError
from topicschema.validation.report.report import Course, Report, report
from topicschema.validation.report.tally import Tally
from topicschema.validation.request import ValidationRequest
from topicschema.validation.run import local
from topicschema.validation.run.sampling import Sampling
from topicschema.validation.run.task import Task
from topicschema.validation.run.workload import Workload
from topicschema.validation.sources import Plan, Source, Split

ReportProgress = Callable[[int, int], None]
"""Function that is called with the number of processed messages and the approximate total."""


def run(
    request: ValidationRequest,
    source: Source,
    *,
    workers: Any = None,
    plan: Plan | None = None,
    progress: ReportProgress = lambda _done, _of: None,
) -> Report:
    """Return the report on all messages that the source had at the start.

    `workers` is a SparkSession, or the number of processes on this machine, by default as many as are useful. `plan` is
    the source's, if there is one already.

    Raises SourceError if messages cannot be read, and InvalidRequestError if they cannot be validated. Raises RunError
    if Spark ended, or if the sample randomly selected none of the messages.
    """
    started, clock = time.time_ns() // 1_000_000, time.monotonic()
    plan = source.plan() if plan is None else plan
    sampling = Sampling.of(request.sample, plan.messages, started)
    task = Task(uuid.uuid4().hex, request.pack().content, source, sampling, dict(plan.writers))
    progress(0, plan.messages)
    metrics: Mapping[str, int | float] = {}
    if workers is None or isinstance(workers, int):
        chosen = workers or local.processes_for(plan.messages)
        counted, who = _here(task, plan, chosen, progress), "one process" if chosen == 1 else f"{chosen} processes"
    else:
        counted, metrics = _there(task, plan, workers, progress)
        who = "one Spark executor" if request.executors == 1 else f"{request.executors} Spark executors"
    progress(plan.messages, plan.messages)
    if counted.drawable and not counted.messages:
        raise RunError(f"the sample took none of {counted.drawable} messages: raise maxMessages or percent")
    course = Course(started, time.monotonic() - clock, Workload.of(request, plan).sentence(who), metrics)
    return report(request, plan, counted, course)


def _here(task: Task, plan: Plan, processes: int, progress: ReportProgress) -> Tally:
    ready = 0

    def done(split: Split) -> None:
        nonlocal ready
        ready += split.messages
        progress(ready, plan.messages)

    return local.tally(task, plan.splits, processes, done)


def _there(task: Task, plan: Plan, spark: Any, progress: ReportProgress) -> tuple[Tally, Mapping[str, int | float]]:
    from topicschema.validation.run import spark as run_spark  # noqa: PLC0415  # pyspark, only if there are executors

    def done(share: float) -> None:
        progress(round(share * plan.messages), plan.messages)

    return run_spark.tally(spark, task, plan.splits, done), run_spark.metrics(spark)
