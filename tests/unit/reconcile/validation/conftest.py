import pytest


@pytest.fixture
def mode() -> str:
    return "Gate"
