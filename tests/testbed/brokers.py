"""A broker of our own, or the one that the environment names."""

import os

from testbed import maven, pulsar
from testbed.errors import SourceMissingError, TestbedError
from testbed.instances import Instance
from testbed.progress import Progress
from testbed.pulsar import Pulsar


def given() -> Pulsar | None:
    """The broker that PULSAR_ADMIN_URL and PULSAR_SERVICE_URL name, if they do; TestbedError when only one is set."""
    admin, service = os.environ.get("PULSAR_ADMIN_URL"), os.environ.get("PULSAR_SERVICE_URL")
    if bool(admin) != bool(service):
        raise TestbedError("PULSAR_ADMIN_URL and PULSAR_SERVICE_URL belong together: set both or none")
    return Pulsar(admin.rstrip("/"), service) if admin and service else None


def prepare(progress: Progress, *, often: bool = True) -> None:
    """Fetch the jars unless a broker is given; SourceMissingError where neither can be.

    A broker that starts `often` is prepared to start in half the time.
    """
    if given() is not None:
        return
    reason = maven.why_absent()
    if reason is not None:
        raise SourceMissingError(f"{reason}, and PULSAR_ADMIN_URL names no broker")
    if often:
        pulsar.prepare(progress)
    else:
        maven.jars(pulsar.POM, progress)


def start(instance: Instance) -> Pulsar:
    """The given broker, else the instance's, which asks nobody who he is; started if it does not run."""
    return given() or pulsar.start(instance, "plain")
