"""Answers as text, at most 80 columns wide, each finding with its place in the candidate's text."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from topicschema.cli.check.engine import Answer, Question, Refusal
from topicschema.cli.check.excerpt import WIDTH, Excerpts, printable
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import Place
from topicschema.core.policy import Strictness
from topicschema.core.severity import severity_of
from topicschema.core.strategies import Direction, Strategy, UpgradeFirst

_SHOWN: Final = 20
_INDENT: Final = "  "
UPGRADE: Final = {
    UpgradeFirst.CONSUMERS: "Upgrade the consumers first.",
    UpgradeFirst.PRODUCERS: "Upgrade the producers first.",
    UpgradeFirst.ANY: "Producers and consumers may be upgraded in any order.",
}


@dataclass(frozen=True, slots=True)
class Files:
    """Names of the candidate's file and of the versions' files."""

    candidate: str
    history: tuple[str, ...] = ()
    has_excerpts: bool = True
    """True if places refer to the text of the candidate's file, which they do not if it was compiled."""


def render(question: Question, answer: Answer, files: Files) -> str:
    """Return the answer as text, without a line end after the last line."""
    return "\n".join(_lines(question, answer, files))


def refused(text: str, refusal: Refusal, file: str, pulsar_version: str) -> str:
    """Return the reason why the file's text is no schema to a broker of that Pulsar version."""
    sentence = f"{file} is not a schema that a broker of Pulsar {pulsar_version} accepts"
    return "\n".join((*wrapped(sentence), *_refusal(text, refusal)))


def judged_by(pulsar_version: str) -> str:
    """Return the sentence that names the Pulsar version."""
    return f"Judged by the rules of Pulsar {pulsar_version}."


def not_compiled(text: str, refusal: Refusal, file: str) -> str:
    """Return the reason why the file, whose text is `text`, cannot be compiled."""
    return "\n".join((*wrapped(f"{file} cannot be compiled"), *_refusal(text, refusal)))


def _lines(question: Question, answer: Answer, files: Files) -> Iterator[str]:
    text = question.candidate.schema.decode(errors="replace") if files.has_excerpts else ""
    if answer.incompatibilities:
        yield from _incompatible(question, answer, files, text)
    elif answer.refusal is not None and answer.refusal.place is None:
        yield from wrapped(f"{files.candidate} cannot be compared: the broker would answer with an error")
        yield from _refusal(text, answer.refusal, _culprit(answer.refusal, files))
    elif answer.refusal is not None:
        yield refused(text, answer.refusal, files.candidate, question.policy.profile.pulsar_version)
    else:
        yield from _compatible(question, answer, files)
    yield from warnings(answer.warnings, files, text)
    yield judged_by(question.policy.profile.pulsar_version)


def _compatible(question: Question, answer: Answer, files: Files) -> Iterator[str]:
    strategy = question.strategy
    if answer.equal_to is not None:
        version = f"version {answer.equal_to} ({files.history[answer.equal_to]})"
        yield from wrapped(f"{files.candidate} equals {version}: nothing would be registered")
        if answer.equal_to != len(question.history) - 1:
            yield from wrapped(f"Version {len(question.history) - 1} stays the latest.")
        return
    number = len(question.history)
    if not number:
        yield from wrapped(f"{files.candidate} is compatible: it would be version 0, the first")
        return
    yield from wrapped(f"{files.candidate} is compatible: it may follow {_compared(question, files)} under {strategy}")
    if strategy is Strategy.ALWAYS_COMPATIBLE:
        yield "Nothing was compared: that strategy accepts every schema."
    elif strategy.upgrade_first in UPGRADE:
        yield UPGRADE[strategy.upgrade_first]


