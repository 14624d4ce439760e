"""A test run on a machine that can have neither a cluster nor a broker."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_TIERS = pytest.mark.parametrize(
    ("tests", "what", "reason"),
    [
        ("tests/cluster/test_testbed.py", "cluster", "no Go toolchain"),
        ("tests/broker/test_facts_deletion.py", "broker", "no java and no mvn on the path"),
    ],
    ids=["cluster", "broker"],
)


def _run(tests: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Tests of a tier where no program can be found, and no package be fetched."""
    kept = {key: os.environ[key] for key in ("HOME", "LANG") if key in os.environ}
    nothing = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "UV_OFFLINE": "1", "UV_NO_CACHE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests],
        cwd=_ROOT,
        env={**kept, **nothing, "PIP_NO_INDEX": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@_TIERS
def test_a_tier_that_cannot_run_is_skipped_with_one_line_and_nothing_passes(
    tests: str, what: str, reason: str, tmp_path: Path
) -> None:
    done = _run(tests, tmp_path)

    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, done.stdout
    assert len(re.findall(rf"^{what} tier skipped, [1-9]\d* tests: .*{reason}", done.stdout, re.MULTILINE)) == 1
    assert done.stdout.count(reason) == 1


@_TIERS
def test_in_ci_a_tier_that_cannot_run_is_a_failure(tests: str, what: str, reason: str, tmp_path: Path) -> None:
    done = _run(tests, tmp_path, CI="true")

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"the {what} tier cannot run: {reason}" in done.stdout + done.stderr
