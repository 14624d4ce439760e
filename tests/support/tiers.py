"""Skipping of a tier that this machine cannot run: one line per tier in the summary, a failure in CI."""

import os

import pytest

_SKIPPED = pytest.StashKey[dict[str, str]]()


def skip(session: pytest.Session, tier: str, reason: str) -> None:
    """Deselect the tests that are marked with the tier's name and note the reason.

    Raises `pytest.UsageError` where CI=true: there every tier has to run.
    """
    if os.environ.get("CI") == "true":
        raise pytest.UsageError(f"the {tier} tier cannot run: {reason}")
    skipped = [item for item in session.items if item.get_closest_marker(tier)]
    if skipped:
        session.items[:] = [item for item in session.items if item not in skipped]
        session.config.hook.pytest_deselected(items=skipped)
        lines = session.config.stash.setdefault(_SKIPPED, {})
        lines[tier] = f"{tier} tier skipped, {len(skipped)} tests: {reason}"


def report(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each skipped tier."""
    for line in terminalreporter.config.stash.get(_SKIPPED, {}).values():
        terminalreporter.write_line(line)
