"""The project's images, built here: by Docker where it answers, else by buildah on a base made of Debian's packages.

`python -m testbed.images [NAME...]` builds them (no name: all) and tells their sizes. An image is an archive in the
cache, for as long as nothing changes that goes into it; layers are kept between builds. What this machine needs to
reach its registries comes in as secrets of the build and is in no image: pip's own settings, the bundle of CAs, and
with TOPICSCHEMA_DEBIAN_MIRROR another mirror than deb.debian.org. Docker is untested: written on a machine without one.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed import node_packages, paths, sources
from testbed.build import alone
from testbed.errors import SourceMissingError, TestbedError
from testbed.install import REPOSITORY
from testbed.progress import Progress

NAMES = ("operator", "validation")
VERSION = "0.1.0"
_SHARED = ("requirements", "operator/topicschema", "LICENSE", ".dockerignore")
_SUITE = "bookworm"
_DEBIAN = "http://deb.debian.org/debian"
_PACKAGES = ("ca-certificates", "python3", "python3-venv")
_COPIED = "product"  # a stage of each Dockerfile
_LEFT_OUT = ("doc", "man", "locale", "info")
_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
_PIP_SETTINGS = ("index-url", "extra-index-url", "proxy", "timeout", "trusted-host")


@dataclass(frozen=True, slots=True)
class Image:
    """A built image: its name as pods give it, the archive, and its size and its base's in bytes, unpacked."""

    name: str
    archive: Path
    size: int
    base_size: int


def why_absent() -> str | None:
    """Why this machine can build no image; None when it can."""
    if sources.docker_answers():
        return None
    if packages := node_packages.missing(node_packages.IMAGES):
        return f"no Docker answers, and images take packages ({node_packages.install(packages)})"
    return None if os.geteuid() == 0 else "no Docker answers, and only root builds without one"


def reference(name: str) -> str:
    """The image's name in a pod's spec."""
    return f"topicschema:{VERSION}" if name == "operator" else f"topicschema-{name}:{VERSION}"


def build(name: str, progress: Progress) -> Image:
    """The image of `images/NAME`, built unless it is there; SourceMissingError where none can be built."""
    reason = why_absent()
    if reason is not None:
        raise SourceMissingError(reason)
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
    started = time.monotonic()
    progress.say(f"building the image {reference(name)}")
    builder = _Docker() if sources.docker_answers() else _Buildah(archive.parent)
    sizes = builder.build(name, archive, progress)
    paths.write_atomically(archive.with_suffix(".sizes"), f"{sizes[0]} {sizes[1]}")
    _forget_others(archive, name)
    progress.say(f"  built in {time.monotonic() - started:.0f} s")


def _forget_others(archive: Path, name: str) -> None:
    """Remove the archives before the last one, which may be about to be loaded by somebody."""
    there = sorted(archive.parent.glob(f"{name}-*.tar"), key=lambda file: file.stat().st_mtime)
    for old in there[:-2]:
        for file in archive.parent.glob(f"{old.stem}.*"):
            file.unlink(missing_ok=True)


