"""The part `pulsar`: a broker of our own, or the one that the environment names."""

import json
import os
import shutil
from pathlib import Path

from testbed import maven, pulsar
from testbed.errors import SourceMissingError, TestbedError
from testbed.instances import Instance
from testbed.paths import write_atomically
from testbed.progress import Progress
from testbed.pulsar import Pulsar

_NAME = "plain"
_RECORD = "pulsar.json"


def given() -> Pulsar | None:
    """The broker that PULSAR_ADMIN_URL and PULSAR_SERVICE_URL name, if they do; TestbedError when only one is set."""
    admin, service = os.environ.get("PULSAR_ADMIN_URL"), os.environ.get("PULSAR_SERVICE_URL")
    if bool(admin) != bool(service):
        raise TestbedError("PULSAR_ADMIN_URL and PULSAR_SERVICE_URL belong together: set both or none")
    return Pulsar(admin.rstrip("/"), service) if admin and service else None


def prepare(progress: Progress) -> None:
    """Fetch the jars unless a broker is given; SourceMissingError where neither can be."""
    if given() is not None:
        return
    reason = maven.why_absent()
    if reason is not None:
        raise SourceMissingError(f"{reason}, and PULSAR_ADMIN_URL names no broker")
    pulsar.prepare(progress)


class PulsarPart:
    """See `testbed.parts.Part`."""

    name = "pulsar"

    def prepare(self, progress: Progress) -> None:
        """Fetch the jars."""
        prepare(progress)

    def start(self, instance: Instance, progress: Progress) -> None:
        """Start the broker if it does not run."""
        broker = given()
        if broker is None:
            progress.step("the broker starts: ten seconds or twenty")
            broker = pulsar.start(instance, _NAME)
        folder = instance.folder / "pulsar"
        folder.mkdir(exist_ok=True)
        record = {"admin_url": broker.admin_url, "service_url": broker.service_url}
        write_atomically(folder / _RECORD, json.dumps(record))

    def environment(self, instance: Instance) -> dict[str, str]:
        """PULSAR_ADMIN_URL and PULSAR_SERVICE_URL."""
        broker = of(instance)
        return {"PULSAR_ADMIN_URL": broker.admin_url, "PULSAR_SERVICE_URL": broker.service_url}

    def stop(self, instance: Instance) -> None:
        """Kill the broker and forget what it stored."""
        program = instance.program(pulsar.program_name(_NAME), [])
        if program.pid is not None:
            program.kill()
        shutil.rmtree(instance.folder / "pulsar", ignore_errors=True)

    def status(self, instance: Instance) -> str:
        """Whether the broker answers, and where."""
        broker = of(instance)
        try:
            answer = broker.ask("GET", "/clusters")
        except OSError as error:
            return f"not ready: {error}"
        where = f"PULSAR_ADMIN_URL={broker.admin_url} PULSAR_SERVICE_URL={broker.service_url}"
        return f"ready, {where}" if answer.status == 200 else f"not ready: {answer.status} {answer.text[:200]}"


def of(instance: Instance) -> Pulsar:
    """The broker that was started in the instance."""
    return _read_record(instance.folder / "pulsar" / _RECORD, instance)


def _read_record(record: Path, instance: Instance) -> Pulsar:
    try:
        urls = json.loads(record.read_text(encoding="utf-8"))
    except OSError as error:
        raise TestbedError(f"the instance {instance.name!r} has no broker") from error
    return Pulsar(urls["admin_url"], urls["service_url"])
