from collections.abc import AsyncIterator

import pytest

from support.kubernetes import topic
from support.kubernetes.stores import MemoryStore
from support.kubernetes.topic import World, opened


@pytest.fixture(autouse=True, params=[MemoryStore])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic, "open_store", request.param)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as world:
        yield world
