"""A real Pulsar broker (standalone: metadata, storage and broker in one JVM), as a program of an instance.

Killing and starting keeps ports, topics and schemas. How it is set up: `testbed.pulsar_setup`.
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from testbed import maven, ports, pulsar_setup
from testbed.build import make_once
from testbed.errors import PortTakenError, TestbedError
from testbed.instances import Instance
from testbed.paths import write_atomically
from testbed.programs import Program
from testbed.progress import Progress
from testbed.pulsar_setup import Access, Credentials, Ports, Setup

PULSAR_VERSION = os.environ.get("TOPICSCHEMA_TEST_PULSAR_VERSION") or "4.0"
"""The Pulsar version whose brokers are started: 4.0, and by hand 4.1, 4.2 or 5.0."""
HAS_JSON_SCHEMAS = PULSAR_VERSION in ("4.0", "4.1")
"""True if its brokers read a JSON Schema in a text of type JSON. Later ones do so only if they are configured to."""
POM = Path(__file__).parent / "pulsar" / ("pom.xml" if PULSAR_VERSION == "4.0" else f"pom-{PULSAR_VERSION}.xml")
_START_SECONDS = 180.0
_ATTEMPTS = 4
_LAST_WORDS = 40_000  # bytes of the log that contain the reason of a broker's end: stack traces follow it
_FORGET_BOOKIE = Path(__file__).parent / "pulsar" / "ForgetBookie.java"


@dataclass(frozen=True, slots=True)
class Response:
    """The response of the broker."""

    status: int
    text: str

    @property
    def json(self) -> Any:
        """The body, parsed; None for an empty one. Pulsar 4.2 leaves control characters in texts as they are."""
        return json.loads(self.text, strict=False) if self.text else None


@dataclass(frozen=True, slots=True)
class Pulsar:
    """A running broker. `program` is None for an external one, `credentials` without authentication.

    `metadata` is the folder of the broker's metadata store.
    """

    admin_url: str
    service_url: str
    credentials: Credentials | None = None
    program: Program | None = field(default=None, repr=False)
    metadata: Path | None = field(default=None, repr=False)

    def request(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Response:
        """Send a request to `/admin/v2` + path as the superuser and return the response, whatever the status.

        `body` is sent as JSON, bytes unchanged. An `Authorization` header replaces the superuser's. Raise OSError if
        the broker does not respond.
        """
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        default = {"Accept": "application/json", "Content-Type": "application/json", **self._identity()}
        request = urllib.request.Request(  # noqa: S310 - our own URL
            f"{self.admin_url}/admin/v2{path}", method=method, data=sent, headers={**default, **(headers or {})}
        )
        try:
            with self._opener().open(request, timeout=30) as response:
                return Response(response.status, response.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Response(error.code, error.read().decode())

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that must succeed, and return the parsed body. Raise TestbedError otherwise."""
        response = self.request(method, path, body)
        if response.status >= 300:
            raise TestbedError(f"{method} {path}: {response.status} {response.text[:500]}")
        return response.json

    def create_namespace(self) -> str:
        """Create a tenant and a namespace in it, and return `tenant/namespace`."""
        tenant = f"t-{secrets.token_hex(4)}"
        self.call("PUT", f"/tenants/{tenant}", {"allowedClusters": self.call("GET", "/clusters")})
        self.call("PUT", f"/namespaces/{tenant}/n")
        return f"{tenant}/n"

    def wait_until_ready(self) -> None:
        """Return once the broker has its first namespace. Raise TestbedError with the end of its log on a timeout."""
        deadline = time.monotonic() + _START_SECONDS
        while True:
            last = self._first_namespace()
            if last.status == 200:
                return
            if time.monotonic() > deadline:
                break
            if self.program is not None:
                _raise_if_ended(self.program)
            time.sleep(0.1)
        tail = "" if self.program is None else f"\n{self.program.log_tail()}"
        raise TestbedError(f"{self.admin_url} was not ready after {_START_SECONDS:.0f} s: {last.text[:200]}{tail}")

    def _first_namespace(self) -> Response:
        try:
            return self.request("GET", "/namespaces/public/default")
        except OSError as error:
            return Response(0, str(error))

    def start(self) -> None:
        """Start the broker again after `program.kill()`, on the same ports, and wait until it is ready."""
        if self.program is None:
            raise TestbedError(f"{self.admin_url} is an external broker, which cannot be started")
        if self.program.pid is None and self.metadata is not None and (self.metadata / "CURRENT").exists():
            maven.run_java(_FORGET_BOOKIE, str(self.metadata), pom=POM)
        self.program.start()
        self.wait_until_ready()

    def _identity(self) -> dict[str, str]:
        if self.credentials is None or self.credentials.access is Access.CERTIFICATE:
            return {}
        return {"Authorization": f"Bearer {self.credentials.tokens.superuser}"}

    def _opener(self) -> urllib.request.OpenerDirector:
        openers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if self.credentials is not None:
            context = ssl.create_default_context(cafile=str(self.credentials.ca))
            if self.credentials.access is Access.CERTIFICATE:
                context.load_cert_chain(self.credentials.superuser.certificate, self.credentials.superuser.key)
            openers.append(urllib.request.HTTPSHandler(context=context))
        return urllib.request.build_opener(*openers)


