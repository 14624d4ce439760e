"""Generator of docs/rules.md from `rules`: `python -m topicschema.cli.rules_page docs/rules.md` (`make generate`)."""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from topicschema.cli import rules
from topicschema.cli.check.excerpt import printable
from topicschema.cli.rules import Chapter, DocumentedRule
from topicschema.cli.rules.examples import Example, PayloadExample
from topicschema.core.severity import severity_of

_WIDTH: Final = 120
_LONGEST: Final = 400
_HEAD: Final = """<!-- made by `make generate` from operator/topicschema/cli/rules; edit there -->
# Rules

Every rejection has one of these ids, a JSON path from `$` into the schema's text, and a sentence. Ids are
stable, so scripts can use them. A rejection that compares two versions also has the direction and the
version. `topicschema explain RULE` prints the text of a rule.

The verdicts are those of a Pulsar 4.0 broker (Avro 1.11.4), down to its peculiarities. Examples with `Pulsar 4.1` are
those of 4.1 and later (Avro 1.12.0). If the broker would answer with an error (HTTP 500), the verdict is no, with the
reason. A rule has an example that it rejects and one that passes. Tests run both. Rules that no schema text can
show have no examples."""


def page() -> str:
    """Return the whole document."""
    return "\n\n".join((_HEAD, *(part for each in rules.chapters() for part in _chapter(each)))) + "\n"


def example(shown: Example) -> str:
    """Return the example's texts, each under its name, with the other terms of the request."""
    return "\n".join(_example(shown))


def _chapter(chapter: Chapter) -> Iterator[str]:
    yield f"## {chapter.title}"
    if chapter.introduction:
        yield _filled(chapter.introduction)
    for rule in chapter.rules:
        yield from _rule(rule)
    if chapter.conclusion:
        yield "### What is not compared"
        yield _filled(chapter.conclusion)


def _rule(rule: DocumentedRule) -> Iterator[str]:
    yield f"### {rule.id}"
    yield _filled(rule.meaning)
    yield _filled(f"*To do:* {rule.advice}")
    severity = severity_of(rule.id)
    if severity is not None:
        yield f"*Breaks:* {severity} ({severity.meaning})"
    for title, shown in (("Refused:", rule.refused), ("Passes:", rule.accepted)):
        if shown is not None:
            yield f"{title}\n\n```text\n{example(shown)}\n```"


def _example(shown: Example) -> Iterator[str]:
    yield from shown.terms
    if isinstance(shown, PayloadExample):
        for name, text in shown.shown:
            yield f"{name}:"
            yield from _text(text)
        return
    if shown.earlier is not None:
        yield "version 0:"
        yield from _text(shown.earlier)
    yield "candidate:"
    yield from _text(shown.candidate)


def _text(text: str) -> Iterator[str]:
    if len(text) > _LONGEST:
        text = f"{text[:54]}... ({len(text):,} characters)"
    for line in text.strip("\n").splitlines() or ["(empty)"]:
        yield f"  {printable(line)}"


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
