from collections.abc import AsyncIterator

import pytest

from support.kubernetes.topic import World, open_topic


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Yield a world whose namespaces may claim the Pulsar namespaces of `shop`, and where all topics are listed."""
    async with open_topic() as world:
        for namespace in ("shop", "store"):
            world.allow_claims(namespace)
        world.ctx.index.are_topics_listed = True
        yield world
