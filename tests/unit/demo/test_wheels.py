"""Fetching released wheels through pip, and taking files out of them: with wheels made here, and no package index."""

import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from demo import wheels
from demo.errors import DemoError
from demo.wheels import Release
from testbed.progress import Progress

_TEXT = '{"type": "string"}\n'


def make_wheel(folder: Path, number: str, files: dict[str, str]) -> Path:
    """Write a wheel of the project `tiny` that pip accepts."""
    information = f"tiny-{number}.dist-info"
    metadata = {
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: tiny\nVersion: {number}\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{information}/RECORD": "",
    }
    wheel = folder / f"tiny-{number}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**files, **metadata}.items():
            archive.writestr(name, text)
    return wheel


def release_of(wheel: Path, number: str) -> Release:
    return Release("tiny", number, hashlib.sha256(wheel.read_bytes()).hexdigest())


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is pip's only source of packages."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.mark.parametrize(
    ("files", "times"), [({}, 0), ({"a/Event.avsc": _TEXT, "b/Event.avsc": _TEXT}, 2)], ids=["none", "two"]
)
def test_a_file_that_is_not_there_exactly_once_is_refused(tmp_path: Path, files: dict[str, str], times: int) -> None:
    wheel = make_wheel(tmp_path, "1.0", files)
    with pytest.raises(DemoError, match=f"holds Event.avsc {times} times"):
        wheels.extract(wheel, "Event.avsc")


def test_releases_are_fetched_through_pip_with_progress_and_fetched_once(index: Path, tmp_path: Path) -> None:
    releases = tuple(release_of(make_wheel(index, number, {}), number) for number in ("1.0", "1.1"))
    progress = io.StringIO()
    wheel_of = wheels.fetch(releases, Progress(progress), tmp_path / "cache")
    assert [wheel.read_bytes()[:2] for wheel in wheel_of.values()] == [b"PK", b"PK"]
    assert progress.getvalue().splitlines() == ["fetching tiny==1.0 (1 of 2)", "fetching tiny==1.1 (2 of 2)"]
    for wheel in index.iterdir():
        wheel.unlink()  # nothing can be fetched any more
    assert wheels.fetch(releases, Progress(progress), tmp_path / "cache") == wheel_of


def test_a_broken_wheel_in_the_cache_is_fetched_again(index: Path, tmp_path: Path) -> None:
    release = release_of(make_wheel(index, "1.0", {"tiny/Event.avsc": _TEXT}), "1.0")
    wheel = wheels.fetch((release,), Progress(io.StringIO()), tmp_path)[release]
    wheel.write_bytes(wheel.read_bytes()[:50])
    wheels.fetch((release,), Progress(io.StringIO()), tmp_path)
    assert wheels.extract(wheel, "Event.avsc") == _TEXT


def test_a_wheel_with_another_hash_is_refused_and_leaves_nothing_behind(index: Path, tmp_path: Path) -> None:
    make_wheel(index, "1.0", {})
    cache = tmp_path / "cache"
    with pytest.raises(DemoError, match=r"pip could not fetch tiny==1\.0"):
        wheels.fetch((Release("tiny", "1.0", "0" * 64),), Progress(io.StringIO()), cache)
    assert list(cache.iterdir()) == []
