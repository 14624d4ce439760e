"""The narrator: what is echoed is what is run, and nothing that turned out otherwise is passed over."""

import io
import os
import re
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


def test_a_command_is_echoed_as_typed_and_followed_by_what_it_prints_on_both_streams(
    narrator: Narrator, told: io.StringIO, tmp_path: Path
) -> None:
    result = narrator.run("echo one; echo two >&2", tmp_path, os.environ)
    assert told.getvalue().endswith("$ echo one; echo two >&2\none\ntwo\n")
    assert (result.output, result.status) == ("one\ntwo\n", 0)


def test_a_command_runs_in_its_folder_and_environment(narrator: Narrator, tmp_path: Path) -> None:
    result = narrator.run("pwd; echo $SHOWN", tmp_path, {**os.environ, "SHOWN": "yes"})
    assert result.output.split() == [str(tmp_path), "yes"]


def test_a_command_that_fails_ends_the_demo_with_the_step_and_the_command(narrator: Narrator, tmp_path: Path) -> None:
    with pytest.raises(DemoError, match=r"4\. A step: .* ended with 3: exit 3"):
        narrator.run("exit 3", tmp_path, os.environ)


def test_a_command_that_was_meant_to_fail_and_does_not_ends_the_demo(narrator: Narrator, tmp_path: Path) -> None:
    assert narrator.run("exit 1", tmp_path, os.environ, fails=True).status == 1
    with pytest.raises(DemoError, match="meant to fail and ended with 0"):
        narrator.run("true", tmp_path, os.environ, fails=True)


def test_either_ending_is_well_where_the_step_says_so(narrator: Narrator, tmp_path: Path) -> None:
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


def test_a_claim_may_come_true_a_little_later(narrator: Narrator) -> None:
    looks = iter([[], [], ["event"]])
    narrator.claim_soon("an event comes", lambda: next(looks))
    assert list(looks) == []


def test_a_claim_that_never_comes_true_ends_the_demo(narrator: Narrator) -> None:
    with pytest.raises(DemoError, match="an event comes"):
        narrator.claim_soon("an event comes", list, seconds=0)


def test_nothing_is_coloured_off_a_terminal(narrator: Narrator, told: io.StringIO, tmp_path: Path) -> None:
    narrator.run("true", tmp_path, os.environ)
    narrator.claim("it is plain", holds=True)
    assert "\x1b" not in told.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colour_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured, plain = Terminal(), Terminal()
    Narrator(coloured).claim("it holds", holds=True)
    monkeypatch.setenv("NO_COLOR", "1")
    Narrator(plain).claim("it holds", holds=True)
    assert "\x1b[32m" in coloured.getvalue()
    assert "\x1b" not in plain.getvalue()


def test_a_table_breaks_its_last_column_below_itself(narrator: Narrator, told: io.StringIO) -> None:
    narrator.table(("release", "outcome"), [("1.0", "refused: " + "because " * 30), ("1.1", "accepted")])
    lines = told.getvalue().splitlines()[-4:]
    assert lines[0].startswith("1.0      refused: because")
    assert {line[:9] for line in lines[1:-1]} == {" " * 9}
    assert lines[-1] == "1.1      accepted"
    assert max(map(len, lines)) <= 120


def test_a_table_breaks_a_long_path_before_a_dot_and_leaves_its_names_whole(
    narrator: Narrator, told: io.StringIO
) -> None:
    narrator.table(("release", "outcome"), [("1.0", "refused at $" + ".fields[1].type[0]" * 12)])
    words = [line.strip() for line in told.getvalue().splitlines()[-2:]]
    assert all(re.fullmatch(r"(1\.0 +refused at \$)?(\.(fields|type)\[\d\])+", line) for line in words)
