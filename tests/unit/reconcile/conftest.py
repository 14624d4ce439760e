from collections.abc import AsyncIterator

import pytest

from support.kubernetes import topic
from support.kubernetes.stores import MemoryStore
from support.kubernetes.topic import World, open_topic
from support.validation.validated_topic import ValidatedTopic, open_validated_topic


@pytest.fixture(autouse=True, params=[MemoryStore])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic, "open_store", request.param)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_topic() as world:
        yield world


@pytest.fixture
def mode() -> str:
    """Return the mode in which the policy of `topic` validates messages. A test's parameter replaces it."""
    return "Off"


@pytest.fixture(name="topic")
async def validated_topic(mode: str) -> AsyncIterator[ValidatedTopic]:
    async with open_validated_topic(mode) as topic:
        yield topic
