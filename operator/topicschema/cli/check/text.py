"""Answers as text, at most 80 columns wide, each finding with its place in the candidate's text."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from topicschema.cli.check.engine import CheckRequest, CheckResult, Refusal
from topicschema.cli.check.excerpt import WIDTH, Excerpts, printable
from topicschema.core.compatibility import OF_DELETED, Incompatibility
from topicschema.core.errors import Place
from topicschema.core.mistakes import Mistake, mistakes_of, versions_in_words
from topicschema.core.policy import Strictness
from topicschema.core.reasons import Reason
from topicschema.core.severity import Severity, severity_of
from topicschema.core.strategies import Direction, Strategy, UpgradeFirst

_SHOWN: Final = 20
_INDENT: Final = "  "
_TYPE_CHANGED: Final = "TYPE_CHANGED"
_HARM: Final[Mapping[Direction | None, str]] = {
    Direction.BACKWARD: "consumers with the new schema may fail on, lose or misread retained messages",
    Direction.FORWARD: "consumers with earlier schemas may fail on, lose or misread new messages",
    None: "consumers may fail on, lose or misread messages",
}
UPGRADE: Final = {
    UpgradeFirst.CONSUMERS: "Upgrade the consumers first.",
    UpgradeFirst.PRODUCERS: "Upgrade the producers first.",
    UpgradeFirst.ANY: "Producers and consumers may be upgraded in any order.",
}


class Shown(Protocol):
    """Excerpts of a text."""

    def at(self, place: Place) -> Iterator[str]:
        """Yield the lines of the excerpt at a place."""


@dataclass(frozen=True, slots=True)
class Files:
    """Names of the candidate's file and of the versions' files."""

    candidate: str
    history: tuple[str, ...] = ()
    has_excerpts: bool = True
    """True if places refer to the text of the candidate's file, which they do not if it was compiled."""
    excerpts: Shown | None = None
    """The excerpts of the candidate's manifest, which has its text among others."""
    set_by: str = ""
    """Note of the level that sets the strategy, in brackets."""
    is_compared: bool = True
    """False if the versions of the topic are not known."""
    type_path: str = "$"
    """Path of the schema's type."""

    def path_of(self, finding: Incompatibility) -> str:
        """Return the path of a finding in the candidate."""
        return self.type_path if (finding.rule, finding.path) == (_TYPE_CHANGED, "$") else finding.path


def render(request: CheckRequest, answer: CheckResult, files: Files) -> str:
    """Return the answer as text, without a line end after the last line."""
    harm = accepted_harm(answer.warnings, "use --strictness Strict")
    return "\n".join(
        (
            *lines(request, answer, files),
            *(("", *wrapped(harm)) if harm else ()),
            *explained(rules_of(answer.incompatibilities, answer.warnings, answer.refusal)),
            judged_by(request.policy.profile.pulsar_version),
        )
    )


def incomplete(count: int) -> str:
    """Return the note that a topic may have more versions than the given ones."""
    return f"compared with {count} {'version' if count == 1 else 'versions'}; the topic may have more"


def refused(text: str, refusal: Refusal, file: str, pulsar_version: str) -> str:
    """Return the reason why the file's text is no schema to a broker of that Pulsar version."""
    return "\n".join((*_refused(refusal, Files(file), text, pulsar_version), *explained([refusal.reason])))


def judged_by(pulsar_version: str) -> str:
    """Return the sentence that names the Pulsar version."""
    return f"Judged by the rules of Pulsar {pulsar_version}."


def not_compiled(text: str, refusal: Refusal, file: str) -> str:
    """Return the reason why the file, whose text is `text`, cannot be compiled."""
    reason = refusal_lines(refusal, Files(file), text)
    return "\n".join((*wrapped(f"{file} cannot be compiled"), *reason, *explained([refusal.reason])))


def _refused(refusal: Refusal, files: Files, text: str, pulsar_version: str) -> Iterator[str]:
    yield from wrapped(f"{files.candidate} is not a schema that a broker of Pulsar {pulsar_version} accepts")
    yield from refusal_lines(refusal, files, text)


