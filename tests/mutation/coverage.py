"""Which tests run which lines of `core`: found once, by running them all with a trace."""

import json
import os
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from mutation.runs import CORE, TESTS

_IMPORTS: Final = ""


class Recorder:
    """A plug-in for pytest: lines by file, and for each the tests that ran it; the seconds that each test took."""

    def __init__(self, root: Path) -> None:
        self._prefix = str(root / CORE)
        self._now = _IMPORTS
        self.lines: defaultdict[str, set[str]] = defaultdict(set)
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        """What `sys.settrace` calls; inside core it notes every line."""
        if event == "call" and not frame.f_code.co_filename.startswith(self._prefix):
            return None
        self.lines[f"{frame.f_code.co_filename.removeprefix(self._prefix + '/')}:{frame.f_lineno}"].add(self._now)
        return self.trace

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        """The lines of this test are its function's: parameters are not told apart."""
        self._now = item.nodeid.partition("[")[0]
        began = time.perf_counter()
        sys.settrace(self.trace)
        yield
        sys.settrace(None)
        self.seconds[self._now] += time.perf_counter() - began
        self._now = _IMPORTS

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails without any mutant says nothing of one."""
        if report.failed:
            self.failed.add(report.nodeid.partition("[")[0])


def main(root: Path, results: Path) -> None:
    """Runs the tests and writes what they run."""
    recorder = Recorder(root)
    os.chdir(root)
    sys.settrace(recorder.trace)
    threading.settrace(recorder.trace)
    pytest.main(["-q", "-p", "no:cacheprovider", "--timeout=0", "--no-header", *TESTS], plugins=[recorder])
    sys.settrace(None)
    lines = {line: sorted(tests - {_IMPORTS} - recorder.failed) for line, tests in recorder.lines.items()}
    results.write_text(json.dumps({"lines": lines, "seconds": recorder.seconds}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
