"""Programs are built once per content of what they are built from."""

import io
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.build import Recipe, build
from testbed.errors import TestbedError
from testbed.progress import Progress

_KILLED_BUILDER = """
import os, signal, sys
from pathlib import Path
from testbed.build import Recipe, build
from testbed.progress import Progress

def compile_one(package, target, progress):
    target.write_text("whole")
    if package == "example/two":
        os.kill(os.getpid(), signal.SIGKILL)

module = Path(sys.argv[1])
build(Recipe("programs", module, {"one": "example/one", "two": "example/two"}, "-s"), Progress(), compile_one)
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    (tmp_path / "go.mod").write_text("module example\n\ngo 1.24\n", encoding="utf-8")
    (tmp_path / "go.sum").write_text("", encoding="utf-8")
    return Recipe("programs", tmp_path, {"one": "example/one", "two": "example/two"}, "-s")


class Compiler:
    """Stands where Go stands: writes the package's name into the target, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, package: str, target: Path, _progress: Progress) -> None:
        self.asked.append(package)
        target.write_text(package, encoding="utf-8")


@pytest.fixture
def quiet() -> Progress:
    return Progress(io.StringIO())


def test_the_key_changes_with_everything_that_goes_into_the_programs(recipe: Recipe) -> None:
    keys = [recipe.key, replace(recipe, linker_flags="-w").key, replace(recipe, programs={"one": "example/one"}).key]
    for part in ("go.mod", "go.sum"):
        file = recipe.module / part
        file.write_text(file.read_text(encoding="utf-8") + "// changed\n", encoding="utf-8")
        keys.append(recipe.key)

    assert len(set(keys)) == 5


def test_what_is_built_is_not_built_again(recipe: Recipe, quiet: Progress) -> None:
    compiler = Compiler()

    folder = build(recipe, quiet, compiler)
    assert build(recipe, quiet, compiler) == folder

    assert compiler.asked == ["example/one", "example/two"]
    assert (folder / "two").read_text(encoding="utf-8") == "example/two"


def test_another_go_mod_is_built_beside_and_the_old_programs_stay(recipe: Recipe, quiet: Progress) -> None:
    before = build(recipe, quiet, Compiler())
    (recipe.module / "go.mod").write_text("module example\n\ngo 1.25\n", encoding="utf-8")

    after = build(recipe, quiet, Compiler())

    assert after != before
    assert (before / "one").exists()


def test_a_build_killed_half_way_goes_on_where_it_was(recipe: Recipe, quiet: Progress) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED_BUILDER, recipe.module], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert recipe.missing() == ["two"]
    compiler = Compiler()

    build(recipe, quiet, compiler)

    assert compiler.asked == ["example/two"]
    assert sorted(path.name for path in recipe.folder.iterdir()) == ["one", "two"]


def test_of_two_builders_one_builds_and_the_other_waits(recipe: Recipe, quiet: Progress) -> None:
    first, second = Compiler(), Compiler()
    building = threading.Event()
    told = _Watched("waiting for it")

    def slow(package: str, target: Path, progress: Progress) -> None:
        building.set()
        assert told.seen.wait(60)
        first(package, target, progress)

    one = threading.Thread(target=build, args=(recipe, quiet, slow))
    one.start()
    assert building.wait(60)
    build(recipe, Progress(told), second)
    one.join()

    assert first.asked == ["example/one", "example/two"]
    assert second.asked == []


class _Watched(io.StringIO):
    """A stream that tells when a text was written to it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.seen = threading.Event()

    def write(self, written: str) -> int:
        if self.text in written:
            self.seen.set()
        return super().write(written)


def test_a_program_that_does_not_compile_is_told_with_the_compilers_words(
    recipe: Recipe, quiet: Progress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(
        '#!/bin/sh\n[ "$1" = env ] && echo go1.99.0 && exit\necho "cannot compile $1"\nexit 1\n', encoding="utf-8"
    )
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")

    with pytest.raises(TestbedError, match="cannot compile list"):
        build(recipe, quiet)

    assert recipe.missing() == ["one", "two"]


def test_a_person_sees_which_program_is_built_and_how_far_it_is(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    script = """#!/bin/sh
case $1 in
env) echo go1.99.0 ;;
list) echo one; echo two; echo three ;;
build) while [ "$1" != -o ]; do shift; done; echo one; echo two; touch "$2" ;;
esac
"""
    go.write_text(script, encoding="utf-8")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")
    terminal = _Terminal()

    build(recipe, Progress(terminal))

    assert "building two (2 of 2)" in terminal.getvalue()
    assert "example/two: 2 packages compiled, of at most 3" in terminal.getvalue()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True
