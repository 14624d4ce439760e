"""The progress bar of `topicschema validate-messages`: only on a terminal, and removed in the end."""

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
    """Return standard output, exit code, and all that a terminal of that width receives as standard error."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(command(*files), cwd=here, stdout=subprocess.PIPE, stderr=its, text=True) as process:
        os.close(its)
        received = b""
        while chunk := read(ours):
            received += chunk
        os.close(ours)
        printed, _ = process.communicate()
    return printed, process.returncode, received.decode()


def read(terminal: int) -> bytes:
    """Return the next bytes; none after the other side was closed, which Linux reports as an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


def screen(received: str, columns: int = 80) -> list[str]:
    """Return the lines on the terminal after it received the text."""
    rows, at = [""], 0
    for part in re.findall(r"\r|\n|\x1b\[K|[^\r\n\x1b]", received):
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
def test_a_terminal_shows_the_progress_of_a_run_and_in_the_end_nothing(here: Path, columns: int) -> None:
    printed, status, received = on_a_terminal(here, "0.parquet", "1.parquet", "2.parquet", columns=columns)
    assert status == 1
    assert printed.startswith("3,000 messages judged, ")
    assert "\x1b" not in printed
    shares = [int(share) for _, share in BAR.findall(received)] if columns == 80 else []
    assert shares == sorted(shares)
    assert columns < 80 or (shares[0], shares[-1]) == (0, 100)
    assert received.endswith("\r\x1b[K")
    assert screen(received, columns) == []


def test_other_outputs_have_no_bar_and_the_same_text(here: Path) -> None:
    printed, status, _ = on_a_terminal(here, "0.parquet")
    done = subprocess.run(command("0.parquet"), cwd=here, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (status, "", printed)


def test_after_a_run_that_failed_the_terminal_shows_only_the_reason(here: Path) -> None:
    printed, status, received = on_a_terminal(here, "cut.json", columns=200)
    assert (printed, status) == ("", 3)
    assert BAR.search(received)
    (left,) = screen(received, 200)
    assert left == "topicschema validate-messages: the run failed: cut.json, the line at byte 44985: it is not JSON"
