"""The command: one demo at a time, and an end that may be requested twice."""

import subprocess
import sys
from pathlib import Path

import pytest

from demo.__main__ import alone, main
from demo.errors import DemoError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a cache of this test, in which no demo runs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_only_one_demo_runs_at_a_time() -> None:
    with alone():
        with pytest.raises(DemoError, match="another demo is running"), alone():
            pass
        assert main([]) == 1
    with alone():
        pass  # the first has released the lock


def test_a_killed_demo_leaves_no_lock_behind() -> None:
    script = "import os, demo.__main__ as m\nwith m.alone(): os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    with alone():
        pass


def test_ending_what_does_not_run_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down"]) == 0
    assert capsys.readouterr().out == "no demo is running\n"
