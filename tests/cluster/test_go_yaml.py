"""Manifests are read and written as kubectl does: compared with sigs.k8s.io/yaml itself, on random texts."""

import base64
import json
import random
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from support import sizes
from testbed.build import Recipe, build
from testbed.progress import Progress
from topicschema.cli.commands.manifest import manifest
from topicschema.cli.inputs import go_yaml
from topicschema.cli.inputs.go_yaml import YamlError
from topicschema.cli.manifest import writing

pytestmark = pytest.mark.cluster
MODULE = Path(__file__).parents[1] / "testbed" / "go_yaml"
SEED = sizes.SEED
COUNT = sizes.sized(10_000, 200_000)
WORDS = """
y n Y N yes No on OFF true TRUE tRue null Null ~ 08 09 0128 0777 00 0 007 0o17 0o 0x1F 0xZ 0x 0b101 0b 0b2 0b-1 -0b1
+0b1 1_000 _1 1_ +_1 0_8 1e3 1E5 12e5 1.e3 0e0 0.1e1 .5 .5e3 -1e3 1e+3 +12 -0x1F +.5 -.5 1. 1..2 + - -0 -0.0 1e999
1e-999 .5e999 1234e56 1e20 1e21 0.1 1.5 123456789.125 18446744073709551615 18446744073709551616 -9223372036854775808
-9223372036854775809 9223372036854775808 .inf -.Inf +.inf .nan 12:30:45 190:20:30 2001-12-14
2001-12-14t21:59:43.10-05:00 2026-02-30 << = e3 .e3 1e word a-b http://x/y a: x:y -x :x %a @a `a a#b #c é 日本 😀 'q'
'it''s' "d" [] {} ... --- \\ / // /* */ & * &a *a | >-
"""
PHRASES = (
    *("", " ", "a b", "a: b", "a #b", "a\tb", "a\x85b", "\x85", "\u2028", "\ufeff", "\xa0", "\x7f", "\x1b", "\uffff"),
    *('"\\x41\\u0085\\N"', "[a, b]", "{a: b}", "{a: 1, b: }", "? x", "- x", "&b x", "{{ .Values.x }}", "!!str 12"),
    *('!!int "12"', "!!int 1.5", "!!float 1", "!!bool yes", "!!null ''"),
)
SCALARS = (*WORDS.split(), *PHRASES)
NAMES = "a b c spec y n 1 1.5 1e6 1e3 8.0 true 08 ~ null 'y' << 1e300 123456 1234567 0.0001 0.00001 16777217.0 é 1_0"
KEYS = (*NAMES.split(), "a b", '"a"')
STRICTER = (
    "is not for Kubernetes",
    "has no value after it",
    "stands here again",
    "cannot be the name",
    "unexpected ':'",
    "tag URI",
    "whitespace",
    "escape character",
    "document start",
    "NaN and infinity",
    "U+FEFF",
)
"""Errors of ours for texts that kubectl reads.

These are odd tags, doubled members, flow syntax that few readers accept, text after the first document, and infinity in
the first of two doubled members. kubectl skips text after a document. To Go, the comma in `[!!int, 1]` is a part of the
tag.
"""


class Answer(NamedTuple):
    """The result of sigs.k8s.io/yaml for a text."""

    value: Any
    error: str


@pytest.fixture(scope="module")
def program() -> Path:
    return build(Recipe("go-yaml", MODULE, {"go-yaml": "."}, "-s -w"), Progress()) / "go-yaml"


def answers(program: Path, texts: Iterable[str]) -> list[Answer]:
    lines = "".join(base64.b64encode(each.encode()).decode() + "\n" for each in texts)
    done = subprocess.run([program], input=lines.encode(), capture_output=True, check=True)
    return [Answer(each["json"], each["error"]) for each in map(json.loads, done.stdout.split(b"\n")[:-1])]


def ours(text: str) -> Answer:
    try:
        roots = [each.value for each in go_yaml.documents(go_yaml.decoded(text.encode()))]
        return Answer(json.loads(json.dumps(roots[0] if roots else None)), "")
    except YamlError as error:
        return Answer(None, error.why)


