"""The documents of payloads, validation reasons and Spark types name every rule, reason and loss, and no other."""

import ast
import re
from pathlib import Path

import pytest

from topicschema.payload.arrow.decoder import OWN_REASONS
from topicschema.payload.columnar.avro.program import LOST
from topicschema.payload.columnar.reasons import REASONS

ROOT = Path(__file__).parents[3]
RULE = re.compile(r"[A-Z0-9]+(?:_[A-Z0-9]+)+|SYNTAX|TRUNCATED|UNRESOLVABLE")
OF_SCHEMAS = {"UNSUPPORTED_TYPE", "UNKNOWN_ENCODING", "UNKNOWN_CHARSET", "MISSING_PARSING_INFO", "READ_OFFSET"}
OTHER_NAMES = {"TRAILING_TEXT", "KEY_VALUE"}  # core's rule for what is TRAILING_BYTES here; a type


def chapter(page: str, title: str) -> str:
    [text] = re.findall(rf"## {title}\n(.*?)(?:\n## |\Z)", (ROOT / "docs" / page).read_text(), re.DOTALL)
    return text


def rules_in_code() -> set[str]:
    texts = {
        node.value
        for path in (ROOT / "operator" / "topicschema" / "payload").rglob("*.py")
        if not {"arrow", "columnar"} & set(path.parts)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text for text in texts if RULE.fullmatch(text)} - OTHER_NAMES - OF_SCHEMAS


def test_every_rule_is_explained_and_no_other() -> None:
    rows = chapter("payloads.md", "Rules").splitlines()[3:]
    assert {name for row in rows if row for name in RULE.findall(row.split("|")[1])} == rules_in_code()


@pytest.mark.parametrize(("title", "names"), [("Reasons", REASONS[1:]), ("Losses", LOST)])
def test_each_reason_and_loss_of_columns_is_explained_and_no_other(title: str, names: tuple[str, ...]) -> None:
    explained = re.findall(r"^\| ([A-Z0-9_]+) \|", chapter("validation-reasons.md", title), re.MULTILINE)
    assert sorted(explained) == sorted(names)


def test_each_rule_that_refuses_a_column_is_explained_and_each_reason_of_its_own() -> None:
    code = "".join(each.read_text() for each in (ROOT / "operator" / "topicschema" / "payload" / "arrow").rglob("*.py"))
    refused = re.findall(r"^\| ([A-Z_]+) \|", chapter("spark-types.md", "Refused schemas"), re.MULTILINE)
    assert set(refused) == set(re.findall(r'InvalidSchemaError\(\s*"([A-Z_]+)"', code))
    own = re.findall(r"^\| ([A-Z_]+) \|", chapter("spark-types.md", "Bad messages"), re.MULTILINE)
    assert own == [*OWN_REASONS]
