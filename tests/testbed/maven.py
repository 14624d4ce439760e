"""Class paths from Maven, and single-file Java programs: resolved and compiled once per content."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from testbed import packages, paths
from testbed.build import make_once
from testbed.errors import TestbedError
from testbed.progress import Progress

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"


def why_absent() -> str | None:
    """Return why this machine cannot fetch jars and run Java programs; None if it can.

    As root, install what is missing first.
    """
    lacking = packages.supply(packages.JAVA, Progress())
    return f"there is no JDK or no Maven ({packages.install(lacking)})" if lacking else None


def run_java(program: Path, *arguments: str, stdin: str = "", pom: Path | None = None) -> str:
    """Run the single-file Java program with the class path of `pom`, by default the pom.xml beside it.

    Return its output. Raise TestbedError with the end of its error output if it fails.
    """
    pom = pom or program.parent / "pom.xml"
    class_path = f"{classes(program, pom)}:{jars(pom)}/*"
    command = [shutil.which("java") or "java", "-cp", class_path, program.stem, *arguments]
    result = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if result.returncode:
        raise TestbedError(f"{program.name} failed:\n{result.stderr[-3000:]}")
    return result.stdout


def classes(program: Path, pom: Path) -> Path:
    """Return the folder of the program's classes, compiled by this machine's Java."""
    compiler = Path(shutil.which("javac") or "javac").resolve()
    built = compiler.stat().st_mtime_ns if compiler.exists() else 0
    content = program.read_bytes() + pom.read_bytes() + f"{compiler} {built}".encode()
    folder = paths.cache() / "classes" / f"{program.stem}-{hashlib.sha256(content).hexdigest()[:16]}"
    return make_once(folder, lambda: _compile(program, jars(pom), folder), Progress())


def _compile(program: Path, libraries: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as fresh:
        command = [shutil.which("javac") or "javac", "-nowarn", "-proc:none", "-cp", f"{libraries}/*", "-d", fresh]
        result = subprocess.run([*command, str(program)], capture_output=True, text=True, check=False)
        if result.returncode:
            raise TestbedError(f"{program.name} does not compile:\n{result.stderr[-3000:]}")
        Path(fresh).rename(folder)  # whole or not at all


def jars(pom: Path, progress: Progress | None = None, goal: str = "copy-dependencies") -> Path:
    """Return the folder of the pom's class path. Of several callers at once, one resolves and the others wait.

    With the goal `copy` it has the artifacts that the pom names for the plugin, of which one may have many versions.
    """
    folder, output = paths.cache() / "jars" / hashlib.sha256(pom.read_bytes()).hexdigest()[:16], progress or Progress()
    return make_once(folder, lambda: _resolve(pom, folder, goal, output), output)


def _resolve(pom: Path, folder: Path, goal: str, progress: Progress) -> None:
    progress.write(f"resolving the jars of {pom.parent.name}/{pom.name} with Maven")
    maven = shutil.which("mvn") or "mvn"
    with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as fresh:
        options = [f"-DoutputDirectory={fresh}", "-DincludeScope=runtime"]
        command = [maven, "-q", "-B", "-f", str(pom), f"{_PLUGIN}:{goal}", *options]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise TestbedError(f"Maven cannot resolve {pom}:\n{(result.stdout + result.stderr)[-2000:]}")
        Path(fresh).rename(folder)  # whole or not at all
