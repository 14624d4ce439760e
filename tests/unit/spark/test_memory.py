"""What a run has in memory does not hang on how many messages there are."""

import sys
from pathlib import Path

from benchmarks import peak_memory
from support.validation import order_files

FEW, MANY = 20_000, 200_000
ORDERS = order_files.orders(FEW, note=2_000)
"""About 10 MiB: half of them have notes of 1 kB."""
MORE = 48
"""MiB: what a batch that is full takes more than one that is nearly so, and what an allocator keeps."""


def test_ten_times_the_messages_ask_for_no_more_memory(tmp_path: Path) -> None:
    peaks = []
    for count in (FEW, MANY):
        folder = tmp_path / str(count)
        folder.mkdir()
        paths = [order_files.write(ORDERS, folder / f"{number}.parquet") for number in range(count // FEW)]
        (folder / "v2.avsc").write_bytes(order_files.CANDIDATE.schema)
        schema = ("--schema", str(folder / "v2.avsc"), "--processes", "1")
        command = [sys.executable, "-m", "topicschema", "validate-messages", *schema, *map(str, paths)]
        peaks.append(peak_memory.of_command(command, {1}))
    few, many = peaks
    assert few > 50
    assert many < few + MORE
