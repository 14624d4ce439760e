"""Rules by which schemas are refused: the meaning, the remedy, and an example each of a refusal and an accepted schema.

The YAML files beside this module are the one source, a chapter each: `topicschema explain` prints them, docs/rules.md
is generated from them (`make generate`), and the examples are tests. `core` implements the rules. Their ids are stable.

`refused` and `accepted` have the fields of a class in `examples` by their names in camelCase; a text alone is the
candidate. With a `file` it is a ProtoExample, with a `payload` or `value` a PayloadExample. `examples` has what
all examples of a chapter, or both of a rule, have in common. `encoding` is the candidate's, if it is not UTF-8.
`repeat` maps parts of the candidate to the number of times that each is repeated, for texts that would fill pages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from topicschema.api.wire import decode, unknown_members
from topicschema.cli.rules.examples import Example, PayloadExample, ProtoExample

_CHAPTERS: Final = (
    "strategy",
    "avro",
    "avro-risks",
    "avro-texts",
    "key-value",
    "protobuf-native",
    "protobuf-risks",
    "protobuf-sources",
    "properties",
    "types",
    "constraints",
    "history",
    "payloads",
)
"""Names of the files, in the order of the document."""
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class DocumentedRule:
    """One rule. `meaning` and `advice` are sentences. The examples are None if none can be shown."""

    id: str
    meaning: str
    advice: str
    refused: Example | None = None
    accepted: Example | None = None


@dataclass(frozen=True, slots=True)
class Chapter:
    """Rules that belong together, with an introduction."""

    title: str
    rules: tuple[DocumentedRule, ...]
    introduction: str = ""
    conclusion: str = ""


@cache
def chapters() -> tuple[Chapter, ...]:
    """Return all rules, in the order of the document."""
    return tuple(chapter(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8")) for name in _CHAPTERS)


def every() -> tuple[DocumentedRule, ...]:
    """Return all rules."""
    return tuple(rule for chapter in chapters() for rule in chapter.rules)


def find(name: str) -> DocumentedRule | None:
    """Return the rule with that id, in any case, or None."""
    return next((rule for rule in every() if rule.id == name.upper()), None)


def chapter(text: str) -> Chapter:
    """Return the chapter that the YAML text has."""
    members = yaml.load(text, _LOADER)  # noqa: S506  # both are safe loaders
    shared = members.pop("examples", {})
    members["rules"] = tuple(_rule(each, shared) for each in members["rules"])
    return Chapter(**members)


def _rule(members: dict[str, Any], shared: Mapping[str, Any]) -> DocumentedRule:
    shared = {**shared, **members.pop("examples", {})}
    for name in {"refused", "accepted"} & members.keys():
        members[name] = _example(members[name], shared)
    return DocumentedRule(**members)


def _example(example: Any, shared: Mapping[str, Any]) -> Example:
    members = {**shared, **(example if isinstance(example, dict) else {"candidate": example})}
    encoding, repeat = members.pop("encoding", "utf-8"), members.pop("repeat", {})
    kind = ProtoExample if "file" in members else PayloadExample if {"payload", "value"} & members.keys() else Example
    for _, name, known in unknown_members(kind, members, ""):
        raise ValueError(f"an example has no {name}, but {', '.join(known)}")
    decoded = decode(kind, members)
    candidate = decoded.candidate.rstrip("\n")
    for part, times in repeat.items():
        candidate = candidate.replace(part, part * times)
    return replace(decoded, candidate=candidate.encode(encoding).decode(errors="surrogateescape"))
