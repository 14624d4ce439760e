"""Programs that run before the locked dependencies are installed."""

import subprocess
import sys

import pytest

from testbed.paths import REPOSITORY


@pytest.mark.parametrize("module", ["demo.quickstart", "demo.ahead"])
def test_it_needs_the_standard_library_alone(module: str) -> None:
    program = f"import sys; sys.path.insert(0, 'tests'); import {module}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