def image_key(name: str) -> str:
    """16 hex digits that change when anything does that goes into the image."""
    digest = hashlib.sha256()
    for top in (f"images/{name}", *_SHARED):
        for file in _files(REPOSITORY / top):
            digest.update(f"{file.relative_to(REPOSITORY)}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _files(top: Path) -> Iterator[Path]:
    if top.is_file():
        yield top
        return
    for file in sorted(top.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file


class _Buildah:
    """Without a daemon and without a registry of images: the base is made of packages.

    Its storage keeps the layers of the newest builds, and no others; who builds is alone with it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        places = ("--root", str(folder / "storage"), "--runroot", str(folder / "run"))
        self._command = ("buildah", *places, "--storage-driver", "overlay")

    def build(self, name: str, archive: Path, progress: Progress) -> tuple[int, int]:
        """Write the archive; the image's size and its base's."""
        _run(*self._command, "rm", "--all")  # of a build that was killed
        base, tag = self._base(progress), _tag(name)
        arguments = ["--isolation", "chroot", "--pull-never", "--layers", "--build-arg", f"BASE={base}"]
        arguments += _secrets(self._folder)
        _run(*self._command, "bud", *arguments, "--target", _COPIED, *_where(name, _tag_of_copied(name)))
        _run(*self._command, "bud", *arguments, *_where(name, tag))
        fresh = archive.with_suffix(".fresh")
        fresh.unlink(missing_ok=True)
        _run(*self._command, "push", "--quiet", tag, f"docker-archive:{fresh}:{tag}")
        fresh.replace(archive)
        self._forget_all_but({base, *(of(each) for each in NAMES for of in (_tag, _tag_of_copied))})
        return self._size(tag), self._size(base)

    def _forget_all_but(self, kept: set[str]) -> None:
        named = self._names()
        if named - kept:
            _run(*self._command, "rmi", *sorted(named - kept))
        _run(*self._command, "rmi", "--prune")

    def _names(self) -> set[str]:
        told = _run(*self._command, "images", "--format", "{{.Name}}:{{.Tag}}").split()
        return {name for name in told if "<none>" not in name}

    def _base(self, progress: Progress) -> str:
        recipe = repr((_SUITE, _PACKAGES, _LEFT_OUT))
        tag = f"localhost/topicschema-base:{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
        if tag in self._names():
            return tag
        progress.say("making the base of the images from Debian's packages")
        files = self._folder / "base.tar"
        options = [f"--dpkgopt=path-exclude=/usr/share/{left_out}/*" for left_out in _LEFT_OUT]
        sources_list = f'echo "deb {_DEBIAN} {_SUITE} main" > "$1/etc/apt/sources.list"'
        hook = f"--customize-hook={sources_list}"
        included = f"--include={','.join(_PACKAGES)}"
        _run("mmdebstrap", "--quiet", "--variant=minbase", included, *options, hook, _SUITE, str(files), _mirror())
        container = _run(*self._command, "from", "scratch").strip()
        _run(*self._command, "add", "--quiet", container, str(files), "/")
        _run(*self._command, "config", "--env", "LANG=C.UTF-8", "--cmd", "python3", container)
        _run(*self._command, "commit", "--quiet", "--rm", container, tag)
        files.unlink()
        return tag

    def _size(self, tag: str) -> int:
        mounted = _run(*self._command, "from", "--pull-never", tag).strip()
        try:
            place = _run(*self._command, "mount", mounted).strip()
            return int(_run("du", "--summarize", "--block-size=1", place).split()[0])
        finally:
            _run(*self._command, "rm", mounted)


class _Docker:
    """By the container engine, on the base that the Dockerfile names."""

    def build(self, name: str, archive: Path, _progress: Progress) -> tuple[int, int]:
        """Write the archive; the image's size, and 0 as its base is not asked for."""
        _run("docker", "build", *_secrets(archive.parent), *_where(name, reference(name)))
        _run("docker", "save", "--output", str(archive), reference(name))
        return int(_run("docker", "image", "inspect", "--format", "{{.Size}}", reference(name))), 0


def _tag(name: str) -> str:
    return f"docker.io/library/{reference(name)}"


def _tag_of_copied(name: str) -> str:
    """What keeps the layers of the stage that the image is copied from, whose first take longest."""
    return f"localhost/topicschema-{name}-{_COPIED}:newest"


def _where(name: str, tag: str) -> tuple[str, ...]:
    return ("--file", str(REPOSITORY / "images" / name / "Dockerfile"), "--tag", tag, str(REPOSITORY))


def _secrets(folder: Path) -> list[str]:
    """The files by which packages are fetched here, as secrets of a build."""
    settings = folder / "pip.conf"
    settings.write_text("".join(f"{line}\n" for line in _pip_settings()), encoding="utf-8")
    files = {"pip.conf": settings}
    if _BUNDLE.exists():
        files["ca.pem"] = _BUNDLE
    if _mirror() != _DEBIAN:
        files["sources.list"] = folder / "sources.list"
        files["sources.list"].write_text(f"deb {_mirror()} {_SUITE} main\n", encoding="utf-8")
    return [f"--secret=id={name},src={file}" for name, file in files.items()]


def _pip_settings() -> Iterator[str]:
    yield "[global]"
    if _BUNDLE.exists():
        yield f"cert = {_BUNDLE}"
    for line in _run(sys.executable, "-m", "pip", "config", "list").splitlines():
        key, _, value = line.partition("=")
        if (setting := key.rpartition(".")[2]) in _PIP_SETTINGS:
            yield f"{setting} = {value.strip(chr(39))}"


def _mirror() -> str:
    return os.environ.get("TOPICSCHEMA_DEBIAN_MIRROR") or _DEBIAN


def _run(*command: str) -> str:
    told = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if told.returncode:
        raise TestbedError(f"{' '.join(command)}:\n{(told.stdout + told.stderr).strip()[-3000:]}")
    return told.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the named images, or all, and tell how large they are."""
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
