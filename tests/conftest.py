"""Sizes, seeds and skipped tiers of all tests, and the fixtures that need a Kubernetes cluster.

One API server serves a whole test run. It starts with the first test that needs it. A test with the fixture `cluster`
or `namespace` gets the mark `cluster`. If there is no cluster, the tier is skipped; with CI=true that is a failure.
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
    """Return the testbed instance of the test run. Its programs die with the run, also after kill -9."""
    owned = Instance.owned()
    try:
        yield owned
    finally:
        owned.end()


@pytest.fixture(scope="session")
def cluster(instance: Instance) -> Cluster:
    """Return the test run's Kubernetes cluster, with an admin's kubeconfig."""
    return clusters.start(instance, Progress())


@pytest.fixture(scope="module")
def product(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """Run controller and webhook on the test run's cluster.

    They end with the module. A test that stops one of them starts it again.
    """
    with Product.working(instance, cluster, PATIENT_LEASE) as installed:
        yield installed


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """Create a Kubernetes namespace. Its deletion continues after the test."""
    name = f"t-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