def lines(request: CheckRequest, answer: CheckResult, files: Files) -> Iterator[str]:
    """Yield the lines of the answer, without those that are about several answers."""
    text = request.candidate.schema.decode(errors="replace") if files.has_excerpts else ""
    if answer.incompatibilities:
        yield from _incompatible(request, answer, files, text)
    elif answer.refusal is not None and answer.refusal.place is None:
        yield from wrapped(f"{files.candidate} cannot be compared: the broker would answer with an error")
        yield from refusal_lines(answer.refusal, files, text, _culprit(answer.refusal, files))
    elif answer.refusal is not None:
        yield from _refused(answer.refusal, files, text, request.policy.profile.pulsar_version)
    else:
        yield from _compatible(request, answer, files)
    yield from warnings(answer.warnings, files, text)


def _compatible(request: CheckRequest, answer: CheckResult, files: Files) -> Iterator[str]:
    strategy = request.strategy
    if answer.equal_to is not None:
        version = f"version {answer.equal_to} ({files.history[answer.equal_to]})"
        yield from wrapped(f"{files.candidate} equals {version}: nothing would be registered")
        if answer.equal_to != len(request.history) - 1:
            yield from wrapped(f"Version {len(request.history) - 1} stays the latest.")
        return
    number = len(request.history)
    if not number and not files.is_compared:
        yield from wrapped(f"{files.candidate} is valid")
        return
    if not number:
        yield from wrapped(f"{files.candidate} is compatible: it would be version 0, the first")
        return
    under = f"under {strategy}{files.set_by}"
    yield from wrapped(f"{files.candidate} is compatible: it may follow {_compared(request, files)} {under}")
    if strategy is Strategy.ALWAYS_COMPATIBLE:
        yield "Nothing was compared: that strategy accepts every schema."
    elif strategy.upgrade_first in UPGRADE:
        yield UPGRADE[strategy.upgrade_first]


def _incompatible(request: CheckRequest, answer: CheckResult, files: Files, text: str) -> Iterator[str]:
    reasons = mistakes_of(answer.incompatibilities)
    count = f"{len(reasons)} {'reason' if len(reasons) == 1 else 'reasons'}"
    strictness = "" if request.policy.strictness is Strictness.BROKER else f", {request.policy.strictness}"
    yield from wrapped(f"{files.candidate} is incompatible under {request.strategy}{files.set_by}{strictness}: {count}")
    if answer.refusal is not None:
        where = f"{answer.refusal.reason} at {answer.refusal.path}"
        yield from wrapped(f"The broker fails on the comparison, and answers with an error: {where}")
    yield from findings(answer.incompatibilities, files, text)


def findings(incompatibilities: Sequence[Incompatibility], files: Files, text: str) -> Iterator[str]:
    """Yield the lines about the incompatibilities of the candidate, whose text is `text`."""
    mistakes = mistakes_of(incompatibilities)
    yield from _mistakes(mistakes[:_SHOWN], files, text)
    if len(mistakes) > _SHOWN:
        yield ""
        yield f"and {len(mistakes) - _SHOWN} more; -o json lists them"


def warnings(risks: Sequence[Incompatibility], files: Files, text: str) -> Iterator[str]:
    """Yield the lines about the warnings. A warning that does no harm has a line or two."""
    mistakes = mistakes_of(risks)
    shown = mistakes[:_SHOWN]
    for each in shown:
        if severity_of(each.newest.rule) is None:
            yield from wrapped(f"warning: {each.newest.rule}: {each.newest.message}")
    yield from _mistakes([each for each in shown if severity_of(each.newest.rule)], files, text, "warning: ")
    if len(mistakes) > _SHOWN:
        yield f"and {len(mistakes) - _SHOWN} more warnings; -o json lists them"


def _mistakes(mistakes: Sequence[Mistake], files: Files, text: str, title: str = "") -> Iterator[str]:
    """Yield the lines about the mistakes. Those of one rule at one place have one heading, excerpt and remedy."""
    places: dict[tuple[str, str], list[Mistake]] = {}
    for each in mistakes:
        places.setdefault((each.newest.rule, files.path_of(each.newest)), []).append(each)
    excerpts = files.excerpts or Excerpts(text, (Place(path) for _, path in places))
    for (rule, path), group in places.items():
        yield ""
        severity = severity_of(rule) if title else None
        what = f" ({severity}: {severity.meaning})" if severity else ""
        yield from wrapped(f"{title}{rule} at {path}{what}")
        for number, each in enumerate(group):
            yield from wrapped(each.newest.message, _INDENT)
            if not number and (path != "$" or each.newest.direction or rule == _TYPE_CHANGED):
                yield from excerpts.at(Place(path))
            yield from wrapped(demand(each, files), _INDENT)
        for remedy in dict.fromkeys(map(to_do, group)):
            yield from wrapped(remedy, _INDENT)


