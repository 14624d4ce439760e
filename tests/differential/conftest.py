"""The tier runs where a JDK and Maven are; elsewhere it is skipped, but not in CI."""

import pytest

from differential import seeds
from support import sizes, tiers
from testbed import maven


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    if any(item.get_closest_marker("differential") for item in session.items) and (reason := maven.why_absent()):
        tiers.skip(session, "differential", reason)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if sizes.IS_FULL:
        pairs = f"{seeds.PAIRS} pairs each of the seeds {seeds.FIXED!r} and {sizes.SEED!r}"
        terminalreporter.write_line(f"differential tier: {pairs} (TOPICSCHEMA_SEED={sizes.SEED} repeats the run)")
