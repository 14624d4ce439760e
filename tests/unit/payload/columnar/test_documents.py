"""docs/validation-reasons.md explains every reason and loss of validators and runs, and no other."""

import re
from pathlib import Path

import pytest

from topicschema.payload.columnar.avro.program import LOST
from topicschema.payload.columnar.reasons import REASONS

PAGE = (Path(__file__).parents[4] / "docs" / "validation-reasons.md").read_text()
RULE = re.compile(r"\| ([A-Z0-9_]+) \|")


@pytest.mark.parametrize(("title", "names"), [("Reasons", REASONS[1:]), ("Losses", LOST)])
def test_page_explains_each_name(title: str, names: tuple[str, ...]) -> None:
    [chapter] = re.findall(rf"## {title}\n(.*?)(?:\n## |\Z)", PAGE, re.DOTALL)
    explained = [name for line in chapter.splitlines() for name in RULE.findall(line[: line.find(" |", 2) + 2])]
    assert sorted(explained) == sorted(names)
