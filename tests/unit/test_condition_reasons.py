"""Each condition reason has a line in the manual with advice."""

from pathlib import Path
from typing import Any

import pytest

from topicschema.cli.reasons_page import with_tables
from topicschema.cli.rules import reasons as explained
from topicschema.core import reasons
from topicschema.core.reasons import Category, Reason

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
TABLES = PAGE.read_text().partition("## Condition reasons")[2].partition("\n## ")[0]
INACTIVE = {
    Reason.REGISTRY_NOT_FOUND,
    Reason.POLICY_NOT_FOUND,
    Reason.CLAIM_NOT_ALLOWED,
    Reason.TOPIC_ALREADY_CLAIMED,
}


@pytest.mark.parametrize("reason", [each for each in Reason if each.condition])
def test_the_manual_and_explain_have_advice_for_each_reason(reason: Reason) -> None:
    assert f"`{reason}`" in TABLES
    assert explained.find(reason) is not None


def test_the_tables_of_the_manual_are_current() -> None:
    assert with_tables(PAGE.read_text()) == PAGE.read_text()


def test_a_new_reason_is_one_line_and_its_row_appears() -> None:
    line = '    DISK_FULL = "DiskFull", Category.BROKER, _RECONCILING, "Free some space."\n'
    before, mark, after = Path(reasons.__file__).read_text().partition("    SUSPENDED =")
    module: dict[str, Any] = {"__name__": "extended"}
    exec(before + line + mark + after, module)  # noqa: S102  # the module's own source with one more line
    rows = list(module["table"](events=False))

    assert "| `DiskFull` | Reconciling | Free some space. |" in rows
    assert len(rows) == len(list(reasons.table(events=False))) + 1
    assert any("`DiskFull`" in row for row in rows if row.startswith("| `BrokerUnavailable`"))


def test_a_reason_of_another_release_is_unknown() -> None:
    assert Reason.of("Registered") is Reason.REGISTERED
    unknown = Reason.of("OfAnotherRelease")
    assert (unknown, unknown.category, unknown.refuses_spec) == ("", Category.OTHER, False)


def test_access_ends_without_a_policy_that_governs_or_with_an_invalid_spec() -> None:
    invalid = {Reason.INVALID_RESOURCE, Reason.INVALID_SCHEMA, Reason.INVALID_TOPIC}
    assert {each for each in Reason if each.category is Category.INVALID} == invalid
    assert {each for each in Reason if each.revokes_access} == INACTIVE | invalid | {Reason.BROKER_NOT_ALLOWED}


def test_explain_prints_a_reason_without_marks() -> None:
    name, text = explained.find("historylost") or ("", "")
    assert name == "HistoryLost"
    assert text.startswith("Stalled: The stored history has fewer versions than the status")
    assert not set("`|]") & set(text)
    assert (explained.find("ValidationFailed") or ("", ""))[1].count("\n\n") == 1
    assert explained.find("PulsarVersionMismatch") is not None
