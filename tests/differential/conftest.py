"""The tier runs where a JDK and Maven are; elsewhere its tests are skipped with the reason, but not in CI."""

import os

import pytest

from differential import seeds
from testbed import maven


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    wanted = [item for item in items if item.get_closest_marker("differential") is not None]
    reason = maven.why_absent() if wanted else None
    if reason is None:
        return
    if os.environ.get("CI") == "true":
        raise pytest.UsageError(f"the differential tier cannot run: {reason}")
    for item in wanted:
        item.add_marker(pytest.mark.skip(reason=f"differential tier: {reason}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    pairs = f"{seeds.PAIRS} pairs each of the seeds {seeds.FIXED!r} and {seeds.FRESH!r}"
    terminalreporter.write_line(f"differential tier: {pairs} (TOPICSCHEMA_SEED={seeds.FRESH} repeats the run)")
