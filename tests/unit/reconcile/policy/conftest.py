from collections.abc import AsyncIterator

import pytest

from support.kubernetes.topic import World, opened


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Both namespaces may claim the Pulsar namespaces of `shop`, and all topics are listed."""
    async with opened() as world:
        for namespace in ("shop", "store"):
            world.allow_claims(namespace)
        world.ctx.index.are_topics_listed = True
        yield world
