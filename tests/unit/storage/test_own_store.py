"""The store in docs/storage.md fulfills the contract, by the tests that the page shows."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "storage.md"


def module(name: str, text: str) -> ModuleType:
    made = ModuleType(name)
    exec(compile(text, f"{PAGE}: {name}", "exec"), made.__dict__)  # noqa: S102 - the page is ours
    return made


STORE, TESTS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
sys.modules["acme_storage"] = module("acme_storage", STORE)
_SHOWN: Any = module("acme_storage_tests", TESTS).TestSqliteStorage


class TestSqliteStorage(_SHOWN):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Iterator[object]:
        self.opened = [storage := sys.modules["acme_storage"].SqliteStorage(tmp_path / "record.db", fence=lambda: None)]
        yield storage
        for each in self.opened:
            each.database.close()

    def another(self, storage: object) -> object:
        self.opened.append(made := super().another(storage))
        return made
