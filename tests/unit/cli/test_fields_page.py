"""The page of all fields: its tables are those of the CRDs, and its examples are right objects."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from topicschema.api.bounds import faults
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode, unknown_members
from topicschema.cli.fields_page import read_crds, with_tables

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
CRDS = read_crds(ROOT / "crds")
CLASSES: dict[str, Any] = {"SchemaRegistry": SchemaRegistry, "NamespaceSchemaPolicy": NamespaceSchemaPolicy}
CLASSES["TopicSchema"] = TopicSchema
EXAMPLES = [each for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) for each in yaml.safe_load_all(block)]


def test_the_tables_are_current() -> None:
    assert with_tables(PAGE, CRDS) == PAGE, "make generate"


@pytest.mark.parametrize("wire", EXAMPLES, ids=lambda wire: wire["metadata"]["name"])
def test_an_example_is_right(wire: dict[str, Any]) -> None:
    cls = CLASSES[wire["kind"]]
    decode(cls, wire)
    members = {name: value for name, value in wire.items() if name in {"spec", "status"}}
    assert list(faults(cls, {"metadata": {"name": "a"}, **members}, "")) == []
    assert [where for where in unknown_members(cls, members, "") if not where[1].startswith("internal")] == []


@pytest.mark.parametrize(
    ("page", "what"),
    [
        ("# Fields\n", "no section SchemaRegistry"),
        (PAGE.replace("| field | meaning | example |\n|---|---|---|\n", "", 1), "has 0 tables"),
        (PAGE.replace("    teamLabel: team\n", ""), "no spec.validation.teamLabel"),
    ],
)
def test_a_page_that_lacks_something_names_it(page: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        with_tables(page, CRDS)
