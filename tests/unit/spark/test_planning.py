"""Tasks of a read: large pieces are cut, small ones share tasks, and every entry is in exactly one."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicschema.spark import planning
from topicschema.spark.planning import TaskSpan
from topicschema.validation.sources.pulsar.ranges import EntryRange, Span

MOST = 64 << 20


def piece(number: int, entries: int, size: float) -> TaskSpan:
    name = f"persistent://shop/live/orders-{number}"
    return TaskSpan(name, is_partitioned=False, positions=Span(name, 0, (EntryRange(7, 0, entries),)), bytes=size)


def tasks(pieces: list[TaskSpan], most: int = MOST) -> list[tuple[TaskSpan, ...]]:
    return [task.value for task in planning.packed(pieces, most)]


def test_a_large_topic_is_cut_into_tasks_of_the_maximum_size() -> None:
    sizes = [[each.bytes for each in task] for task in tasks([piece(0, 100_000, 100 * MOST)])]
    assert len(sizes) == 100
    assert {len(each) for each in sizes} == {1}


def test_a_smaller_topic_is_cut_into_a_task_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert len(tasks([piece(0, 100_000, 2 * MOST)])) == 8
    assert len(tasks([piece(0, 10, 1000)])) == 1


def test_small_topics_share_tasks_whose_number_depends_on_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert [len(task) for task in tasks([piece(number, 10, 1000) for number in range(160)])] == [20] * 8
    assert [len(task) for task in tasks([piece(number, 10, 1000) for number in range(5)])] == [4, 1]


@given(st.lists(st.tuples(st.integers(1, 300), st.floats(0, 1 << 30)), max_size=12), st.integers(1, 1 << 30))
def test_every_entry_is_in_exactly_one_task(sizes: list[tuple[int, float]], most: int) -> None:
    pieces = [piece(number, *size) for number, size in enumerate(sizes)]
    entries = [
        (each.topic, entry)
        for task in tasks(pieces, max(most, 1 << 20))
        for each in task
        for entry_range in each.positions.entry_ranges
        for entry in range(entry_range.first, entry_range.last + 1)
    ]
    assert entries == [(each.topic, entry) for each in pieces for entry in range(each.positions.entries)]


def test_a_plan_does_not_import_the_compiler_of_loops() -> None:
    modules = [f"topicschema.spark.{name}" for name in ("audit.stream", "streaming", "batch", "files", "verdicts")]
    program = (
        f"import sys, importlib\nfor each in {modules}: importlib.import_module(each)\nsys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
