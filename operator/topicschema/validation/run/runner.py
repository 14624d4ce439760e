"""A run: plan, judge all splits here or in Spark, report. One course for topics of any size."""

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

Progress = Callable[[int, int], None]
"""Told how many of about how many messages have been gone through."""


def run(
    asked: ValidationRequest,
    source: Source,
    *,
    spark: Any = None,
    processes: int | None = None,
    progress: Progress = lambda _done, _of: None,
) -> Report:
    """The report on all messages that the source had at the start.

    `spark` is a SparkContext, None to judge on this machine, in as many processes as pays unless `processes` says.
    SourceError where messages cannot be read, InvalidQuestionError where they cannot be judged, RunError where Spark
    ended, or where chance took none of the messages that there are: then nothing is said of them.
    """
    started, clock = time.time_ns() // 1_000_000, time.monotonic()
    plan = source.plan()
    sampling = Sampling.of(asked.sample, plan.messages, started)
    task = Task(uuid.uuid4().hex, asked.pack().content, source, sampling, dict(plan.writers))
    progress(0, plan.messages)
    counted = _here(task, plan, processes, progress) if spark is None else _there(task, plan, spark, progress)
    progress(plan.messages, plan.messages)
    if counted.drawable and not counted.messages:
        raise RunError(f"the sample took none of {counted.drawable} messages: raise maxMessages or percent")
    return report(asked, plan, counted, Course(started, time.monotonic() - clock))


def _here(task: Task, plan: Plan, processes: int | None, progress: Progress) -> Tally:
    ready = 0

    def done(split: Split) -> None:
        nonlocal ready
        ready += split.messages
        progress(ready, plan.messages)

    chosen = local.processes_for(plan.messages) if processes is None else processes
    return local.tally(task, plan.splits, chosen, done)


def _there(task: Task, plan: Plan, spark: Any, progress: Progress) -> Tally:
    from topicschema.validation.run import spark as run_spark  # noqa: PLC0415  # pyspark, where there are executors

    return run_spark.tally(
        spark, task, plan.splits, lambda share: progress(round(share * plan.messages), plan.messages)
    )
