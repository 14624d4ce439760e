"""Sizes, chance and skipped tiers of all tests, and the fixtures that need a Kubernetes cluster.

One API server serves a whole test run; it starts when the first test asks for it. A test that asks for `cluster` or
`namespace` is marked `cluster` by that. Where no cluster can be had, the tier is skipped; under CI=true that is a
failure.
"""

import secrets
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from support import sizes, tiers
from testbed import clusters, sources
from testbed.cluster import Cluster
from testbed.errors import SourceMissingError, TestbedError
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product
from testbed.progress import Progress

# A sample draws the same examples in every run, and no example fails because a machine is busy.
settings.register_profile(
    "topicschema", deadline=None, derandomize=not sizes.IS_FULL, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("topicschema")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs a cluster, before `-m` chooses, and leave out what only a full run has."""
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker("cluster")
    left_out = [] if sizes.IS_FULL else [item for item in items if item.get_closest_marker("full")]
    if left_out:
        items[:] = [item for item in items if not item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the control plane before the first test if one will need it: a build may take longer than a test may."""
    if session.config.option.collectonly or not any(item.get_closest_marker("cluster") for item in session.items):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        try:
            sources.find(Progress())
        except SourceMissingError as error:
            tiers.skip(session, "cluster", str(error))
        except TestbedError as error:
            raise pytest.UsageError(f"the cluster tier cannot run: {error}") from error


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each tier that was skipped."""
    tiers.report(terminalreporter)


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
    return clusters.start(instance, Progress())


@pytest.fixture(scope="module")
def product(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """The product at work on the test run's cluster: controller and webhook running, edits reviewed.

    It ends with the module. Who stops a part of it starts it again.
    """
    with Product.working(instance, cluster, PATIENT_LEASE) as installed:
        yield installed


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh Kubernetes namespace; its deletion goes on after the test."""
    name = f"t-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
