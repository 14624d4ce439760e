"""The controller at work without the webhook: what it does alone, and what it writes."""

import secrets
from collections.abc import AsyncIterator, Iterator

import pytest

from support.kubernetes.watched_namespace import WatchedShop, watched
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product


@pytest.fixture(scope="module")
def controller(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """The product with its controller running and nobody reviewing edits."""
    with Product.controlling(instance, cluster, PATIENT_LEASE) as installed:
        yield installed


@pytest.fixture
async def neighbour(controller: Product, cluster: Cluster) -> AsyncIterator[WatchedShop]:
    """A second such namespace."""
    name = f"t-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    async with watched(cluster, name) as shop:
        yield shop
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
async def shop(controller: Product, cluster: Cluster, namespace: str) -> AsyncIterator[WatchedShop]:
    """A namespace that the controller watches; it has neither policy nor leave to claim anything."""
    async with watched(cluster, namespace) as shop:
        yield shop
