"""Judges that end with their test."""

from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from support.kubernetes.memory_storage import MemoryStorage
from topicschema.judging.judge import Judge
from topicschema.storage.protocol import SchemaStorage


class JudgeOf(Protocol):
    """Constructor of judges."""

    def __call__(self, storage: SchemaStorage = ..., **options: Any) -> Judge:
        """Return a judge of the storage, empty by default."""


@pytest.fixture
def judge_of() -> Iterator[JudgeOf]:
    """Return a constructor of judges that are closed after the test."""
    judges = list[Judge]()

    def judge_of(storage: SchemaStorage | None = None, **options: Any) -> Judge:
        judges.append(Judge(storage or MemoryStorage(), **options))
        return judges[-1]

    yield judge_of
    for each in judges:
        each.close()
