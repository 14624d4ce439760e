"""YAML that every reader takes for the same texts: YAML 1.1 and 1.2, PyYAML, and go-yaml, with which kubectl reads.

A text stands plain only if it is a word that no reader takes for something else.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from topicschema.cli.inputs import go_yaml

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(:[A-Za-z0-9_./-]+)*")
_IN_BLOCKS: Final = re.compile(
    "[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*"
)
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_LONGEST_KEY: Final = 1_000
"""YAML's limit for a key without a question mark is 1,024."""


def rendered(resource: Mapping[str, Any]) -> str:
    """Return the resource, an object of objects and texts, as YAML."""
    return "".join(_members(resource, ""))


def is_block(text: str) -> bool:
    """Return True if the text has several lines and can be a literal block."""
    return "\n" in text.strip("\n") and _IN_BLOCKS.fullmatch(text) is not None


def _members(members: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in members.items():
        key = _word(name)
        yield f"{indent}{key}:" if len(key) < _LONGEST_KEY else f"{indent}? {key}\n{indent}:"
        if isinstance(value, str):
            yield _block(value, indent + "  ") if is_block(value) else f" {_word(value)}\n"
        elif value:
            yield "\n"
            yield from _members(value, indent + "  ")
        else:
            yield " {}\n"


def _word(text: str) -> str:
    if _PLAIN.fullmatch(text) and go_yaml.resolved(text.lower()) == text.lower():
        return text
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


def _block(text: str, indent: str) -> str:
    indicator = "2" if text[0].isspace() else ""
    chomping = "+" if text.endswith("\n\n") else "" if text.endswith("\n") else "-"
    lines = text.removesuffix("\n").split("\n")
    return f" |{indicator}{chomping}\n" + "".join(f"{indent}{line}\n" if line else "\n" for line in lines)
