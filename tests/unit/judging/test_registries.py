"""The SchemaRegistries that policies name."""

from typing import Any

import pytest

from support.kubernetes.registries import registry
from topicschema.api.kinds import Kind
from topicschema.cluster.errors import ApiUnavailableError, NotFoundError
from topicschema.core.errors import StalledError
from topicschema.judging.registries import Registries, RegistryNotFoundError


class Reader:
    """An API server with these registries, which counts reads. `on_read` runs before its answer."""

    def __init__(self, **objects: dict[str, Any]) -> None:
        self.objects = objects
        self.reads = 0
        self.on_read = lambda: None
        self.is_unavailable = False

    async def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        self.reads += 1
        assert (kind.name, namespace) == ("SchemaRegistry", "")
        if self.is_unavailable:
            raise ApiUnavailableError("away")
        if name not in self.objects:
            raise NotFoundError(name)
        wire = self.objects[name]
        self.on_read()
        return wire


def at(url: str) -> dict[str, Any]:
    return registry("prod", {"adminURL": url})


@pytest.mark.parametrize(("are_watched", "reads"), [(True, 1), (False, 2)])
async def test_a_registry_is_read_once_if_it_is_watched(*, are_watched: bool, reads: int) -> None:
    reader = Reader(prod=at("https://a"))
    registries = Registries(reader, are_watched=are_watched)
    for _ in range(2):
        assert (await registries.get("prod")).address == "a:443"
    assert reader.reads == reads


async def test_a_changed_registry_is_read_again() -> None:
    reader = Reader(prod=at("https://a"), other=at("https://c"))
    registries = Registries(reader, are_watched=True)
    await registries.get("prod")
    await registries.get("other")
    reader.objects["prod"] = at("https://b")
    registries.forget("prod")
    assert (await registries.get("prod")).address == "b:443"
    await registries.get("other")
    assert reader.reads == 3


async def test_a_registry_that_changes_while_it_is_read_is_read_again() -> None:
    reader = Reader(prod=at("https://a"))
    registries = Registries(reader, are_watched=True)

    def change() -> None:
        reader.objects["prod"] = at("https://b")
        registries.forget("prod")
        reader.on_read = lambda: None

    reader.on_read = change
    assert (await registries.get("prod")).address == "a:443"
    assert (await registries.get("prod")).address == "b:443"


async def test_a_missing_registry_is_read_again() -> None:
    reader = Reader()
    registries = Registries(reader, are_watched=True)
    with pytest.raises(RegistryNotFoundError, match="there is no SchemaRegistry prod; the platform team creates it"):
        await registries.get("prod")
    reader.objects["prod"] = at("https://a")
    assert (await registries.get("prod")).address == "a:443"


async def test_an_invalid_registry_or_no_answer_is_an_error_of_its_own() -> None:
    reader = Reader(prod={"metadata": {"name": "prod"}, "spec": {"pulsar": 7}})
    with pytest.raises(StalledError) as raised:
        await Registries(reader).get("prod")
    assert raised.value.reason == "InvalidResource"
    reader.is_unavailable = True
    with pytest.raises(ApiUnavailableError):
        await Registries(reader).get("prod")
