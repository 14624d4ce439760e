"""Docstrings and names are plain: they begin with a verb or a noun and use the terms of the field."""

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from unit.test_prose import TERMS, long_sentences, prose

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "operator" / "topicschema"
# The parts of the tests that are rewritten. Add one when it passes.
TESTS = (
    "conftest.py",
    *("benchmarks", "broker", "cluster", "conformance", "demo", "differential", "e2e", "faults", "hostile", "plugins"),
    *("property", "protobuf_evolution", "spark", "suite", "support", "testbed"),
    *(f"unit/{name}" for name in ("api", "broker", "cluster", "core", "demo", "payload", "protoc", "testbed")),
    *(f"unit/{name}" for name in ("admission", "cli", "judging", "reconcile", "storage", "validation", "webhook")),
    *(f"unit/{path.name}" for path in Path(__file__).parent.glob("*.py")),
)
# These quote the words that they ban.
QUOTING = ("unit/test_docstrings.py", "unit/test_prose.py", "unit/test_old_names.py")
# The banned words of documents hold for comments and messages, too; but a lease and a claim are held.
WORDS = {pattern: term for pattern, term in TERMS.items() if pattern != "held"}
# Docstrings have some more, each as a pattern with the term to use instead.
DOCSTRING_WORDS = WORDS | {
    r"ask(?:s|ed|ing)?": "request, query, call",
    r"look(?:s|ed|ing)?": "check, fetch, search",
    r"(?:\w+'s|the) matter of|is \S+ matter": "see",
    r"sa(?:id|ys?|ying)": "report, message",
    r"wants?": "needs, expects",
}
# Each banned word of a name, with the term to use instead.
NAMES = {
    "anew": "again",
    "around": "context",
    "ask": "request, query",
    "asked": "request",
    "asks": "request, query",
    "bell": "work queue",
    "door": "process",
    "farewell": "deletion",
    "found": "the noun of the thing, result",
    "given": "the noun of the thing",
    "kept": "cached, stored, retained",
    "lane": "partition",
    "look": "fetch, check",
    "looked": "fetched, checked",
    "looking": "fetch, check",
    "nobody": "the actor",
    "patience": "timeout, backoff",
    "ring": "enqueue",
    "room": "package, available",
    "said": "output, message",
    "says": "message, report",
    "seen": "observed, current",
    "somebody": "the actor",
    "stray": "obsolete",
    "sweep": "collect",
    "sweeper": "collector",
    "tell": "report, write",
    "telling": "report, status",
    "tells": "report",
    "told": "message, reported",
    "wanted": "desired",
    "whoever": "the actor",
}
STANDARD = re.compile("not_?found", re.IGNORECASE)  # Kubernetes, HTTP and Python have this error
QUESTION = re.compile(
    r"(?:What|Whether|How|Who(?:se|ever)?|Where|Which|When|Why|Here|Is|Are|Does|Do (?!nothing)|Has|Have|Was|Can)\b"
)
ARTICLE = re.compile(r"(?:The|An?|All|Each|Every|That|Those|As|Nothing|None|True|False|Yes|One)\b")
Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> list[str]:
    """Return the modules of the product and of the rewritten tests."""
    tests = ROOT / "tests"
    paths = {path for name in TESTS for path in [tests / name, *(tests / name).rglob("*.py")] if path.suffix}
    paths -= {tests / name for name in QUOTING}
    return sorted(str(path.relative_to(ROOT)) for path in {*PRODUCT.rglob("*.py"), *paths})


def is_property(node: Definition | None) -> bool:
    """Return True if the docstring is that of a property, which names a thing."""
    if not isinstance(node, ast.FunctionDef):
        return False
    return any(ast.unparse(each).endswith("property") for each in node.decorator_list)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, Definition | None, str]]:
    """Yield line, definition and text of each docstring. That of a constant or a field has no definition."""
    for node in ast.walk(tree):
        if isinstance(node, Definition):
            for statement in node.body:
                match statement:
                    case ast.Expr(ast.Constant(str(text))):
                        yield statement.lineno, node if statement is node.body[0] else None, inspect.cleandoc(text)


def banned_words(place: str, text: str, words: Mapping[str, str]) -> Iterator[str]:
    """Yield one line for each banned word of the text, with the term to use instead."""
    for pattern, term in words.items():
        for match in re.finditer(rf"\b(?:{pattern})\b", prose(text), re.IGNORECASE):
            yield f"{place}: {match[0]!r}: write {term}"


def docstring_complaints(name: str, source: str) -> Iterator[str]:
    """Yield one line for each fault of a docstring."""
    for line, node, text in docstrings(ast.parse(source)):
        place = f"{name}:{line}"
        if QUESTION.match(text):
            yield f"{place}: begins with {text.split()[0]!r}: begin with a verb or a noun"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_property(node) and ARTICLE.match(text):
            yield f"{place}: begins with {text.split()[0]!r}: begin with a verb"
        yield from banned_words(place, text, DOCSTRING_WORDS)
        yield from long_sentences(place, text)


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield each name that the module defines, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def name_complaints(name: str, source: str) -> Iterator[str]:
    """Yield one line for each name with a banned word."""
    for line, identifier in names(ast.parse(source)):
        for word in re.findall("[A-Z]*[a-z]+|[A-Z]+", STANDARD.sub("", identifier)):
            if word.lower() in NAMES:
                yield f"{name}:{line}: {identifier!r}: write {NAMES[word.lower()]}"


def message_complaints(name: str, source: str) -> Iterator[str]:
    """Yield one line for each banned word of a comment, or of a text that has a space."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from banned_words(f"{name}:{token.start[0]}", token.string, WORDS)
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(str(text)) if " " in text:
                yield from banned_words(f"{name}:{node.lineno}", text, WORDS)


@pytest.mark.parametrize("name", modules())
def test_docstrings_and_names_are_plain(name: str) -> None:
    source = (ROOT / name).read_text(encoding="utf-8")
    complaints = list(docstring_complaints(name, source))
    complaints += [*name_complaints(name, source), *message_complaints(name, source)]
    assert not complaints, "\n".join(complaints)


def test_a_question_and_an_article_are_reported() -> None:
    source = 'def f():\n  """Whether it is."""\ndef g():\n  """The thing."""\nclass C:\n  """The thing."""\n'
    assert list(docstring_complaints("a.py", source)) == [
        "a.py:2: begins with 'Whether': begin with a verb or a noun",
        "a.py:4: begins with 'The': begin with a verb",
    ]


def test_a_banned_word_of_a_docstring_or_a_name_is_reported_with_the_term() -> None:
    source = 'def tell(x, NotFoundError):\n    """Return `told` as told."""\n    seen_last = self.kept = 1\n'
    assert list(docstring_complaints("a.py", source)) == ["a.py:2: 'told': write report, print, return, log"]
    assert list(name_complaints("a.py", source)) == [
        "a.py:1: 'tell': write report, write",
        "a.py:3: 'seen_last': write observed, current",
        "a.py:3: 'kept': write cached, stored, retained",
    ]


def test_a_banned_word_of_a_comment_or_a_message_is_reported_with_the_term() -> None:
    source = 'x = f"{told} as told"  # nobody knows\ny = "told"\n'
    assert list(message_complaints("a.py", source)) == [
        "a.py:1: 'nobody': write the actor: a client, a user, no client, all clients",
        "a.py:1: 'told': write report, print, return, log",
    ]
