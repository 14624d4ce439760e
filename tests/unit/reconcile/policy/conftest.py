from collections.abc import AsyncIterator

import pytest

from support.kubernetes.topic import World, open_topic
from topicschema.api.kinds import NAMESPACE


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Yield a world with two Kubernetes namespaces, where all topics are listed."""
    async with open_topic() as world:
        world.api.put(NAMESPACE, "", "store", {})
        world.ctx.index.are_topics_listed = True
        yield world
