"""A test run on a machine that cannot have a cluster."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_TIER = "tests/cluster/test_testbed.py"


def _run(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The cluster tier's own tests where there is no Go, and no package can be fetched."""
    kept = {key: os.environ[key] for key in ("HOME", "LANG") if key in os.environ}
    nothing = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "UV_OFFLINE": "1", "UV_NO_CACHE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", _TIER],
        cwd=_ROOT,
        env={**kept, **nothing, "PIP_NO_INDEX": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_cluster_every_test_of_the_tier_is_skipped_and_counted_with_the_reason(tmp_path: Path) -> None:
    told = _run(tmp_path)

    assert told.returncode == 0, told.stdout
    assert re.search(r"^[1-9]\d* skipped in", told.stdout, re.MULTILINE)  # and nothing passed
    assert "no cluster: no Go toolchain" in told.stdout


def test_in_ci_a_missing_cluster_is_a_failure(tmp_path: Path) -> None:
    told = _run(tmp_path, CI="true")

    assert told.returncode == pytest.ExitCode.USAGE_ERROR
    assert "the cluster tier cannot run: no Go toolchain" in told.stdout + told.stderr
