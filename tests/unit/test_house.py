"""The house rules that no other tool holds."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "operator").rglob("*.py")) + sorted((ROOT / "tests").rglob("*.py"))
BANNED = ("util", "helper", "common", "manager", "processor")


def test_the_source_root_named_operator_is_no_package_or_the_standard_library_would_break() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists()


def test_no_module_or_folder_has_a_name_that_says_nothing() -> None:
    names = {part for path in SOURCES for part in path.relative_to(ROOT).with_suffix("").parts}
    assert {name for name in names if any(word in name.split("_") for word in BANNED)} == set()


def test_nobody_mocks() -> None:
    offenders = [path for path in SOURCES if "unittest" + ".mock" in path.read_text()]
    assert offenders == []


def test_what_a_test_can_be_told_stands_in_a_document() -> None:
    variable = re.compile("TOPICSCHEMA_" + r"TEST_[A-Z_]*[A-Z]")
    told = {name for page in ("README.md", "docs/testing.md") for name in variable.findall((ROOT / page).read_text())}
    assert {name for path in SOURCES for name in variable.findall(path.read_text())} == told
