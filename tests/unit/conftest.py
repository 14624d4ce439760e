"""The world in which admission is asked."""

from collections.abc import AsyncIterator

import pytest

from support.kubernetes.admission import World, running


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with running() as world:
        yield world
