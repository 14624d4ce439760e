"""Runs whose splits Spark's workers judge: the same figures as here, also where a worker is killed.

A Spark session takes some seconds to start, as do its workers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.validation import order_files
from support.validation.killed_workers import DyingFiles
from topicschema.validation.errors import SourceError
from topicschema.validation.report.report import Report
from topicschema.validation.run import runner
from topicschema.validation.run import spark as run_spark
from topicschema.validation.run.sampling import Sampling
from topicschema.validation.run.task import Task

ORDERS = order_files.orders(6_000)


def figures(report: Report) -> Mapping[str, Any]:
    return {name: value for name, value in report.document.items() if name not in {"startedAt", "seconds"}}


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    return order_files.write(ORDERS, tmp_path / "orders.parquet")


def test_a_worker_that_is_killed_in_the_middle_of_a_split_changes_no_figure(
    spark: Any, stored: Path, tmp_path: Path
) -> None:
    request = order_files.question(stored)
    files = order_files.source(request, 1)
    here = runner.run(request, files, processes=1)
    progress: list[tuple[int, int]] = []
    trace = tmp_path / "died"
    there = runner.run(request, DyingFiles(files, trace), spark=spark, progress=lambda *each: progress.append(each))
    assert trace.exists()
    assert figures(there) == figures(here)
    assert {each["reason"]: each["messages"] for each in there.document["byReason"]} == order_files.reasons(ORDERS)
    assert (progress[0], progress[-1]) == ((0, 6_000), (6_000, 6_000))
    assert progress == sorted(progress)


def test_more_tasks_than_are_merged_at_once_are_merged_in_a_tree_to_the_same_figures(
    spark: Any, tmp_path: Path
) -> None:
    request = order_files.question(order_files.write(ORDERS, tmp_path / "orders.parquet", group=40))
    files = order_files.source(request, 1)
    assert len(files.plan().splits) == 150 > run_spark.AT_ONCE
    there = runner.run(request, files, spark=spark)
    assert figures(there) == figures(runner.run(request, files, processes=1))
    assert {each["reason"]: each["messages"] for each in there.document["byReason"]} == order_files.reasons(ORDERS)
    assert len(there.document["examples"]) == 10


def test_an_unreadable_file_is_an_error_with_its_name_and_no_verdict(spark: Any, stored: Path) -> None:
    request = order_files.question(stored)
    files = order_files.source(request)
    splits = files.plan().splits
    stored.write_bytes(stored.read_bytes() + b"x")
    work = Task("a run", request.pack().content, files, Sampling(0))
    with pytest.raises(SourceError, match=r"orders\.parquet: the file has changed since the run began"):
        run_spark.tally(spark, work, splits, lambda _share: None)
