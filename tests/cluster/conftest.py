"""The controller at work without the webhook: what it does alone, and what it writes."""

import contextlib
import secrets
from collections.abc import AsyncIterator, Iterator

import pytest

from support.kubernetes.plain_api import Api
from support.kubernetes.watched_namespace import WatchedShop, watch_shop
from testbed import helm
from testbed.cluster import Cluster
from testbed.controlplane import ControlPlane, owned
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product
from testbed.progress import Progress


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build Helm before the first test if one will need it: a cold build takes minutes."""
    if session.config.option.collectonly or not any(item.path.name == "test_chart.py" for item in session.items):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        helm.program(Progress())


@pytest.fixture(scope="package")
def spare(cluster: Cluster) -> Iterator[ControlPlane]:
    """A control plane for what others must not suffer: it is stopped, falls silent, loses CRDs; each mends it again.

    `cluster` says whether one can be had.
    """
    with owned() as plane:
        yield plane


@pytest.fixture(scope="module")
def controller(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """The product with its controller running and nobody reviewing edits."""
    with Product.controlling(instance, cluster, PATIENT_LEASE) as installed:
        yield installed


@contextlib.contextmanager
def fresh_namespace(cluster: Cluster) -> Iterator[str]:
    """A Kubernetes namespace; its deletion goes on afterwards."""
    api, name = Api(cluster), f"t-{secrets.token_hex(4)}"
    api.create("namespaces", "", {"metadata": {"name": name}})
    yield name
    api.delete("namespaces", "", name)


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh Kubernetes namespace, made without kubectl: hundreds of tests want one."""
    with fresh_namespace(cluster) as name:
        yield name


@pytest.fixture
async def neighbour(controller: Product, cluster: Cluster) -> AsyncIterator[WatchedShop]:
    """A second such namespace."""
    with fresh_namespace(cluster) as name:
        async with watch_shop(cluster, name) as shop:
            yield shop


@pytest.fixture
async def shop(controller: Product, cluster: Cluster, namespace: str) -> AsyncIterator[WatchedShop]:
    """A namespace that the controller watches; it has neither policy nor leave to claim anything."""
    async with watch_shop(cluster, namespace) as shop:
        yield shop
