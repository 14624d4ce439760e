"""A test run on a machine that can have neither a cluster nor a broker."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_TIERS = {
    "cluster": ("tests/cluster/test_events.py", "no Go toolchain"),
    "broker": ("tests/broker/test_facts_deletion.py", "there is no JDK or no Maven"),
}


def _run(*tests: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run tests of a tier on a machine without programs and package indexes."""
    inherited = {key: os.environ[key] for key in ("HOME", "LANG", "PYTHONPATH") if key in os.environ}
    nothing = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "UV_OFFLINE": "1", "UV_NO_CACHE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=_ROOT,
        env={**inherited, **nothing, "PIP_NO_INDEX": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_tiers_that_cannot_run_are_skipped_with_one_line_each_and_nothing_passes(tmp_path: Path) -> None:
    done = _run(*(tests for tests, _ in _TIERS.values()), tmp_path=tmp_path)

    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, done.stdout
    for what, (_, reason) in _TIERS.items():
        assert len(re.findall(rf"^{what} tier skipped, [1-9]\d* tests: .*{reason}", done.stdout, re.MULTILINE)) == 1
        assert done.stdout.count(reason) == 1


@pytest.mark.parametrize("what", _TIERS)
def test_in_ci_a_tier_that_cannot_run_is_a_failure(what: str, tmp_path: Path) -> None:
    tests, reason = _TIERS[what]
    done = _run(tests, tmp_path=tmp_path, CI="true")

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"the {what} tier cannot run: {reason}" in done.stdout + done.stderr
