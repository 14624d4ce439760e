"""What stands beside the payloads in files: a column that is asked for, or that counts, is there or it is told."""

import json
from pathlib import Path

import pytest

from support.validation import order_files
from topicschema.validation.errors import SourceError
from topicschema.validation.request import Columns, FileSource
from topicschema.validation.sources.files.source import FileMessages

ORDERS = order_files.orders(10)


def test_pairs_with_keys_apart_are_not_judged_without_their_keys(tmp_path: Path) -> None:
    stored, lines = order_files.write(ORDERS, tmp_path / "orders.parquet"), tmp_path / "orders.jsonl"
    lines.write_text(json.dumps({"value": "{}", "Key": "a"}) + "\n")
    for path, told in ((stored, "no column 'key'"), (lines, "none of its first lines has a member 'key'")):
        with pytest.raises(SourceError, match=told):
            FileMessages(FileSource((str(path),)), has_keys=True).plan()
        assert FileMessages(FileSource((str(path),))).plan().splits
    with pytest.raises(SourceError, match="a member 'orderKey'"):
        FileMessages(FileSource((str(lines),), columns=Columns(key="orderKey"))).plan()
    named = FileMessages(FileSource((str(lines),), columns=Columns(key="Key")), has_keys=True)
    (batch,) = named.read(named.plan().splits[0])
    assert batch["key"].to_pylist() == [b"a"]
    first = json.dumps({"value": "x" * 100_000, "key": "a"}) + "\n"
    for text in (json.dumps({"value": "{}", "key_base64": "AP8="}) + "\n", first, first * 3):
        lines.write_text(text)
        assert FileMessages(FileSource((str(lines),)), has_keys=True).plan().splits
    lines.write_text('{"value": "{}", "schlüssel": "a"}')
    assert FileMessages(FileSource((str(lines),), columns=Columns(key="schlüssel")), has_keys=True).plan().splits
