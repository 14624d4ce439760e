"""Rules by which schemas are refused: the meaning, the remedy, and an example each of a refusal and an accepted schema.

This is the one source: `topicschema explain` prints it, docs/rules.md is generated from it (`make generate`), and the
examples are tests. `core` implements the rules. Their ids are stable.
"""

from topicschema.cli.rules import (
    avro,
    avro_risks,
    key_value,
    others,
    payloads,
    protobuf_native,
    protobuf_risks,
    protobuf_sources,
    risks,
    texts,
)
from topicschema.cli.rules.rule import Chapter, Example, Rule

__all__ = ["CHAPTERS", "Chapter", "Example", "Rule", "every", "find"]

CHAPTERS = (
    others.STRATEGY,
    avro.READING,
    avro_risks.RISKS,
    texts.AVRO,
    key_value.PAIRS,
    protobuf_native.NATIVE,
    protobuf_risks.RISKS,
    protobuf_sources.SOURCES,
    risks.PROPERTIES,
    others.TYPES,
    others.POLICY,
    others.HISTORY,
    payloads.PAYLOADS,
)
"""All rules, in the order of the document."""


def every() -> tuple[Rule, ...]:
    """Return all rules."""
    return tuple(rule for chapter in CHAPTERS for rule in chapter.rules)


def find(name: str) -> Rule | None:
    """Return the rule with that id, in any case, or None."""
    return next((rule for rule in every() if rule.id == name.upper()), None)
