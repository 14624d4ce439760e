"""What a person reads as a condition's reason has a line in the manual that says what to do."""

import re
from pathlib import Path

import pytest

from topicschema.cli.rules import reasons

ROOT = Path(__file__).parents[2]
FOLDERS = ("api", "broker", "core", "judging", "protoc", "reconcile", "storage")
SOURCES = sorted(source for folder in FOLDERS for source in (ROOT / "operator" / "topicschema" / folder).rglob("*.py"))
RAISED = re.compile(r'(?:\w+Error|super\(\)\.__init__)\(\s*"([A-Z][a-z]+[A-Z]\w+)"')
NEVER_SHOWN = {"InvalidHistory", "InvalidPayload", "SchemaNotFound"}  # a rule of the verdict, a message's, an answer
TABLE = (ROOT / "docs" / "operations.md").read_text().partition("## Condition reasons")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    "reason", sorted({found for source in SOURCES for found in RAISED.findall(source.read_text())} - NEVER_SHOWN)
)
def test_the_manual_says_what_a_reason_asks_for(reason: str) -> None:
    assert f"`{reason}`" in TABLE
    assert reasons.find(reason) is not None


def test_every_folder_is_there() -> None:
    assert [folder for folder in FOLDERS if not (ROOT / "operator" / "topicschema" / folder).is_dir()] == []


def test_explain_prints_a_reason_without_marks() -> None:
    name, text = reasons.find("historylost") or ("", "")
    assert name == "HistoryLost"
    assert text.startswith("Stalled: The stored history has fewer versions than the status")
    assert not set("`|]") & set(text)
    assert (reasons.find("ValidationFailed") or ("", ""))[1].count("\n\n") == 1
    assert reasons.find("PulsarVersionMismatch") is not None
