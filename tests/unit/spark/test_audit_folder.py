"""Folder of an audit: facts and checkpoint that belong together, and tables that change at once."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from topicschema.spark.audit.folder import AuditFolder
from topicschema.spark.errors import InvalidOptionError

LOGS = {"offsets": "checkpoint/offsets", "commits": "checkpoint/commits", "facts": "facts/_spark_metadata"}


def make(path: Path, last: Mapping[str, int], identity: str = "mine") -> AuditFolder:
    """Create the logs of Spark up to these micro-batches."""
    for name, number in last.items():
        log = path / LOGS[name]
        log.mkdir(parents=True)
        for each in range(number + 1):
            (log / str(each)).write_text(f'v1\n{{}}\n{{"": "{identity}"}}')
            (log / f".{each}.crc").write_text("")
    return AuditFolder.create(path)


@pytest.mark.parametrize(
    ("last", "is_whole"),
    [
        ({}, True),
        ({"offsets": -1}, True),
        ({"offsets": 3, "commits": 3, "facts": 3}, True),
        ({"offsets": 3, "commits": 2, "facts": 3}, True),  # killed before the commit
        ({"offsets": 3, "commits": 2, "facts": 2}, True),  # killed while the facts were written
        ({"offsets": 0, "facts": -1}, True),
        ({"offsets": 0, "facts": 0}, True),
        ({"facts": 3}, False),
        ({"offsets": 3, "commits": 3}, False),
        ({"offsets": 2, "commits": 2, "facts": 3}, False),  # an older copy of the checkpoint
        ({"offsets": 3, "commits": 3, "facts": 2}, False),
        ({"offsets": 0, "facts": 1}, False),
        ({"offsets": 4, "commits": 2, "facts": 2}, False),
    ],
)
def test_facts_and_checkpoint_that_do_not_belong_together_are_deleted(
    tmp_path: Path, last: Mapping[str, int], *, is_whole: bool
) -> None:
    folder = make(tmp_path, last)
    remain = sorted(tmp_path.iterdir())
    assert folder.demand_stream("mine") == is_whole
    assert sorted(tmp_path.iterdir()) == (remain if is_whole else [])


def test_a_checkpoint_of_another_audit_is_deleted(tmp_path: Path) -> None:
    assert not make(tmp_path, {"offsets": 3, "commits": 3, "facts": 3}).demand_stream("yours")
    assert list(tmp_path.iterdir()) == []


def test_the_log_of_facts_may_be_compacted(tmp_path: Path) -> None:
    folder = make(tmp_path, {"offsets": 9, "commits": 9, "facts": 8})
    (tmp_path / "facts" / "_spark_metadata" / "9.compact").write_text("")
    assert folder.demand_stream("mine")


def test_tables_change_at_once_or_not_at_all(tmp_path: Path) -> None:
    folder = AuditFolder.create(tmp_path)
    for text in ("first", "second"):
        with folder.replacing_tables() as tables:
            Path(tables, "topics").write_text(text)
    with pytest.raises(FileNotFoundError), folder.replacing_tables() as tables:
        Path(tables, "nowhere", "topics").write_text("third")
    assert Path(folder.published, "topics").read_text() == "second"
    with folder.replacing_tables() as tables:
        Path(tables, "topics").write_text("fourth")
    assert Path(folder.published, "topics").read_text() == "fourth"
    assert len(list(tmp_path.glob("tables-*"))) == 2  # the former ones remain for queries that read them


def test_two_audits_at_once_are_refused(tmp_path: Path) -> None:
    folder = AuditFolder.create(tmp_path)
    with folder.locked(), pytest.raises(InvalidOptionError, match="another audit"), folder.locked():
        pass
    with folder.locked():
        pass


def test_all_pods_of_a_job_compare_with_the_topics_before_it(tmp_path: Path) -> None:
    folder = AuditFolder.create(tmp_path)
    assert folder.unreadable_before("first", lambda: {"a": 1}) == {"a"}
    assert folder.unreadable_before("first", lambda: {"a": 1, "b": 2}) == {"a"}  # a pod after the one that wrote tables
    assert folder.unreadable_before("second", lambda: {"a": 1, "b": 2}) == {"a", "b"}
