"""Fixtures that need a Kubernetes cluster.

One API server serves a whole test run; it starts when the first test asks for it. A test that asks for `cluster` or
`namespace` is marked `cluster` by that. Where no cluster can be had, the tier is skipped and each test says why; under
CI=true that is a failure.
"""

import os
import secrets
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from testbed import cluster_part, sources
from testbed.cluster import Cluster
from testbed.errors import SourceMissingError, TestbedError
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product
from testbed.progress import Progress

if "CI" not in os.environ:  # in CI Hypothesis does so itself: no example fails for a machine that is busy
    settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("patient")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a cluster, before `-m` chooses."""
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker("cluster")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the control plane before the first test if one will need it: a build may take longer than a test may."""
    if session.config.option.collectonly or not any(item.get_closest_marker("cluster") for item in session.items):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        try:
            sources.find(Progress())
        except SourceMissingError as error:
            _no_cluster(session, str(error))
        except TestbedError as error:
            raise pytest.UsageError(f"the cluster tier cannot run: {error}") from error


def _no_cluster(session: pytest.Session, reason: str) -> None:
    """Skip every test that needs a cluster, each with the reason; in CI end the run."""
    if os.environ.get("CI") == "true":
        raise pytest.UsageError(f"the cluster tier cannot run: {reason}")
    for item in session.items:
        if item.get_closest_marker("cluster"):
            item.add_marker(pytest.mark.skip(reason=f"no cluster: {reason}"))


@pytest.fixture(scope="session")
def instance() -> Iterator[Instance]:
    """The testbed instance of the test run; everything in it dies with the run, also after kill -9."""
    owned = Instance.owned()
    try:
        yield owned
    finally:
        owned.end()


@pytest.fixture(scope="session")
def cluster(instance: Instance) -> Cluster:
    """The test run's Kubernetes cluster, with an admin's kubeconfig."""
    (instance.folder / "cluster").mkdir()
    return cluster_part.start(instance, Progress())


@pytest.fixture(scope="module")
def product(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """The product at work on the test run's cluster: controller and webhook running, edits reviewed.

    It ends with the module. Who stops a part of it starts it again.
    """
    installed = Product.install(instance, cluster, PATIENT_LEASE)
    try:
        installed.start_controller()
        installed.start_webhook()
        installed.admit()
        yield installed
    finally:
        installed.stop()


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh Kubernetes namespace; its deletion goes on after the test."""
    name = f"t-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
