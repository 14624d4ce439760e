"""The demo's steps before a real broker, where there is none."""

import io
from pathlib import Path

import pytest

from demo import brokers
from demo.narrator import Narrator
from demo.stage import Stage
from testbed.cluster import Cluster


def test_without_java_the_steps_say_that_they_are_skipped_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PULSAR_ADMIN_URL", "PULSAR_SERVICE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    reason = brokers.why_absent()
    assert reason is not None
    told = io.StringIO()
    brokers.skip(Stage(Narrator(told), Cluster(Path("kubeconfig"), Path("kubectl")), Path()), reason)
    assert "Steps 10 to 13 are skipped" in told.getvalue()
    assert "there is no JDK or no Maven" in " ".join(told.getvalue().split())
