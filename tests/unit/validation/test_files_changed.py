"""A file that is not the one that was planned any more gives no verdict, also where it is as large as it was."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from support.validation import order_files
from topicschema.validation.errors import SourceError
from topicschema.validation.request import FileSource
from topicschema.validation.run.batches import MAX_MESSAGES
from topicschema.validation.sources import Split
from topicschema.validation.sources.files.source import FileMessages


def _part(split: Split, changed: int | None) -> Split:
    """The split, of a file that was changed last at that time."""
    return replace(split, what=replace(split.what, file=replace(split.what.file, changed=changed)))


def test_a_file_that_was_written_anew_as_large_as_before_is_told_before_it_is_read_and_after(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_bytes(b'{"value": 1}\n' * MAX_MESSAGES * 2)
    source = FileMessages(FileSource((str(path),)))
    (split,) = source.plan().splits
    reading = source.read(split)
    next(reading)
    later = path.stat().st_mtime_ns + 2_000_000_000
    path.write_bytes(path.read_bytes().replace(b"1", b"2"))
    os.utime(path, ns=(later, later))  # what is told in whole seconds is not compared more exactly
    with pytest.raises(SourceError, match=r"orders\.jsonl: the file has changed since the run began"):
        list(reading)
    with pytest.raises(SourceError, match=r"orders\.jsonl: the file has changed since the run began"):
        next(source.read(split))


@pytest.mark.parametrize("changed", [None, 0])
def test_a_file_of_a_store_that_does_not_tell_when_it_was_changed_is_read(tmp_path: Path, changed: int | None) -> None:
    path = order_files.write(order_files.orders(10), tmp_path / "orders.parquet")
    source = FileMessages(FileSource((str(path),)))
    (split,) = source.plan().splits
    assert sum(map(len, source.read(_part(split, changed)))) == 10
    with pytest.raises(SourceError, match="has changed"):
        list(source.read(_part(split, 1)))
