"""Sending requests at a server from a Go program, which costs the machine little; and that program itself."""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from testbed import golang, paths
from testbed.progress import Progress

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Those of one stream are sent one after the other, streams at the same time."""

    stream: int
    method: str
    path: str
    type: str
    body: str
    expect: int = 200


@dataclass(frozen=True, slots=True)
class Target:
    """The server of requests, and the credentials."""

    server: str
    ca: Path
    certificate: Path | None = None
    key: Path | None = None
    is_http2: bool = False
    token: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The measurements of a load; latencies in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p99: float

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests / self.seconds


def build(name: str) -> Path:
    """Build the Go program of that folder if its source changed. Return its path."""
    source = HERE / name / "main.go"
    key = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    program = paths.cache() / "benchmarks" / f"{name}-{key}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        go = golang.find(golang.needed(HERE / "go.mod"), Progress())
        temporary = program.with_name(f".{program.name}.{os.getpid()}")
        subprocess.run([go, "build", "-o", temporary, f"./{name}"], cwd=HERE, env=golang.environment(), check=True)
        temporary.rename(program)
    return program


def send(target: Target, requests: Iterable[Request]) -> Outcome:
    """Send them all. Raise RuntimeError if a response is unexpected, for then the figures mean nothing."""
    arguments: list[str | Path] = [build("load"), "-server", target.server, "-ca", target.ca]
    if target.certificate is not None and target.key is not None:
        arguments += ["-cert", target.certificate, "-key", target.key]
    if target.token:
        arguments += ["-token", target.token]
    if target.is_http2:
        arguments.append("-http2")
    lines = "".join(json.dumps(asdict(request)) + "\n" for request in requests)
    output = json.loads(subprocess.run(arguments, input=lines, text=True, capture_output=True, check=True).stdout)
    if output["unexpected"]:
        raise RuntimeError(f"{output['unexpected']} of {output['requests']} unexpected: {output['first_unexpected']}")
    return Outcome(output["requests"], output["seconds"], output["p50_ms"], output["p99_ms"])