def to_do(mistake: Mistake) -> str:
    """Return the remedy, or "" if the message has it."""
    return f"To do: {mistake.remedy}." if mistake.remedy else ""


def refusal_lines(refusal: Refusal, files: Files, text: str, culprit: str = "") -> Iterator[str]:
    """Yield the lines about a refusal. `culprit` is the file at fault if it is not the candidate."""
    place = refusal.place
    where = culprit or (refusal.path if place is None else str(place))
    yield ""
    yield f"{refusal.reason} at {printable(where)}"
    yield from wrapped(refusal.message, _INDENT)
    if files.excerpts is not None and not culprit:
        yield from files.excerpts.at(place or Place(refusal.path))
    elif place is not None:
        yield from Excerpts(text, [place]).at(place)


def _culprit(refusal: Refusal, files: Files) -> str:
    return next(
        (file for number, file in enumerate(files.history) if refusal.path == f"history[{number}].schema"), refusal.path
    )


def _compared(request: CheckRequest, files: Files) -> str:
    latest = len(request.history) - 1
    if request.strategy.is_transitive and latest:
        return f"versions 0 to {latest}"
    return f"version {latest} ({files.history[latest]})"


def demand(mistake: Mistake, files: Files) -> str:
    """Describe who must read whose messages, or return "" if no earlier version is involved."""
    numbers = mistake.registered
    if not numbers:
        return ""
    is_deleted = mistake.newest.message.endswith(OF_DELETED)
    name = f" ({files.history[numbers[0]]})" if len(numbers) == 1 and not is_deleted else ""
    versions = f"{versions_in_words(numbers)}{name}"
    if mistake.newest.direction is Direction.BACKWARD:
        return f"{Direction.BACKWARD}: consumers with the candidate must read messages of {versions}."
    if mistake.newest.direction is Direction.FORWARD:
        return f"{Direction.FORWARD}: consumers with {versions} must read messages of the candidate."
    return f"Compared with {versions}."


def explained(rules: Iterable[str]) -> Iterator[str]:
    """Yield the lines that name the command for all the rules. The reasons of conditions are no rules."""
    names = [each for each in dict.fromkeys(rules) if each.isupper()]
    if names:
        yield ""
        what = "What a rule means" if len(names) == 1 else "What the rules mean"
        sentence, command = f"{what} and what to do:", f"topicschema explain {' '.join(names)}"
        is_short = len(f"{sentence} {command}") <= WIDTH
        yield from [f"{sentence} {command}"] if is_short else [sentence, *wrapped(command, _INDENT)]


def rules_of(
    incompatibilities: Sequence[Incompatibility], risks: Iterable[Incompatibility], refusal: Refusal | None = None
) -> Iterator[str]:
    """Yield the rules of the reasons, and of the warnings of harm."""
    yield from (each.rule for each in incompatibilities)
    if refusal is not None and not incompatibilities:
        yield refusal.reason
    yield from (each.rule for each in risks if severity_of(each.rule))


def is_harm(warning: Incompatibility) -> bool:
    """Return True if a policy that is Strict refuses it."""
    return bool(_harm(warning))


def accepted_harm(risks: Iterable[Incompatibility], how_to_refuse: str) -> str:
    """Return what the warnings of harm mean, and how to refuse such changes, or "" if no warning is of harm."""
    effects = dict.fromkeys(filter(None, map(_harm, risks)))
    if not effects:
        return ""
    return (
        f"The broker accepts what is only warned of, although {', and '.join(effects)}. To refuse such changes, "
        f"{how_to_refuse}."
    )


def _harm(warning: Incompatibility) -> str:
    severity = severity_of(warning.rule)
    if severity is Severity.WIRE or warning.rule == Reason.CONSUMER_RISK:
        return _HARM[warning.direction]
    return severity.meaning if severity else ""


def wrapped(text: str, indent: str = "") -> list[str]:
    """Split the text into lines of a terminal's width, without control characters."""
    return textwrap.wrap(
        printable(text), WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
