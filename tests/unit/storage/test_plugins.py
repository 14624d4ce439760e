"""The store that a setting names."""

import sys
from pathlib import Path

import pytest

from topicschema.settings import InvalidSettingError, ServerSettings, Settings
from topicschema.storage.kubernetes.storage import KubernetesStorage

SOURCE = "def open_store(client, namespace, *, identity='', cache_bytes=0):\n    pass\n\nTEXT = ''\n"
ENTRIES = "[topicschema.storage]\nacme = acme_store:open_store\ntext = acme_store:TEXT\nmissing = acme_store:nothing\n"


@pytest.fixture(autouse=True)
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a distribution with the stores, as an installer does."""
    info = tmp_path / "acme_store-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-store\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "acme_store.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_the_default_is_the_store_in_kubernetes() -> None:
    assert Settings.load({}).storage is ServerSettings.load({}).storage is KubernetesStorage
    assert Settings.load({"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE": "kubernetes"}).storage is KubernetesStorage


def test_an_entry_point_makes_the_store_of_both_processes() -> None:
    for settings in (Settings, ServerSettings):
        made = settings.load({"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE": "acme"}).storage
        assert made.__module__ == "acme_store"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("postgres", "there is no store 'postgres', but acme, kubernetes, missing, postgresql, text"),
        ("text", "the store 'text' cannot be used: acme_store:TEXT is not callable"),
        ("missing", "the store 'missing' cannot be used: AttributeError"),
    ],
)
def test_a_store_that_cannot_be_used_ends_the_process(name: str, message: str) -> None:
    with pytest.raises(InvalidSettingError) as refused:
        Settings.load({"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE": name})
    assert str(refused.value).startswith(f"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE: {message}")


def test_a_store_whose_packages_are_missing_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "alembic", None)
    monkeypatch.delitem(sys.modules, "topicschema.storage.postgresql.database", raising=False)
    monkeypatch.delitem(sys.modules, "topicschema.storage.postgresql.storage", raising=False)
    with pytest.raises(InvalidSettingError, match=r"alembic: pip install 'topicschema\[postgresql\]'"):
        Settings.load({"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE": "postgresql"})
