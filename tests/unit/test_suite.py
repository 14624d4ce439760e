"""The runner of all tiers, on small suites of its own."""

import re
from pathlib import Path

import pytest

from suite.__main__ import run
from suite.tiers import FULL, SAMPLE, Tier

_GOOD = "def test_good(): pass\n"
_BAD = "def test_bad(): assert 1 == 2\n"
_ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def plain_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the options of this run from the runs that it starts."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)


def _tier(name: str, root: Path, content: str) -> Tier:
    (root / f"test_{name}.py").write_text(content)
    return Tier(name, "", f"test_{name}.py", ("-p", "no:cacheprovider"))


def _output(root: Path, capfd: pytest.CaptureFixture[str], **contents: str) -> tuple[bool, str]:
    """Run the tiers side by side, each of one file; return the success and the output."""
    (root / "pytest.ini").write_text("[pytest]\n")
    stage = tuple((_tier(name, root, content),) for name, content in contents.items())
    is_good = run((stage,), root, root / "logs")
    return is_good, capfd.readouterr().out


def test_a_good_run_prints_one_line_a_tier_and_the_sums(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    is_good, output = _output(tmp_path, capfd, first=_GOOD, second=_GOOD)
    lines = output.splitlines()
    assert is_good
    assert {re.sub(r" +", " ", re.sub(r"\d+ s$", "", line)).strip() for line in lines[:2]} == {
        "first 1 passed",
        "second 1 passed",
    }
    assert lines[3:] == ["2 passed, 0 failed, 0 skipped"]


def test_a_failure_is_shown_with_its_reason(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    is_good, output = _output(tmp_path, capfd, first=_GOOD, second=_BAD + _GOOD)
    assert not is_good
    assert "assert 1 == 2" in output
    assert output.splitlines()[-1] == "2 passed, 1 failed, 0 skipped"


def test_a_tier_that_cannot_even_begin_is_a_failure(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    is_good, output = _output(tmp_path, capfd, first="raise RuntimeError('no beginning')\n")
    assert not is_good
    assert "no beginning" in output
    assert "FAILED" in output.splitlines()[0]


def test_no_tests_at_all_are_a_failure(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    is_good, output = _output(tmp_path, capfd, first="")
    assert not is_good
    assert "no test ran" in output


def test_a_tier_that_the_machine_cannot_run_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "conftest.py").write_text(
        "def pytest_collection_finish(session):\n    session.items[:] = []\n\n"
        "def pytest_terminal_summary(terminalreporter):\n"
        "    terminalreporter.write_line('first tier skipped, 1 tests: no java on the PATH')\n"
    )
    is_good, output = _output(tmp_path, capfd, first=_GOOD)
    assert is_good
    assert output.splitlines()[0].split() == ["first", "skipped:", "no", "java", "on", "the", "PATH"]


def test_every_tier_but_unit_is_a_marker_and_its_tests_are_in_its_folder(pytestconfig: pytest.Config) -> None:
    known = {tier.name: tier for stage in FULL for sequence in stage for tier in sequence}
    markers = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert set(known) - {"unit"} <= markers
    for path in (_ROOT / "tests").rglob("test_*.py"):
        marks = set(re.findall(r"pytest\.mark\.(\w+)", path.read_text())) & set(known)
        assert not marks or any(path.is_relative_to(_ROOT / known[name].folder) for name in marks), path


def test_a_sample_has_all_tiers_but_e2e() -> None:
    names = {tier.name for stage in FULL for sequence in stage for tier in sequence}
    assert {tier.name for stage in SAMPLE for sequence in stage for tier in sequence} == names - {"e2e"}
