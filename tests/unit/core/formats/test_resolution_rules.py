from pathlib import Path

import pytest

from topicschema.core.formats.avro.resolution.findings import _MESSAGES, Rule

RULES = (Path(__file__).parents[4] / "docs" / "rules.md").read_text()


@pytest.mark.parametrize("rule", Rule)
def test_every_rule_of_reading_has_words_and_is_explained_with_a_bad_and_a_good_example(rule: Rule) -> None:
    explained = RULES.split(f"\n### {rule}\n")[1].split("\n#")[0]
    assert "*To do:*" in explained
    assert rule in _MESSAGES
    assert "\nRefused:\n" in explained
    assert "\nPasses:\n" in explained
