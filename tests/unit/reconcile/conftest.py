from collections.abc import AsyncIterator

import pytest

from support.kubernetes.topic import World, opened


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as world:
        yield world
