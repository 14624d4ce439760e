"""A copy of the tree, in which mutants are tried one after the other; the checkout itself is never touched."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Final

from mutation.mutants import Mutant, mutants

CORE: Final = "operator/topicschema/core"
TESTS: Final = ("tests/unit/core", "tests/conformance", "tests/unit/cli/test_rules.py")
_COPIED: Final = ("operator", "tests", "docs", "pyproject.toml")
_STARTING: Final = 20.0  # seconds
_MOST_SECONDS: Final = 25.0  # of tests, by what they took with a trace
_SLOWER: Final = 4


class Outcome(StrEnum):
    """What became of a mutant. One that never ends, or that nothing can be imported with, is killed too."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Place:
    """A mutant and the file, below core, that it is in."""

    file: str
    mutant: Mutant

    @property
    def name(self) -> str:
        """What it is, for people and to know it again."""
        before, text = (" ".join(each.split())[:90] for each in (self.mutant.before, self.mutant.text))
        return f"{self.file}:{self.mutant.line}:{self.mutant.start}: {before}  ->  {text}"


class Tree:
    """The copy."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        for name in _COPIED:
            (shutil.copytree if (root / name).is_dir() else shutil.copy2)(root / name, folder / name)
        paths = os.pathsep.join(str(folder / each) for each in ("operator", "tests"))
        self._environment = {**os.environ, "PYTHONPATH": paths}
        self._writes = 0
        self._lines: dict[str, list[str]] = {}
        self._seconds: dict[str, float] = {}

    def sample(self, seed: int, count: int) -> list[Place]:
        """So many mutants of all, the same for the same seed and sources."""
        core = self.folder / CORE
        sources = sorted(core.rglob("*.py"))
        found = [
            Place(str(each.relative_to(core)), mutant) for each in sources for mutant in mutants(each.read_bytes())
        ]
        return Random(seed).sample(found, min(count, len(found)))  # noqa: S311 - chance for tests, to be repeated

    def learn(self, kept: Path) -> None:
        """Find out which tests run which lines; it is kept in the folder, for as long as nothing changes."""
        results = kept / f"coverage-{self._digest()}.json"
        if not results.exists():
            self._run(["-m", "mutation.coverage", str(self.folder), str(results)], None, check=True)
        known = json.loads(results.read_text())
        self._lines, self._seconds = known["lines"], known["seconds"]

    def _digest(self) -> str:
        sources = sorted(each for name in ("operator", "tests") for each in (self.folder / name).rglob("*.py"))
        return hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()[:12]

    def tried(self, place: Place) -> Outcome:
        """What the tests say to the mutant."""
        tests, seconds = self._chosen(place)
        if not tests:
            return Outcome.NOT_RUN
        file = self.folder / CORE / place.file
        source = file.read_bytes()
        try:
            self._write(file, place.mutant.applied(source))
            arguments = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--timeout=0", "--no-header", *tests]
            done = self._run(arguments, _STARTING + seconds * _SLOWER)
        except subprocess.TimeoutExpired:
            return Outcome.TIMED_OUT
        finally:
            self._write(file, source)
        return Outcome.KILLED if done.returncode else Outcome.SURVIVED

    def _write(self, file: Path, source: bytes) -> None:
        """Writes with a time of its own: by that, in seconds, Python knows what it compiled before."""
        self._writes += 1
        file.write_bytes(source)
        os.utime(file, (self._writes, self._writes))

    def _chosen(self, place: Place) -> tuple[list[str], float]:
        """The tests that run the line, fast ones first; for a line that is run on import, all that run its file."""
        own = set(self._lines.get(f"{place.file}:{place.mutant.line}", ()))
        beside = {test for line, tests in self._lines.items() if line.startswith(f"{place.file}:") for test in tests}
        chosen: list[str] = []
        seconds = 0.0
        for test in sorted(own or beside, key=lambda each: self._seconds[each]):
            seconds += self._seconds[test]
            if seconds > _MOST_SECONDS and chosen:
                break
            chosen.append(test)
        return chosen, seconds

    def _run(
        self, arguments: list[str], seconds: float | None, *, check: bool = False
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self._environment,
            timeout=seconds,
            capture_output=not check,
            check=check,
        )


def slices(places: list[Place], one: int, of: int) -> Iterator[Place]:
    """Every so many-th."""
    yield from places[one - 1 :: of]
