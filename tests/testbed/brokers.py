"""The testbed's broker, or the one that the environment names."""

import os

from testbed import maven, pulsar
from testbed.errors import SourceMissingError, TestbedError
from testbed.instances import Instance
from testbed.progress import Progress
from testbed.pulsar import Pulsar


def from_environment() -> Pulsar | None:
    """Return the broker of PULSAR_ADMIN_URL and PULSAR_SERVICE_URL. Raise TestbedError if only one is set."""
    admin, service = os.environ.get("PULSAR_ADMIN_URL"), os.environ.get("PULSAR_SERVICE_URL")
    if bool(admin) != bool(service):
        raise TestbedError("PULSAR_ADMIN_URL and PULSAR_SERVICE_URL belong together: set both or none")
    return Pulsar(admin.rstrip("/"), service) if admin and service else None


def prepare(progress: Progress, *, often: bool = True) -> None:
    """Fetch the jars unless the environment names a broker. Raise SourceMissingError if they cannot be fetched.

    With `often`, the broker is prepared to start in half the time.
    """
    if from_environment() is not None:
        return
    reason = maven.why_absent()
    if reason is not None:
        raise SourceMissingError(f"{reason}, and PULSAR_ADMIN_URL names no broker")
    if often:
        pulsar.prepare(progress)
    else:
        maven.jars(pulsar.POM, progress)


def start(instance: Instance) -> Pulsar:
    """Return the environment's broker, else start the instance's, which has no authentication."""
    return from_environment() or pulsar.start(instance, "plain")