def prepare(progress: Progress) -> None:
    """Fetch what a broker needs, unless it is cached: a minute or two the first time."""
    archive = _archive(maven.jars(POM, progress))
    make_once(archive, lambda: _write_archive(archive, progress), progress)


def _archive(jars: Path) -> Path:
    """Return the archive of the parsed classes that a broker loads; each build of Java has its own."""
    java = Path(shutil.which("java") or "java").resolve()
    built = f"{java} {java.stat().st_mtime_ns}" if java.exists() else ""
    return jars.with_name(f"{jars.name}-{hashlib.sha256(built.encode()).hexdigest()[:8]}.jsa")


def _write_archive(archive: Path, progress: Progress) -> None:
    progress.write("starting a broker once, so that later ones start in half the time")
    fresh = archive.with_suffix(".fresh")
    instance = Instance.owned()
    try:
        broker = start(instance, "first", Setup(java=(f"-XX:ArchiveClassesAtExit={fresh}",)))
        if broker.program is not None:
            broker.program.terminate(_START_SECONDS)  # it writes the archive when it ends
    finally:
        instance.end()
    fresh.touch()  # a Java that writes none ignores an empty one
    fresh.replace(archive)


def start(instance: Instance, name: str, setup: Setup | None = None) -> Pulsar:
    """Return the instance's broker of that name. Start it unless it runs, with the data of earlier starts."""
    folder = instance.folder / "pulsar" / name
    folder.mkdir(parents=True, exist_ok=True)
    for _ in range(_ATTEMPTS):
        pulsar = _prepare_start(instance, folder, setup or Setup())
        with contextlib.suppress(PortTakenError):
            pulsar.start()
            return pulsar
    raise TestbedError(f"no port stayed free in {_ATTEMPTS} attempts")


def _prepare_start(instance: Instance, folder: Path, setup: Setup) -> Pulsar:
    """Write the inputs of the broker and return it, not started."""
    chosen, host = _choose_ports(instance, folder), setup.host
    credentials = pulsar_setup.write(setup, folder, chosen)
    jars = maven.jars(POM)
    archive = _archive(jars)
    options = [f"-XX:SharedArchiveFile={archive}", *setup.java] if archive.exists() else setup.java
    command = pulsar_setup.command(jars, folder, options)
    program = instance.program(program_name(folder.name), command)
    if credentials is None:
        urls = (f"http://{host}:{chosen.admin}", f"pulsar://{host}:{chosen.service}")
    else:
        urls = (f"https://{host}:{chosen.admin_tls}", f"pulsar+ssl://{host}:{chosen.service_tls}")
    return Pulsar(*urls, credentials, program, folder / "metadata")


def program_name(name: str) -> str:
    """Return the name of the broker's program in its instance."""
    return f"pulsar-{name}"


def _choose_ports(instance: Instance, folder: Path) -> Ports:
    """Return ports for the broker: those of the last start, unless it does not run and one is taken."""
    record = folder / "ports.json"
    last: dict[str, int] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    state = instance.supervision.request("list").get(program_name(folder.name))
    if last and state is not None and state["exit_status"] is None:
        return Ports(**last)
    names = ("admin", "service", "admin_tls", "service_tls")
    chosen = Ports(**{name: ports.free(last.get(name)) for name in names})
    write_atomically(record, json.dumps(asdict(chosen)))
    return chosen


def _raise_if_ended(program: Program) -> None:
    if program.exit_status is None:
        return
    if "Address already in use" in program.log_tail(_LAST_WORDS):
        raise PortTakenError(program.name)
    raise TestbedError(f"{program.name} ended with status {program.exit_status}:\n{program.log_tail()}")
