"""`topicschema explain`: a rule with remedy and examples, or what to do about a reason of a condition or Event."""

import textwrap
from argparse import Namespace
from collections.abc import Iterator

from topicschema.cli import plugins, rules
from topicschema.cli.check.excerpt import WIDTH
from topicschema.cli.exits import COMPATIBLE
from topicschema.cli.inputs.files import UsageError
from topicschema.cli.rules import DocumentedRule, reasons
from topicschema.cli.rules_page import example
from topicschema.core.checkers import Checkers
from topicschema.core.severity import severity_of


def run(options: Namespace) -> int:
    """Print the rules or reasons, or all of them in a line each."""
    checkers = plugins.load()
    texts = [_text(each, checkers) for each in options.names] or ["\n".join(_list(checkers))]
    print("\n\n\n".join(texts))
    return COMPATIBLE


def _text(name: str, checkers: Checkers) -> str:
    rule, reason = rules.find(name), reasons.find(name)
    if rule is not None:
        return "\n".join(_explained(rule))
    if reason is not None:
        return "\n".join((reason[0], *(textwrap.fill(each, WIDTH) for each in reason[1].split("\n\n"))))
    others = f"; see {' or '.join(each.name for each in checkers.values())}" if checkers else ""
    raise UsageError(
        f"there is no rule and no reason {name!r}; topicschema explain lists them all, and "
        f"docs/validation-reasons.md has those of messages{others}"
    )


def _list(checkers: Checkers) -> Iterator[str]:
    for chapter in rules.chapters():
        yield chapter.title
        yield from (_row(rule.id, _plain(rule.meaning)) for rule in chapter.rules)
        yield ""
    yield "Reasons of conditions and Events"
    yield from (_row(name, texts[0]) for name, texts in reasons.every().items())
    yield ""
    yield "topicschema explain NAME prints the details of one."
    if checkers:
        yield "\nPlugged-in checkers, with their own rules:"
        yield from (f"  {kind:17}{each.name}" for kind, each in checkers.items())


def _row(name: str, text: str) -> str:
    width = max(len(rule.id) for rule in rules.every()) + 2
    return f"  {name:{width}}{textwrap.shorten(text, WIDTH - 2 - width, placeholder=' ...')}"


def _explained(rule: DocumentedRule) -> Iterator[str]:
    yield rule.id
    yield textwrap.fill(_plain(rule.meaning), WIDTH)
    yield ""
    yield textwrap.fill(f"To do: {_plain(rule.advice)}", WIDTH)
    severity = severity_of(rule.id)
    if severity is not None:
        yield f"\nBreaks: {severity} ({severity.meaning})"
    for title, shown in (("Refused", rule.refused), ("Passes", rule.accepted)):
        if shown is not None:
            yield f"\n{title}:"
            yield textwrap.indent(example(shown), "  ")


def _plain(text: str) -> str:
    """Return the sentences without Markdown's marks."""
    return text.replace("`", "").replace("*", "")
