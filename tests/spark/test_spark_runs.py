"""Runs whose splits Spark's workers judge: the same figures as here, also where a worker is killed.

A Spark session takes some seconds to start, as do its workers.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.validation import order_files
from support.validation.killed_workers import KillingFiles
from topicschema.validation.errors import SourceError
from topicschema.validation.report.report import Report
from topicschema.validation.run import runner
from topicschema.validation.run import spark as run_spark
from topicschema.validation.run.sampling import Sampling
from topicschema.validation.run.task import Task

ORDERS = order_files.orders(6_000)


def figures(report: Report) -> Mapping[str, Any]:
    """Return all figures but those of the run itself."""
    return {
        name: each for name, each in report.document.items() if name not in {"startedAt", "seconds", "plan", "spark"}
    }


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    return order_files.write(ORDERS, tmp_path / "orders.parquet")


def test_a_worker_that_is_killed_in_the_middle_of_a_split_changes_no_figure(
    spark: Any, stored: Path, tmp_path: Path
) -> None:
    request = order_files.validation_request(stored)
    files = order_files.source(request, 1)
    here = runner.run(request, files, workers=1)
    progress: list[tuple[int, int]] = []
    trace = tmp_path / "died"
    there = runner.run(request, KillingFiles(files, trace), workers=spark, progress=lambda *each: progress.append(each))
    assert trace.exists()
    assert figures(there) == figures(here)
    assert {each["reason"]: each["messages"] for each in there.document["byReason"]} == order_files.reasons(ORDERS)
    assert (progress[0], progress[-1]) == ((0, 6_000), (6_000, 6_000))
    assert progress == sorted(progress)


def test_more_splits_than_tasks_share_them(spark: Any, tmp_path: Path) -> None:
    request = order_files.validation_request(order_files.write(ORDERS, tmp_path / "orders.parquet", group=20))
    files = order_files.source(request, 1)
    assert len(files.plan().splits) == 300 > run_spark.MOST_TASKS
    there = runner.run(replace(request, executors=2), files, workers=spark)
    assert figures(there) == {
        **figures(runner.run(request, files, workers=1)),
        "requestHash": there.document["requestHash"],
    }
    assert {each["reason"]: each["messages"] for each in there.document["byReason"]} == order_files.reasons(ORDERS)
    assert len(there.document["examples"]) == 10
    assert there.document["plan"] == "6,000 messages, about 1 s of work for one core: judged by 2 Spark executors"
    metrics = there.document["spark"]
    assert (metrics["executors"], metrics["lostExecutors"]) == (1, 0)  # the JVM itself, without a cluster
    assert metrics["tasks"] >= run_spark.MOST_TASKS


def test_an_unreadable_file_is_an_error_with_its_name_and_no_verdict(spark: Any, stored: Path) -> None:
    request = order_files.validation_request(stored)
    files = order_files.source(request)
    splits = files.plan().splits
    stored.write_bytes(stored.read_bytes() + b"x")
    work = Task("a run", request.pack().content, files, Sampling(0))
    with pytest.raises(SourceError, match=r"orders\.parquet: the file has changed since the run began"):
        run_spark.tally(spark, work, splits, lambda _share: None)
