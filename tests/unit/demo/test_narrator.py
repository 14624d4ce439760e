"""The narrator: it prints the commands that it runs, and an unexpected result ends the demo."""

import io
import os
from pathlib import Path

import pytest

from demo.errors import DemoError
from demo.narrator import Narrator


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a terminal of 100 columns."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def narrator(stream: io.StringIO) -> Narrator:
    narrator = Narrator(stream)
    narrator.step("4. A step", "Why it is there.")
    return narrator


def test_a_command_is_printed_as_run_with_its_output(narrator: Narrator, stream: io.StringIO, tmp_path: Path) -> None:
    result = narrator.run("pwd; echo $SHOWN >&2", tmp_path, {**os.environ, "SHOWN": "yes"})
    assert stream.getvalue().endswith(f"$ pwd; echo $SHOWN >&2\n{tmp_path}\nyes\n")
    assert (result.output, result.status) == (f"{tmp_path}\nyes\n", 0)


def test_a_command_that_fails_ends_the_demo_with_the_step_and_the_command(narrator: Narrator, tmp_path: Path) -> None:
    with pytest.raises(DemoError, match=r"4\. A step: .* ended with 3: exit 3"):
        narrator.run("exit 3", tmp_path, os.environ)


def test_a_command_that_succeeds_unexpectedly_ends_the_demo(narrator: Narrator, tmp_path: Path) -> None:
    assert narrator.run("exit 1", tmp_path, os.environ, fails=True).status == 1
    with pytest.raises(DemoError, match="expected to fail and ended with 0"):
        narrator.run("true", tmp_path, os.environ, fails=True)
    endings = [narrator.run(f"exit {status}", tmp_path, os.environ, fails=None).status for status in (0, 1)]
    assert endings == [0, 1]


def test_a_command_that_does_not_end_is_killed_with_its_children_and_ends_the_demo(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="no end after"):
        Narrator(io.StringIO(), timeout=0.3).run("sleep 600 | cat", tmp_path, os.environ)


def test_long_output_is_truncated_in_print_but_not_in_the_result(
    narrator: Narrator, stream: io.StringIO, tmp_path: Path
) -> None:
    result = narrator.run("seq 9", tmp_path, os.environ, most_lines=2)
    assert stream.getvalue().endswith("1\n2\n... and 7 lines more\n")
    assert len(result.output.split()) == 9


def test_a_claim_that_does_not_hold_ends_the_demo_with_the_actual_value(
    narrator: Narrator, stream: io.StringIO
) -> None:
    narrator.claim("one is one", holds=True)
    with pytest.raises(DemoError, match=r"4\. A step: it does not hold that one is two; actually: 1"):
        narrator.claim("one is two", holds=False, instead=1)
    assert stream.getvalue().endswith("✓ one is one\n✗ one is two\n")


def test_a_claim_may_become_true_later_and_ends_the_demo_if_it_does_not(narrator: Narrator) -> None:
    results = iter([[], [], ["event"]])
    narrator.claim_soon("an event comes", lambda: next(results))
    assert list(results) == []
    with pytest.raises(DemoError, match="an event comes"):
        narrator.claim_soon("an event comes", list, seconds=0)
