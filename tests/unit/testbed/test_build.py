"""Programs are built once for each content of their sources."""

import io
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.build import Recipe, build
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


def test_the_key_changes_with_everything_that_goes_into_the_programs(recipe: Recipe) -> None:
    keys = [recipe.key, replace(recipe, linker_flags="-w").key, replace(recipe, programs={"one": "example/one"}).key]
    for part in ("go.mod", "go.sum"):
        file = recipe.module / part
        file.write_text(file.read_text(encoding="utf-8") + "// changed\n", encoding="utf-8")
        keys.append(recipe.key)

    assert len(set(keys)) == 5


def test_a_build_killed_half_way_goes_on_where_it_was(recipe: Recipe) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED_BUILDER, recipe.module], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert recipe.missing() == ["two"]
    built: list[str] = []

    def compile_one(package: str, target: Path, _: Progress) -> None:
        built.append(package)
        target.touch()

    build(recipe, Progress(io.StringIO()), compile_one)

    assert built == ["example/two"]
    assert sorted(path.name for path in recipe.folder.iterdir()) == ["one", "two"]
