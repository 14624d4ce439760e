"""docs/validation-reasons.md names every reason and loss that a validator or a run can give, and none that none can."""

import re
from pathlib import Path

from topicschema.payload.columnar import factory, key_value, primitives
from topicschema.payload.columnar.avro import reasons
from topicschema.payload.columnar.avro.branches import LOST
from topicschema.payload.columnar.base import Reasons
from topicschema.payload.columnar.json import codegen, leaves, validator
from topicschema.payload.columnar.protobuf import validator as protobuf
from topicschema.validation.run import judging

PAGE = (Path(__file__).parents[4] / "docs" / "validation-reasons.md").read_text()
RULE = re.compile(r"\| ([A-Z0-9_]+) \|")
TABLES: list[Reasons] = [validator.REASONS, key_value.REASONS, protobuf.REASONS, *primitives.REASONS.values()]


def on_the_page(title: str) -> list[str]:
    [chapter] = re.findall(rf"## {title}\n(.*?)(?:\n## |\Z)", PAGE, re.DOTALL)
    return [name for line in chapter.splitlines() for name in RULE.findall(line[: line.find(" |", 2) + 2])]


def test_every_reason_is_explained_and_no_other() -> None:
    told = {reason for table in TABLES for reason in table} | factory.REASONS | set(reasons.REASONS[1:])
    of_runs = {judging.UNKNOWN_VERSION, *judging.UNJUDGED.values()}
    assert sorted(on_the_page("Reasons")) == sorted(told | of_runs)


def test_every_loss_is_explained_and_no_other() -> None:
    assert {leaves.PRECISION_LOST, codegen.FIELD_DROPPED} <= set(LOST)
    assert sorted(on_the_page("Losses")) == sorted(LOST)
