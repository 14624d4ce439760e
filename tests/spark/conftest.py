"""A Spark of two threads on this machine, for the whole tier; each task may be tried four times, as on a cluster."""

from collections.abc import Iterator
from typing import Any

import pytest

from support import tiers
from support.validation.spark_session import open_session
from testbed import packages
from testbed.progress import Progress


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tier, before `-m` chooses."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Skip the tier where there is no JVM."""
    chosen = any(item.get_closest_marker("spark") for item in session.items)
    if chosen and (lacking := packages.supply(packages.SPARK, Progress())):
        tiers.skip(session, "spark", f"there is no Java ({packages.install(lacking)})")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield the SparkSession."""
    with open_session(tmp_path_factory.mktemp("spark")) as session:
        yield session
