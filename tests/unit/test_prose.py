"""Documents are plain English: short sentences, and the terms of Kubernetes, Pulsar and Avro."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from topicschema.cli import arguments

ROOT = Path(__file__).parents[2]
MAX_WORDS = 30
DOCUMENTS = ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "docs/*.md", "docs/decisions/*.md", "docs/spec/*.md")
# Files whose comments are prose.
COMMENTED = (
    "charts/topicschema/values.yaml",
    "charts/topicschema/templates/*.yaml",
    "images/*/*",
    "manifests/**/*.yaml",
)
# Each banned word, as a pattern, with the term to use instead. Code and link targets are not examined.
TERMS = {
    r"anew": "again, restart, retry",
    r"whoever|whomever": "the actor: the operator, the broker, a client, you",
    r"somebody|nobody|everybody|everyone": "the actor: a client, a user, no client, all clients",
    r"rooms?": "package",
    r"doors?": "process, entry point",
    r"rings?|rung|doorbell|bells?": "enqueue, work queue, event",
    r"farewell": "deletion, finalization",
    r"neighbou?rs?": "index, peers",
    r"lanes?": "partition",
    r"finalis\w+": "finalizer, finalize",
    r"told|tells?|telling": "report, print, return, log",
    r"outdone": "lost the claim",
    r"so manieth": "attempt",
    r"chokes?|choked": "fail",
    r"sweep|sweeps|swept": "garbage collection, remove",
    r"mend|mends|mended": "fix",
    r"strays?": "obsolete Job",
    r"gave way|give way": "preempt",
    r"shut out|let in": "access denied, access restored",
    r"unwelcome": "rejected",
    r"companions?": "keys of the same broker",
    r"behind \w+ backs?": "by other clients",
    r"is asked about": "candidate, request",
    r"in force": "effective, Ready, applies",
    r"(?:a|each|every|next|one|the|this) pass|passes over": "reconcile",
    r"seen": "observed, found, read",
    r"kept": "stored, retained, cached",
    r"held": "stored, claimed, blocked",
    r"a look|looks? again|look(?:s|ed|ing)? (?:only )?at": "reconcile, read, check, compare",
    r"on record": "stored, in the history",
    r"so many": "the number",
    r"wanted": "desired, requested",
}
_FENCE = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"\]\([^)\s]*\)")
_BLOCK = re.compile(r"^\s*(?:#+|[*-]|\d+\.|\||$)")
_COMMENT = re.compile(r"(?:^|\s)# ?(.*)")
_END = re.compile(r"[.!?][)\"*_]*$")


def prose(text: str) -> str:
    """Return the text with code and link targets blanked out, its lines where they were."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    def code(match: re.Match[str]) -> str:
        return "CODE" + blank(match)

    return _LINK.sub("]", _CODE.sub(code, _FENCE.sub(blank, text)))


def words(text: str) -> Iterator[tuple[int, str]]:
    """Yield each word with its line. An empty word ends a paragraph, a list item, a heading or a table cell."""
    for line, content in enumerate(prose(text).splitlines(), 1):
        if _BLOCK.match(content):
            yield line, ""
        for word in content.split():
            yield line, "" if word == "|" else word


def sentences(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each sentence with the line on which it begins."""
    start, sentence = 0, list[str]()
    for line, word in (*words(text), (0, "")):
        if re.search(r"\w", word):
            start = start if sentence else line
            sentence.append(word)
        if sentence and (not word or _END.search(word)):
            yield start, sentence
            sentence = []


def long_sentences(name: str, text: str) -> list[str]:
    """Return one line for each sentence that is too long."""
    return [
        f"{name}:{line}: {len(sentence)} words, at most {MAX_WORDS}: {' '.join(sentence[:8])} ..."
        for line, sentence in sentences(text)
        if len(sentence) > MAX_WORDS
    ]


def banned_words(name: str, text: str) -> list[str]:
    """Return one line for each banned word, with the term to use instead."""
    return [
        f"{name}:{line}: {match[0]!r}: write {term}"
        for line, content in enumerate(prose(text).splitlines(), 1)
        for pattern, term in TERMS.items()
        for match in re.finditer(rf"\b(?:{pattern})\b", content, re.IGNORECASE)
    ]


def comments(text: str) -> str:
    """Return only the comments, on the lines where they were. One beside code is a list item, so that it ends there."""
    found = [(_COMMENT.search(line), line.lstrip().startswith("#")) for line in text.splitlines()]
    return "\n".join(f"{'' if alone else '* '}{match[1]}" if match else "" for match, alone in found)


def files(entries: tuple[str, ...]) -> list[str]:
    """Return the files that the entries name: each entry is a path or a pattern."""
    return sorted(str(path.relative_to(ROOT)) for entry in entries for path in ROOT.glob(entry))


def texts(node: Any) -> Iterator[str]:
    """Yield the descriptions of a CRD and the messages of its rules."""
    if isinstance(node, dict):
        yield from (each for key in ("description", "message") if isinstance(each := node.get(key), str))
    if isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from texts(child)


def helps(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the help texts of a command and of its subcommands."""
    yield parser.description or ""
    for action in parser._actions:
        yield action.help or ""
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from helps(command)


def complaints(name: str, text: str) -> str:
    """Return one line for each long sentence and each banned word."""
    return "\n".join(long_sentences(name, text) + banned_words(name, text))


@pytest.mark.parametrize("name", files(DOCUMENTS))
def test_sentences_are_short_and_words_are_those_of_the_field(name: str) -> None:
    assert complaints(name, (ROOT / name).read_text(encoding="utf-8")) == ""


@pytest.mark.parametrize("name", files(COMMENTED))
def test_comments_are_short_and_use_the_words_of_the_field(name: str) -> None:
    assert complaints(name, comments((ROOT / name).read_text(encoding="utf-8"))) == ""


@pytest.mark.parametrize("name", files(("crds/*.yaml",)))
def test_descriptions_of_crds_are_short_and_use_the_words_of_the_field(name: str) -> None:
    found = dict.fromkeys(texts(yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))))
    assert complaints(name, "\n\n".join(found)) == ""


def test_help_texts_are_short_and_use_the_words_of_the_field() -> None:
    assert complaints("help", "\n\n".join(dict.fromkeys(helps(arguments.parser())))) == ""


def test_a_long_sentence_is_reported_with_its_line() -> None:
    text = "# Title\n\nShort. `code.` " + "word " * 15 + "\n" + "word " * 16 + "\n"
    assert long_sentences("a.md", text) == ["a.md:3: 32 words, at most 30: CODE word word word word word word word ..."]


def test_a_paragraph_a_list_item_and_a_table_cell_end_a_sentence() -> None:
    piece = "word " * 20
    assert long_sentences("a.md", f"# {piece}\n\n{piece}\n* {piece}\n1. {piece}\n| {piece}| {piece}|\n") == []


def test_only_comments_are_prose_in_a_file_of_code() -> None:
    text = "# A lane.\nlanes: 1  # a lane\nx: 2\n# Another\n# lane.\n"
    assert comments(text) == "A lane.\n* a lane\n\nAnother\nlane."


def test_a_banned_word_is_reported_with_line_and_term() -> None:
    text = "```\na lane\n```\nThe `lane` of a [lane](lane.md).\n"
    assert banned_words("a.md", text) == ["a.md:4: 'lane': write partition"]