def _incompatible(question: Question, answer: Answer, files: Files, text: str) -> Iterator[str]:
    reasons = answer.incompatibilities
    count = f"{len(reasons)} {'reason' if len(reasons) == 1 else 'reasons'}"
    strictness = "" if question.policy.strictness is Strictness.BROKER else f", {question.policy.strictness}"
    yield from wrapped(f"{files.candidate} is incompatible under {question.strategy}{strictness}: {count}")
    if answer.refusal is not None:
        where = f"{answer.refusal.reason} at {answer.refusal.path}"
        yield from wrapped(f"The broker fails on the comparison, and answers with an error: {where}")
    yield from findings(reasons, files, text)


def findings(incompatibilities: Sequence[Incompatibility], files: Files, text: str) -> Iterator[str]:
    """Yield the lines about the incompatibilities of the candidate, whose text is `text`."""
    excerpts = _excerpts(incompatibilities, text)
    for each in incompatibilities[:_SHOWN]:
        yield ""
        yield f"{each.rule} at {printable(each.path)}"
        yield from _details(each, files, excerpts)
    if len(incompatibilities) > _SHOWN:
        yield ""
        yield f"and {len(incompatibilities) - _SHOWN} more; -o json lists them"
    yield from _explained(incompatibilities[0].rule)


def warnings(risks: Sequence[Incompatibility], files: Files, text: str) -> Iterator[str]:
    """Yield the lines about the warnings. A warning that does no harm has a line or two."""
    excerpts = _excerpts(risks, text)
    for each in risks[:_SHOWN]:
        severity = severity_of(each.rule)
        if severity is None:
            yield from wrapped(f"warning: {each.rule}: {each.message}")
            continue
        yield ""
        yield from wrapped(f"warning: {each.rule} at {each.path} ({severity}: {severity.meaning})")
        yield from _details(each, files, excerpts)
    if len(risks) > _SHOWN:
        yield f"and {len(risks) - _SHOWN} more warnings; -o json lists them"
    if any(map(severity_of, (each.rule for each in risks))):
        yield from _explained(next(each.rule for each in risks if severity_of(each.rule)))


def _excerpts(incompatibilities: Sequence[Incompatibility], text: str) -> Excerpts:
    return Excerpts(text, (Place(each.path) for each in incompatibilities[:_SHOWN]))


def _details(finding: Incompatibility, files: Files, excerpts: Excerpts) -> Iterator[str]:
    yield from wrapped(finding.message, _INDENT)
    if finding.path != "$" or finding.direction:
        yield from excerpts.at(Place(finding.path))
    yield from wrapped(_demand(finding, files), _INDENT)


def _refusal(text: str, refusal: Refusal, culprit: str = "") -> Iterator[str]:
    place = refusal.place
    where = culprit or (refusal.path if place is None else str(place))
    yield ""
    yield f"{refusal.reason} at {printable(where)}"
    yield from wrapped(refusal.message, _INDENT)
    if place is not None:
        yield from Excerpts(text, [place]).at(place)
    yield from _explained(refusal.reason)


def _culprit(refusal: Refusal, files: Files) -> str:
    return next(
        (file for number, file in enumerate(files.history) if refusal.path == f"history[{number}].schema"), refusal.path
    )


def _compared(question: Question, files: Files) -> str:
    latest = len(question.history) - 1
    if question.strategy.is_transitive and latest:
        return f"versions 0 to {latest}"
    return f"version {latest} ({files.history[latest]})"


def _demand(finding: Incompatibility, files: Files) -> str:
    """Describe who must read whose messages, for the finding."""
    if finding.schema_version is None:
        return ""
    version = f"version {finding.schema_version} ({files.history[finding.schema_version]})"
    if finding.direction is Direction.BACKWARD:
        return f"{Direction.BACKWARD}: consumers with the candidate must read messages of {version}."
    if finding.direction is Direction.FORWARD:
        return f"{Direction.FORWARD}: consumers with {version} must read messages of the candidate."
    return f"Compared with {version}."


def _explained(rule: str) -> Iterator[str]:
    yield ""
    yield f"What a rule means and what to do: topicschema explain {rule}"


def wrapped(text: str, indent: str = "") -> list[str]:
    """Split the text into lines of a terminal's width, without control characters."""
    return textwrap.wrap(
        printable(text), WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
