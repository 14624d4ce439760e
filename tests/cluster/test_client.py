"""The client on a real API server: each verb, and each error of a real one."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from testbed.cluster import Cluster, write_kubeconfig
from topicschema.api.kinds import LEASE, NAMESPACE, Kind, Object
from topicschema.cluster.client import ApiClient, Selection
from topicschema.cluster.connection import ApiConnection
from topicschema.cluster.errors import (
    ApiRefusedError,
    ApiUnavailableError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
)

CONFIG_MAP = Kind("", "v1", "configmaps", "ConfigMap")


def config_map(name: str, **values: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": values}


async def test_an_object_is_created_read_replaced_patched_and_deleted(client: ApiClient, namespace: str) -> None:
    created = await client.create(CONFIG_MAP, namespace, config_map("x", a="1"))
    assert (await client.get(CONFIG_MAP, namespace, "x"))["data"] == {"a": "1"}
    replaced = await client.replace(CONFIG_MAP, namespace, "x", {**created, "data": {"a": "2"}})
    assert replaced["data"] == {"a": "2"}
    assert (await client.patch(CONFIG_MAP, namespace, "x", {"data": {"b": "3"}}))["data"] == {"a": "2", "b": "3"}
    json_patch = [{"op": "remove", "path": "/data/a"}]
    patched = await client.patch(CONFIG_MAP, namespace, "x", json_patch, content_type="application/json-patch+json")
    assert patched["data"] == {"b": "3"}
    await client.delete(CONFIG_MAP, namespace, "x")
    with pytest.raises(NotFoundError):
        await client.get(CONFIG_MAP, namespace, "x")
    with pytest.raises(NotFoundError):
        await client.delete(CONFIG_MAP, namespace, "x")


async def test_of_two_clients_that_change_what_they_read_one_loses(client: ApiClient, namespace: str) -> None:
    read = await client.create(CONFIG_MAP, namespace, config_map("x"))
    with pytest.raises(ConflictError):
        await client.create(CONFIG_MAP, namespace, config_map("x"))
    await client.replace(CONFIG_MAP, namespace, "x", {**read, "data": {"first": "yes"}})
    with pytest.raises(ConflictError):
        await client.replace(CONFIG_MAP, namespace, "x", {**read, "data": {"second": "no"}})
    with pytest.raises(ConflictError):
        await client.delete(CONFIG_MAP, namespace, "x", resource_version=read["metadata"]["resourceVersion"])
    with pytest.raises(ConflictError):
        await client.delete(CONFIG_MAP, namespace, "x", uid="00000000-0000-0000-0000-000000000000")
    await client.delete(CONFIG_MAP, namespace, "x", uid=read["metadata"]["uid"])


async def test_an_apply_creates_and_changes_and_heeds_a_resource_version(client: ApiClient, namespace: str) -> None:
    first = await client.apply(CONFIG_MAP, namespace, "x", config_map("x", a="1"), field_manager="us")
    assert first["metadata"]["managedFields"][0]["manager"] == "us"
    await client.apply(CONFIG_MAP, namespace, "x", config_map("x", a="2"), field_manager="another")
    outdated = config_map("x", a="3")
    outdated["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"]
    with pytest.raises(ConflictError):
        await client.apply(CONFIG_MAP, namespace, "x", outdated, field_manager="us")


async def test_a_long_list_comes_in_pages_and_whole(client: ApiClient, namespace: str) -> None:
    names = [f"m{n:02}" for n in range(25)]
    await asyncio.gather(*(client.create(CONFIG_MAP, namespace, config_map(name)) for name in names))
    listed = await client.list(CONFIG_MAP, namespace, limit=7)
    assert [wire["metadata"]["name"] for wire in listed if wire["metadata"]["name"] in names] == names
    one = await client.list(CONFIG_MAP, namespace, field_selector="metadata.name=m07")
    assert [wire["metadata"]["name"] for wire in one] == ["m07"]
    selection = Selection(limit=10, metadata_only=True)
    pages = [page async for page in client.pages(CONFIG_MAP, namespace, selection)]
    assert max(map(len, pages)) == 10
    assert not any("data" in wire for page in pages for wire in page)
    everywhere = await client.list(CONFIG_MAP)
    assert {wire["metadata"]["namespace"] for wire in everywhere} >= {namespace, "kube-system"}


async def test_a_kind_that_is_not_served_is_not_an_absent_object(client: ApiClient, namespace: str) -> None:
    for kind in (Kind("unknown.example", "v1", "things", "Thing"), Kind("apps", "v9", "deployments", "Deployment")):
        with pytest.raises(ApiUnavailableError, match="404"):
            await client.get(kind, namespace, "x")
        with pytest.raises(ApiUnavailableError, match="404"):
            await client.list(kind, namespace)


async def test_what_is_too_large_is_refused_for_ever(client: ApiClient, namespace: str) -> None:
    lease: Object = {"apiVersion": LEASE.api_version, "kind": "Lease", "metadata": {"name": "x"}}
    for size in (1_700_000, 2_500_000, 3_400_000):
        lease["spec"] = {"holderIdentity": "x" * size}
        with pytest.raises(ApiRefusedError) as caught:
            await client.create(LEASE, namespace, lease)
        assert len(caught.value.message) < 500


async def test_a_client_without_rights_gets_an_error_that_is_not_final(
    cluster: Cluster, client: ApiClient, tmp_path: Path
) -> None:
    restricted = cluster.service_account_kubeconfig("default", "default", tmp_path / "restricted")
    async with ApiClient(ApiConnection.load(str(restricted))) as other:
        with pytest.raises(ForbiddenError, match="cannot get resource"):
            await other.get(NAMESPACE, "", "default")
    unknown = {**cluster_entry(cluster), "insecure-skip-tls-verify": True}
    unknown.pop("certificate-authority-data")
    path = write_kubeconfig(tmp_path / "unknown", unknown, {"token": "made-up"})
    async with ApiClient(ApiConnection.load(str(path))) as other:
        with pytest.raises(ForbiddenError, match="401") as caught:
            await other.get(NAMESPACE, "", "default")
    assert "made-up" not in caught.value.message


async def test_a_server_of_an_unknown_authority_is_not_trusted(cluster: Cluster, tmp_path: Path) -> None:
    unknown = cluster_entry(cluster)
    unknown.pop("certificate-authority-data")
    path = write_kubeconfig(tmp_path / "unknown", unknown, {"token": "made-up"})
    async with ApiClient(ApiConnection.load(str(path))) as client:
        with pytest.raises(ApiUnavailableError, match="Certificate"):
            await client.get(NAMESPACE, "", "default")


def cluster_entry(cluster: Cluster) -> dict[str, Any]:
    text = cluster.kubectl("config", "view", "--raw", "--flatten", "--minify", "-o", "json")
    entry: dict[str, Any] = json.loads(text)["clusters"][0]["cluster"]
    return entry
