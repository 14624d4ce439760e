"""The narrator: what is echoed is what is run, and nothing that turned out otherwise is passed over."""

import io
import os
from pathlib import Path

import pytest

from demo.errors import DemoError
from demo.narrator import Narrator


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 100 columns, wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def told() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def narrator(told: io.StringIO) -> Narrator:
    narrator = Narrator(told)
    narrator.step("4. A step", "Why it is there.")
    return narrator


def test_a_command_is_echoed_as_typed_and_followed_by_its_output(
    narrator: Narrator, told: io.StringIO, tmp_path: Path
) -> None:
    result = narrator.run("pwd; echo $SHOWN >&2", tmp_path, {**os.environ, "SHOWN": "yes"})
    assert told.getvalue().endswith(f"$ pwd; echo $SHOWN >&2\n{tmp_path}\nyes\n")
    assert (result.output, result.status) == (f"{tmp_path}\nyes\n", 0)


def test_a_command_that_fails_ends_the_demo_with_the_step_and_the_command(narrator: Narrator, tmp_path: Path) -> None:
    with pytest.raises(DemoError, match=r"4\. A step: .* ended with 3: exit 3"):
        narrator.run("exit 3", tmp_path, os.environ)


def test_a_command_that_was_meant_to_fail_and_does_not_ends_the_demo(narrator: Narrator, tmp_path: Path) -> None:
    assert narrator.run("exit 1", tmp_path, os.environ, fails=True).status == 1
    with pytest.raises(DemoError, match="meant to fail and ended with 0"):
        narrator.run("true", tmp_path, os.environ, fails=True)
    endings = [narrator.run(f"exit {status}", tmp_path, os.environ, fails=None).status for status in (0, 1)]
    assert endings == [0, 1]


def test_a_command_without_an_end_ends_the_demo_and_is_ended_with_all_its_parts(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="no end after"):
        Narrator(io.StringIO(), patience=0.3).run("sleep 600 | cat", tmp_path, os.environ)


def test_long_output_is_cut_when_shown_and_whole_when_checked(
    narrator: Narrator, told: io.StringIO, tmp_path: Path
) -> None:
    result = narrator.run("seq 9", tmp_path, os.environ, most_lines=2)
    assert told.getvalue().endswith("1\n2\n... and 7 lines more\n")
    assert len(result.output.split()) == 9


def test_a_claim_that_does_not_hold_ends_the_demo_with_what_was_found(narrator: Narrator, told: io.StringIO) -> None:
    narrator.claim("one is one", holds=True)
    with pytest.raises(DemoError, match=r"4\. A step: it does not hold that one is two; found instead: 1"):
        narrator.claim("one is two", holds=False, instead=1)
    assert told.getvalue().endswith("✓ one is one\n✗ one is two\n")


def test_a_claim_may_come_true_later_and_ends_the_demo_if_it_never_does(narrator: Narrator) -> None:
    results = iter([[], [], ["event"]])
    narrator.claim_soon("an event comes", lambda: next(results))
    assert list(results) == []
    with pytest.raises(DemoError, match="an event comes"):
        narrator.claim_soon("an event comes", list, seconds=0)
