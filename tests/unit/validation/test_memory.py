"""The memory of a run does not depend on how many messages there are."""

import subprocess
import sys
from pathlib import Path

from support.validation import order_files

FEW, MANY = 20_000, 200_000
ORDERS = order_files.orders(FEW, note=2_000)
"""About 10 MiB: half of them have notes of 1 kB."""
MORE = 64 << 20
"""The difference between a full and a nearly full batch, and the allocator's reserve: the rest is 90 MiB."""
RUN = """
import sys
from support import memory
from topicschema.__main__ import main

assert main(sys.argv[1:]) == 1
print(memory.peak())
"""


def peak(folder: Path, count: int) -> int:
    """Return the peak memory in bytes of one process for that number of messages."""
    folder.mkdir()
    paths = [order_files.write(ORDERS, folder / f"{number}.parquet") for number in range(count // FEW)]
    (folder / "v2.avsc").write_bytes(order_files.CANDIDATE.schema)
    arguments = ("validate-messages", "--schema", str(folder / "v2.avsc"), "--processes", "1", *map(str, paths))
    done = subprocess.run([sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1])


def test_ten_times_the_messages_need_no_more_memory(tmp_path: Path) -> None:
    few, many = (peak(tmp_path / str(count), count) for count in (FEW, MANY))
    assert few > 50 << 20
    assert many < few + MORE
