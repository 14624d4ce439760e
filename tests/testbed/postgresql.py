"""A PostgreSQL of Debian's package, on a port of loopback and as a user that is not root."""

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import psycopg

from testbed import packages, ports
from testbed.certificates import Authority
from testbed.errors import SourceMissingError, TestbedError
from testbed.instances import Instance
from testbed.programs import Program
from testbed.progress import Progress

PACKAGE: Final = {"pg_createcluster": "postgresql"}
_ACCOUNT: Final = "postgres"
_SECONDS: Final = 60.0
_SMALL: Final = ("-c", "shared_buffers=16MB", "-c", "max_connections=60", "-c", "unix_socket_directories=")


@dataclass(frozen=True, slots=True)
class PostgreSQL:
    """A server with an empty data folder at its first start, its superuser `admin`, and the CA of its certificate."""

    program: Program
    port: int
    password: str
    ca: Path

    @classmethod
    def start(cls, instance: Instance) -> Self:
        """Start a server of the instance. Raises SourceMissingError if Debian's package is missing."""
        password = secrets.token_hex(8)
        options = ["--no-sync", "--username=admin", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
        return cls._start(instance, password, lambda secret: ["initdb", f"--pwfile={secret}", *options])

    def start_standby(self, instance: Instance) -> Self:
        """Start a server that follows this one. Each commit here then waits for the other."""
        address = f"host={ports.LOOPBACK} port={self.port} user=admin password={self.password}"
        options = ["--no-sync", "--checkpoint=fast", "--write-recovery-conf", f"--dbname={address}"]
        standby = self._start(instance, self.password, lambda _: ["pg_basebackup", *options])
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
        return standby

    def promote(self) -> None:
        """Make a standby a primary server, which accepts writes."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
            connection.execute("SELECT pg_promote()")

    @classmethod
    def _start(cls, instance: Instance, password: str, make: Callable[[Path], list[str]]) -> Self:
        """Start a server whose data folder that program makes with these arguments, from the file with the password."""
        programs = find(Progress())
        folder = Path(tempfile.mkdtemp(prefix="topicschema-postgresql-"))  # the account cannot enter root's folders
        instance.supervision.request("at_end", arguments=["rm", "-rf", str(folder)])
        port, is_root = ports.free(), os.geteuid() == 0
        (secret := folder / "password").write_text(password)
        certificate = Authority.at(folder / "pki").issue("server", [ports.LOOPBACK])
        if is_root:
            for each in (folder, folder / "pki", secret, certificate.certificate, certificate.key):
                shutil.chown(each, _ACCOUNT, _ACCOUNT)
        account = ("setpriv", f"--reuid={_ACCOUNT}", f"--regid={_ACCOUNT}", "--init-groups", "--pdeathsig=KILL")
        prefix = [*(account if is_root else ()), "env", "-C", str(folder)]
        program, *options = make(secret)
        done = subprocess.run(
            [*prefix, str(programs / program), *options, f"--pgdata={folder}/data"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise TestbedError(f"{program}:\n{done.stderr[-2000:]}")
        # A killed server can leave children behind.
        stop = [*prefix, str(programs / "pg_ctl"), "stop", "--mode=immediate", f"--pgdata={folder}/data"]
        instance.supervision.request("at_end", arguments=stop)
        tls = ["ssl=on", f"ssl_cert_file={certificate.certificate}", f"ssl_key_file={certificate.key}"]
        command = [*prefix, str(programs / "postgres"), "-D", f"{folder}/data", "-p", str(port), "-h", ports.LOOPBACK]
        command += [*_SMALL, *(part for each in tls for part in ("-c", each))]
        server = cls(instance.program(f"postgresql-{port}", command), port, password, certificate.ca)
        server.run()
        return server

    def run(self) -> None:
        """Start the server again, and wait until it accepts connections."""
        self.program.start()
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                psycopg.connect(self.url()).close()
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline or self.program.exit_status is not None:
                    raise TestbedError(f"PostgreSQL does not start: {error}\n{self.program.log_tail()}") from None
                time.sleep(0.05)
            else:
                return

    def url(self, database: str = "postgres", **parameters: str) -> str:
        """Return the URL of a database, with parameters of libpq."""
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return f"postgresql://admin:{self.password}@{ports.LOOPBACK}:{self.port}/{database}?{query}"

    def create_database(self, options: str = "") -> str:
        """Create a database and return its name. `options` follow its name in the statement."""
        name = f"t{secrets.token_hex(6)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {options}".encode())
        return name


def find(progress: Progress) -> Path:
    """Return the folder of the server's programs. Raises SourceMissingError if they are missing."""
    missing = packages.supply(PACKAGE, progress)
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
    if missing or not versions:
        raise SourceMissingError(f"Debian's package postgresql is missing: {packages.install(['postgresql'])}")
    return versions[-1].parent
