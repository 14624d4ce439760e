"""The project's images, built here by Docker.

`python -m testbed.images [NAME...]` builds them (no name: all) and prints their sizes. An image is an archive in the
cache, as long as its inputs do not change; layers are cached between builds. The settings by which this machine
reaches its registries are secrets of the build and are in no image. These are pip's own settings, the bundle of CAs,
and with TOPICSCHEMA_DEBIAN_MIRROR another mirror than deb.debian.org.
"""

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed import debian, docker, packages, paths
from testbed.build import alone
from testbed.docker import Docker, run_in
from testbed.errors import SourceMissingError, TestbedError
from testbed.instances import Instance
from testbed.paths import REPOSITORY
from testbed.progress import Progress

NAMES = ("operator", "validation", "spark")
_FOLDERS = {"spark": "validation"}
"""Folders of the images whose names are targets in another one's Dockerfile."""
VERSION = "0.1.0"
_SHARED = ("requirements", "operator/topicschema", "LICENSE", ".dockerignore")
_BASE = "python:3.11-slim-bookworm"
"""The base of the Dockerfiles."""
_PACKAGES = ("ca-certificates", "python3", "python3-venv")
_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
_JAVA_BUNDLE = Path("/etc/ssl/certs/java/cacerts")
_PIP_SETTINGS = ("index-url", "extra-index-url", "proxy", "timeout", "trusted-host")


@dataclass(frozen=True, slots=True)
class Image:
    """A built image: its name as pods give it, the archive, and its size and its base's in bytes, unpacked."""

    name: str
    archive: Path
    size: int
    base_size: int


def reference(name: str) -> str:
    """Return the image's name in a pod's spec."""
    return f"topicschema:{VERSION}" if name == "operator" else f"topicschema-{name}:{VERSION}"


def build(name: str, progress: Progress) -> Image:
    """Return the image of that name, built unless it exists. Raise SourceMissingError if it cannot be built."""
    folder = paths.cache() / "images"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{name}-{image_key(name)}.tar"
    recorded = archive.with_suffix(".sizes")
    if not recorded.exists():
        with alone(folder / ".lock", progress):
            if not recorded.exists():
                _build(name, archive, progress)
    size, base_size = map(int, recorded.read_text(encoding="ascii").split())
    return Image(reference(name), archive, size, base_size)


def _build(name: str, archive: Path, progress: Progress) -> None:
    started, tag = time.monotonic(), reference(name)
    progress.write(f"building the image {tag}")
    instance = Instance.owned()
    try:
        engine = docker.start(instance, progress)
        base = _base(engine, progress)
        place = ("--file", _folder(name) / "Dockerfile", "--target", name, "--tag", tag, REPOSITORY)
        secrets = _secrets(archive.parent)
        engine.run("build", "--network=host", "--build-arg", f"BASE={base}", *secrets, *place, seconds=3600)
        fresh = archive.with_suffix(".fresh")
        engine.run("save", "--output", fresh, tag)
        fresh.replace(archive)
        sizes = (engine.run("image", "inspect", "--format", "{{.Size}}", each).strip() for each in (tag, base))
        paths.write_atomically(archive.with_suffix(".sizes"), " ".join(sizes))
        engine.run("rmi", tag)  # the layers stay, in the builder's cache
    finally:
        instance.end()
    _remove_older(archive, name)
    progress.write(f"  built in {time.monotonic() - started:.0f} s")


def _remove_older(archive: Path, name: str) -> None:
    """Remove all archives but the last two: another process may be loading the previous one."""
    archives = sorted(archive.parent.glob(f"{name}-*.tar"), key=lambda file: file.stat().st_mtime)
    for old in archives[:-2]:
        for file in archive.parent.glob(f"{old.stem}.*"):
            file.unlink(missing_ok=True)


def image_key(name: str) -> str:
    """Return 16 hex digits that change with the inputs of the image."""
    digest = hashlib.sha256()
    for top in (_folder(name), *(REPOSITORY / each for each in _SHARED)):
        for file in _files(top):
            digest.update(f"{file.relative_to(REPOSITORY)}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _folder(name: str) -> Path:
    return REPOSITORY / "images" / _FOLDERS.get(name, name)


def _files(top: Path) -> Iterator[Path]:
    if top.is_file():
        yield top
        return
    for file in sorted(top.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file


def _base(engine: Docker, progress: Progress) -> str:
    """Return the name of the image to build on, which Docker has: the Dockerfiles' own, else one made of packages."""
    recipe = repr((debian.SUITE, _PACKAGES, debian.LEFT_OUT))
    own = f"topicschema-base:{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    if engine.has_image(own):
        return own
    if engine.has_image(_BASE) or engine.pull(_BASE, progress):
        return _BASE
    if lacking := packages.supply(packages.DEBIAN, progress):
        raise SourceMissingError(f"{_BASE} cannot be pulled, and another base takes {packages.install(lacking)}")
    progress.write(f"{_BASE} cannot be pulled: making the base of the images from Debian's packages")
    with tempfile.TemporaryDirectory(dir=paths.cache()) as folder:
        archive = Path(folder, "base.tar")
        debian.write(archive, _PACKAGES)
        engine.run("import", "--change", "ENV LANG=C.UTF-8", "--change", 'CMD ["python3"]', archive, own)
    return own


def _secrets(folder: Path) -> list[str]:
    """Return the files for fetching packages on this machine, as secrets of a build."""
    settings = folder / "pip.conf"
    settings.write_text("".join(f"{line}\n" for line in _pip_settings()), encoding="utf-8")
    files = {"pip.conf": settings}
    if _BUNDLE.exists():
        files["ca.pem"] = _BUNDLE
    if _JAVA_BUNDLE.exists():
        files["cacerts"] = _JAVA_BUNDLE
    if debian.mirror() != debian.DEFAULT_MIRROR:
        files["sources.list"] = folder / "sources.list"
        files["sources.list"].write_text(f"deb {debian.mirror()} {debian.SUITE} main\n", encoding="utf-8")
    return [f"--secret=id={name},src={file}" for name, file in files.items()]


def _pip_settings() -> Iterator[str]:
    yield "[global]"
    if _BUNDLE.exists():
        yield f"cert = {_BUNDLE}"
    for line in run_in({}, sys.executable, "-m", "pip", "config", "list").splitlines():
        key, _, value = line.partition("=")
        if (setting := key.rpartition(".")[2]) in _PIP_SETTINGS:
            yield f"{setting} = {value.strip(chr(39))}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the named images, or all, and print their sizes."""
    parser = argparse.ArgumentParser("testbed.images", description="Build the project's images.")
    parser.add_argument("names", nargs="*", choices=[[], *NAMES])
    try:
        for name in parser.parse_args(arguments).names or NAMES:
            image = build(name, Progress())
            beyond = f", {(image.size - image.base_size) / 1e6:.0f} MB of it beyond its base" if image.base_size else ""
            print(f"{image.name}: {image.size / 1e6:.0f} MB{beyond}: {image.archive}")
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
