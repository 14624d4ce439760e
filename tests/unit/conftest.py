"""The webhook and its namespace for the tests of admission."""

from collections.abc import AsyncIterator

import pytest

from support.kubernetes.admission import World, run_webhook


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with run_webhook() as world:
        yield world
