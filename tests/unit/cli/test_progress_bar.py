"""The progress bar of `topicschema validate-messages`: on a terminal alone, and nothing of it stays."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from support.validation import order_files

ORDERS = order_files.orders(3_000)
BAR = re.compile(r"\[([#.]{30})\] +(\d+)% of about 3,000 messages")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("messages")
    for number in range(3):
        order_files.write(ORDERS[number * 1_000 : (number + 1) * 1_000], folder / f"{number}.parquet")
    (folder / "v2.avsc").write_bytes(order_files.CANDIDATE.schema)
    (folder / "cut.json").write_text('{"value": "a"}\n' * 2_999 + "{\n")
    return folder


def command(*files: str) -> list[str]:
    return [sys.executable, "-m", "topicschema", "validate-messages", "--schema", "v2.avsc", *files]


def on_a_terminal(here: Path, *files: str, columns: int = 80) -> tuple[str, int, str]:
    """What the command prints, how it ends, and all that a terminal of that width gets as its standard error."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(command(*files), cwd=here, stdout=subprocess.PIPE, stderr=its, text=True) as process:
        os.close(its)
        told = b""
        while chunk := read(ours):
            told += chunk
        os.close(ours)
        printed, _ = process.communicate()
    return printed, process.returncode, told.decode()


def read(terminal: int) -> bytes:
    """What comes next; nothing when no one has the other side any more, which Linux tells as an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


def screen(told: str, columns: int = 80) -> list[str]:
    """What is to be seen in the end of what a terminal got."""
    rows, at = [""], 0
    for part in re.findall(r"\r|\n|\x1b\[K|[^\r\n\x1b]", told):
        if part == "\r":
            at = 0
        elif part == "\x1b[K":
            rows[-1] = rows[-1][:at]
        elif part == "\n" or at == columns:
            rows, at = [*rows, part.strip("\n")], 0 if part == "\n" else 1
        else:
            rows[-1], at = rows[-1][:at] + part + rows[-1][at + 1 :], at + 1
    return [row.rstrip() for row in rows if row.strip()]


@pytest.mark.parametrize("columns", [80, 40])
def test_a_terminal_sees_how_far_a_run_is_and_in_the_end_nothing(here: Path, columns: int) -> None:
    printed, status, told = on_a_terminal(here, "0.parquet", "1.parquet", "2.parquet", columns=columns)
    assert status == 1
    assert printed.startswith("3,000 messages judged, ")
    assert "\x1b" not in printed
    shares = [int(share) for _, share in BAR.findall(told)] if columns == 80 else []
    assert shares == sorted(shares)
    assert columns < 80 or (shares[0], shares[-1]) == (0, 100)
    assert told.endswith("\r\x1b[K")
    assert screen(told, columns) == []


def test_what_is_not_a_terminal_gets_no_bar_and_the_same_words(here: Path) -> None:
    printed, status, _ = on_a_terminal(here, "0.parquet")
    done = subprocess.run(command("0.parquet"), cwd=here, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (status, "", printed)


def test_of_a_run_that_fails_the_terminal_keeps_the_reason_alone(here: Path) -> None:
    printed, status, told = on_a_terminal(here, "cut.json", columns=200)
    assert (printed, status) == ("", 3)
    assert BAR.search(told)
    (left,) = screen(told, 200)
    assert left == "topicschema validate-messages: the run failed: cut.json, the line at byte 44985: it is not JSON"
