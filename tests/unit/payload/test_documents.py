"""docs/payloads.md names every rule there is, and none that there is not."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "payloads.md").read_text()
RULE = re.compile(r"[A-Z0-9]+(?:_[A-Z0-9]+)+|SYNTAX|TRUNCATED|UNRESOLVABLE")
OF_SCHEMAS = {"UNSUPPORTED_TYPE", "UNKNOWN_ENCODING", "UNKNOWN_CHARSET", "MISSING_PARSING_INFO", "READ_OFFSET"}
OTHER_NAMES = {"TRAILING_TEXT", "KEY_VALUE"}  # core's rule for what is TRAILING_BYTES here; a type

OF_COLUMNS = {"columnar"}  # their reasons are on a page of their own


def rules_in_code() -> set[str]:
    texts = {
        node.value
        for path in (ROOT / "operator" / "topicschema" / "payload").rglob("*.py")
        if not OF_COLUMNS & set(path.parts)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text for text in texts if RULE.fullmatch(text)} - OTHER_NAMES - OF_SCHEMAS


def rules_on_the_page() -> set[str]:
    [table] = re.findall(r"## Rules\n(.*?)\n## ", PAGE, re.DOTALL)
    return {name for row in table.splitlines()[3:] for name in RULE.findall(row.split("|")[1]) if row}


def test_every_rule_is_explained_and_no_other() -> None:
    assert rules_in_code() == rules_on_the_page()
