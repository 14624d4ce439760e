from collections.abc import AsyncIterator

import pytest

from support.kubernetes.topic import World, open_topic


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_topic() as world:
        yield world
