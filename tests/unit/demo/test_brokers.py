"""The demo's steps with a real broker, on a machine without one."""

import io
from pathlib import Path

import pytest

from demo import brokers
from demo.narrator import Narrator
from demo.stage import Stage
from testbed.cluster import Cluster


def test_without_java_the_steps_are_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PULSAR_ADMIN_URL", "PULSAR_SERVICE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    reason = brokers.why_absent()
    assert reason is not None
    stream = io.StringIO()
    brokers.skip(Stage(Narrator(stream), Cluster(Path("kubeconfig"), Path("kubectl")), Path()), reason)
    assert "Steps 11 to 15 are skipped" in stream.getvalue()
    assert "there is no JDK or no Maven" in " ".join(stream.getvalue().split())