def skips_the_rest(text: str, theirs: Answer) -> bool:
    """Return True if kubectl's answer is the list or mapping at the begin of the text. kubectl skips what follows."""
    ends = (at for at, character in enumerate(text, 1) if character in "]}")
    return not theirs.error and any(ours(text[:end]) == theirs for end in ends)


class Texts:
    """Random YAML, most of it valid."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)  # noqa: S311  # texts, not secrets

    def flow(self, depth: int) -> str:
        kind = self.random.random()
        if depth == 0 or kind < 0.5:
            return self.random.choice(SCALARS)
        parts = [self.flow(depth - 1) for _ in range(self.random.randrange(4))]
        if kind < 0.75:
            return f"[{', '.join(parts)}]"
        return f"{{{', '.join(f'{self.random.choice(KEYS)}: {each}' for each in parts)}}}"

    def block(self, depth: int, indent: str = "") -> str:
        if depth == 0 or self.random.random() < 0.1:
            return f"{indent}{self.random.choice(SCALARS)}\n"
        if self.random.random() < 0.2:
            return "".join(f"{indent}- {self.block(depth - 1, indent + '  ')[len(indent) + 2 :]}" for _ in range(2))
        return "".join(self.member(depth, indent) for _ in range(self.random.randrange(1, 5)))

    def member(self, depth: int, indent: str) -> str:
        start = f"{indent}{self.random.choice(KEYS)}:"
        kind = self.random.random()
        if kind < 0.5:
            return f"{start} {self.flow(1)}\n"
        if kind < 0.7:
            lines = "".join(f"{indent}  {self.random.choice(('', ' '))}{self.flow(0)}\n" for _ in range(2))
            return f"{start} {self.random.choice(('|', '>', '|-', '>-', '|+', '|2'))}\n{lines}"
        anchor = " &a" if kind < 0.75 else ""
        return f"{start}{anchor}\n{self.block(depth - 1, indent + '  ')}"

    def changed(self, text: str) -> str:
        if self.random.random() < 0.7 or not text:
            return text
        at = self.random.randrange(len(text))
        return text[:at] + self.random.choice("\t \n:-#,[]{}'\"*|>\\a1?") + text[at + self.random.randrange(2) :]

    def written(self) -> str:
        if self.random.random() < 0.4:
            return self.random.choice(SCALARS)
        lines = (
            "".join(self.random.choices((*SCALARS, " ", "  ", '"', "\r"), k=3)) for _ in range(self.random.randrange(4))
        )
        return "\n".join(lines) + self.random.choice(("", "\n", "\n\n"))


def test_a_text_is_read_as_kubectl_reads_it(program: Path) -> None:
    texts = Texts(SEED)
    inputs = [f"{form}\n".format(each) for each in (*SCALARS, *KEYS) for form in ("a: {0}", "{0}: v", "- {0}")]
    inputs += [texts.changed(texts.block(3) if texts.random.random() < 0.6 else texts.flow(3)) for _ in range(COUNT)]
    wrong = []
    for text, theirs in zip(inputs, answers(program, inputs), strict=True):
        answer = ours(text)
        if (bool(answer.error), answer.value) == (bool(theirs.error), theirs.value):
            continue
        is_stricter = bool(answer.error) and any(each in answer.error for each in STRICTER)
        if not is_stricter and not (answer.error and skips_the_rest(text, theirs)):
            wrong.append((text, answer, theirs))
    assert not wrong, f"seed {SEED}: {len(wrong)}: {min(wrong, key=lambda each: len(each[0]))}"


def test_every_reader_reads_what_was_written(program: Path) -> None:
    texts = Texts(SEED)
    resources = [
        manifest(
            "persistent://a/b/c",
            {
                "type": "AVRO",
                "properties": {texts.written(): texts.written(), texts.written() * 50: texts.written()},
                "protobuf": {"message": texts.written(), "files": {texts.written(): texts.written()}},
                "schema": texts.written(),
            },
            texts.written(),
            texts.written(),
        )
        for _ in range(COUNT // 20)
    ]
    rendered = [writing.rendered(each) for each in resources]
    for resource, text, theirs in zip(resources, rendered, answers(program, rendered), strict=True):
        assert theirs == Answer(resource, ""), f"seed {SEED}: {text}"
        assert ours(text) == Answer(resource, ""), f"seed {SEED}: {text}"
        assert yaml.safe_load(text) == resource, f"seed {SEED}: {text}"
