"""The controller without the webhook, and its writes."""

import contextlib
import secrets
from collections.abc import AsyncIterator, Iterator

import pytest

from support.kubernetes.plain_api import Api
from support.kubernetes.watched_namespace import WatchedShop, watch_shop
from support.validation.validated_namespace import ENVIRONMENT, ValidatedShop
from testbed import helm, install
from testbed.cluster import Cluster
from testbed.controlplane import ControlPlane, owned
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product
from testbed.progress import Progress
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build Helm before the first test if one will need it: a cold build takes minutes."""
    if session.config.option.collectonly or not any(item.path.name == "test_chart.py" for item in session.items):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        helm.program(Progress())


@pytest.fixture(scope="package")
def spare(cluster: Cluster) -> Iterator[ControlPlane]:
    """Yield a control plane that tests may harm: they stop it, silence it, delete CRDs, and restore it.

    `cluster` skips the test if none is available.
    """
    with owned() as plane:
        yield plane


@pytest.fixture(scope="module")
def controller(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """Yield the product with its controller running, without reviews of edits."""
    with Product.controlling(instance, cluster, PATIENT_LEASE) as installed:
        yield installed


@pytest.fixture(scope="module")
def validating(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """Yield the product with its controller running, which has images for validation and for audits."""
    with Product.controlling(instance, cluster, {**PATIENT_LEASE, **ENVIRONMENT}) as installed:
        yield installed


@pytest.fixture
async def validated(validating: Product, cluster: Cluster, namespace: str) -> AsyncIterator[ValidatedShop]:
    """Yield a namespace whose changes are watched, at that controller."""
    async with watch_shop(cluster, namespace) as watched:
        yield ValidatedShop(watched)


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Cluster:
    """Return the cluster with the CRDs."""
    install.install_crds(cluster)
    return cluster


@pytest.fixture(scope="module")
def webhook(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """Yield the product with its webhook and no controller."""
    product = Product.install(instance, cluster)
    try:
        product.start_webhook()
        product.admit()
        yield product
    finally:
        product.stop()


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[ApiClient]:
    """Yield a client of the product as an admin."""
    async with ApiClient(ApiConnection.load(str(cluster.kubeconfig))) as client:
        yield client


@contextlib.contextmanager
def fresh_namespace(cluster: Cluster) -> Iterator[str]:
    """Yield a Kubernetes namespace. Its deletion goes on afterwards."""
    api, name = Api(cluster), f"t-{secrets.token_hex(4)}"
    api.create("namespaces", "", {"metadata": {"name": name}})
    yield name
    api.delete("namespaces", "", name)


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """Yield a fresh Kubernetes namespace, made without kubectl: hundreds of tests need one."""
    with fresh_namespace(cluster) as name:
        yield name


@pytest.fixture
async def other_shop(controller: Product, cluster: Cluster) -> AsyncIterator[WatchedShop]:
    """Yield a second such namespace."""
    with fresh_namespace(cluster) as name:
        async with watch_shop(cluster, name) as shop:
            yield shop


@pytest.fixture
async def shop(controller: Product, cluster: Cluster, namespace: str) -> AsyncIterator[WatchedShop]:
    """Yield a namespace that the controller watches; it has neither a policy nor a registry."""
    async with watch_shop(cluster, namespace) as shop:
        yield shop
