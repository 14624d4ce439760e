"""Java as an oracle: what it takes to start it, and the asking. What is asked stands in the tests.

There are three: AVRO, Avro's own library (as Pulsar 4.0.7 ships it), BROKER, the classes of a Pulsar 4.0.7 broker, and
CLIENT, those of its Java client. AVRO_OF and BROKER_OF name the class path of each line of Pulsar.
The class path is resolved by Maven from a pom into the cache folder, once per content of the pom. A batch is one run of
the oracle's program, which documents requests and answers.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from topicschema.core.schemas import PulsarLine

_HERE = Path(__file__).parent
AVRO = _HERE / "Oracle.java"
BROKER = _HERE / "broker" / "BrokerOracle.java"
CLIENT = _HERE / "client" / "ClientOracle.java"
AVRO_OF: Mapping[PulsarLine, Path] = {
    PulsarLine.V4_0: _HERE / "pom.xml",
    PulsarLine.V4_1: _HERE / "pom-1.12.xml",
    PulsarLine.V4_2: _HERE / "pom-1.12.xml",
}
BROKER_OF: Mapping[PulsarLine, Path] = {
    PulsarLine.V4_0: _HERE / "broker" / "pom.xml",
    PulsarLine.V4_1: _HERE / "broker" / "pom-4.1.xml",
    PulsarLine.V4_2: _HERE / "broker" / "pom-4.2.xml",
}


def why_absent() -> str | None:
    """Why the oracle cannot be asked on this machine; None when it can."""
    java = shutil.which("java")
    missing = [program for program in ("java", "mvn") if shutil.which(program) is None]
    if java is None or missing:
        return f"no {' and no '.join(missing)} on the path"
    modules = subprocess.run([java, "--list-modules"], capture_output=True, text=True, check=False).stdout
    return None if "jdk.compiler" in modules else "java here has no compiler: a JDK is needed, not a JRE"


def ask(
    requests: Iterable[dict[str, Any]], program: Path = AVRO, class_path: Path | None = None
) -> list[dict[str, Any]]:
    """One answer per request, in order: `verdict` true, false or `error:Class`; `detail` where something was thrown.

    `class_path` is a pom, by default the one beside the program.
    """
    java = shutil.which("java") or "java"
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    command = [java, "-cp", f"{_jars(class_path or program.parent / 'pom.xml')}/*", str(program)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _jars(pom: Path) -> Path:
    """The folder that holds the class path; two resolvers at once do no harm: the first to finish is kept."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "topicschema" / "oracle"
    jars = cache / hashlib.sha256(pom.read_bytes()).hexdigest()[:16]
    if not jars.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=cache))
        _resolve(pom, fresh)
        try:
            fresh.rename(jars)
        except OSError:  # another resolver was first
            shutil.rmtree(fresh)
    return jars


def _resolve(pom: Path, into: Path) -> None:
    maven = shutil.which("mvn") or "mvn"
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    subprocess.run([maven, "-q", "-B", "-f", str(pom), goal, f"-DoutputDirectory={into}"], check=True)
