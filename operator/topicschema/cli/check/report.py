"""Verdicts on resources as text, as JSON, as annotations of GitHub, and as a JUnit report."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from topicschema.admission.messages import TYPE_FIELD
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY, TOPIC_SCHEMA
from topicschema.cli.check import json_io
from topicschema.cli.check import text as check_text
from topicschema.cli.check.engine import CheckRequest
from topicschema.cli.check.positions import ManifestExcerpts, position
from topicschema.cli.check.text import Files, wrapped
from topicschema.cli.check.verdicts import HistorySource, ResourceVerdict
from topicschema.cli.inputs.manifests import ManifestError
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import Place
from topicschema.core.mistakes import mistakes_of
from topicschema.core.policy import StrategySource, effective_strategy, ended_exception, exception_note, used_exception

_OUTCOMES: Final = ("refused", "accepted", "unchanged", "removed")
_LABELS: Final = 3
_PREFIXES: Final = {NAMESPACE_SCHEMA_POLICY.name: "policy ", SCHEMA_REGISTRY.name: "registry "}
"""The kinds whose name stands before a resource's, for messages."""
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class PlacedFinding(NamedTuple):
    """A reason or a warning, its position in the file, and sentences on the versions and the remedy, or ""."""

    rule: str
    message: str
    line: int
    column: int
    more: tuple[str, ...] = ()


def _notes(verdicts: Sequence[ResourceVerdict]) -> Iterator[str]:
    """Yield what limits the verdicts: a history that may lack versions, or none, and defaults instead of a policy."""
    for count in sorted({len(each.names) for each in verdicts if each.may_lack_versions}):
        yield check_text.incomplete(count)
    if any(each.source is HistorySource.NONE for each in verdicts):
        yield (
            "only validity and the policies' constraints were checked; --git, --live or --history compares with the "
            "earlier versions"
        )
    without = [
        (each.manifest.label, each.request)
        for each in verdicts
        if each.request and each.governing and not (each.governing.resource or each.governing.elsewhere)
    ]
    if without:
        [(label, request), *others] = without
        more = f" and {len(others)} {'other' if len(others) == 1 else 'others'}" if others else ""
        strategy = effective_strategy(request.policy, None).value if others else request.strategy
        yield (
            f"no policy is given for {label}{more}: {'they are' if others else 'it is'} judged by {strategy} on Pulsar "
            f"{request.policy.profile.pulsar_version}{', unless they name a strategy' if others else ''}"
        )


def _harm(verdicts: Sequence[ResourceVerdict]) -> str:
    """Return what the warnings of harm mean and how to refuse it, or "" if there are none."""
    topics = (each for each in verdicts if each.manifest.resource.kind == TOPIC_SCHEMA.name)
    harmful = [each for each in topics if any(map(check_text.is_harm, each.answer.warnings))]
    is_ruled = [
        each.source is HistorySource.CLUSTER or (each.governing is not None and each.governing.resource is not None)
        for each in harmful
    ]
    ways = [
        *(["set strictness: Strict in the policy"] if any(is_ruled) else []),
        *(["use --strictness Strict for topics without a policy"] if not all(is_ruled) else []),
    ]
    return check_text.accepted_harm(
        (warning for each in harmful for warning in each.answer.warnings), ", and ".join(ways)
    )


def _closing(verdicts: Sequence[ResourceVerdict]) -> Iterator[str]:
    """Yield the lines about several verdicts together: what warnings of harm mean, and where rules are explained."""
    harm = _harm(verdicts)
    if harm:
        yield from ("", *wrapped(harm))
    answers = [each.answer for each in verdicts]
    yield from check_text.explained(
        rule for each in answers for rule in check_text.rules_of(each.incompatibilities, each.warnings, each.refusal)
    )


def _judged_by(verdicts: Sequence[ResourceVerdict]) -> Iterator[str]:
    """Yield a sentence for each Pulsar version that judged, with the resources if there are several versions."""
    judged: dict[str, list[str]] = {}
    for each in verdicts:
        if each.request is not None and not each.is_unchanged:
            judged.setdefault(each.request.policy.profile.pulsar_version, []).append(each.manifest.label)
    for version, labels in sorted(judged.items()):
        if len(judged) == 1:
            yield check_text.judged_by(version)
        else:
            others = f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else ""
            yield from wrapped(f"{check_text.judged_by(version)[:-1]}: {', '.join(labels[:_LABELS])}{others}.")


def text(verdicts: Sequence[ResourceVerdict], errors: Sequence[ManifestError]) -> str:
    """Return the verdicts as text, without a line end after the last line."""
    lines = [line for note in _notes(verdicts) for line in wrapped(note)]
    is_single = len(verdicts) == 1
    for verdict in verdicts:
        if is_single or not verdict.is_unchanged:
            block = list(_block(verdict))
            lines += ["", *block, ""] if len(block) > 1 and not is_single else block
    lines += _closing(verdicts)
    if not is_single or errors:
        lines += ["", *wrapped(_summary(verdicts, errors))]
    lines += _judged_by(verdicts)
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def as_json(verdicts: Sequence[ResourceVerdict], errors: Sequence[ManifestError]) -> str:
    """Return the verdicts as one JSON object."""
    is_yes = not errors and all(each.answer.is_compatible for each in verdicts)
    wrong = [{"file": each.file, "line": each.line, "message": each.why} for each in errors]
    return json.dumps({"compatible": is_yes, "results": list(map(_json, verdicts)), "errors": wrong}, indent=2)


def github(verdicts: Sequence[ResourceVerdict], errors: Sequence[ManifestError]) -> str:
    """Return the verdicts as commands of a GitHub workflow, which show them at the lines of the files."""
    harm = _harm(verdicts)
    lines = [f"::notice::{_data(note)}" for note in (*_notes(verdicts), *([harm] if harm else []))]
    for error in errors:
        where = f"file={_property(_from_workspace(error.file))},line={error.line}"
        lines.append(f"::error {where},title=InvalidResource::{_data(error.why)}")
    for each in verdicts:
        for level, findings in (("error", _reasons(each)), ("warning", _findings(each, each.answer.warnings))):
            for finding in findings:
                where = (
                    f"file={_property(_from_workspace(each.manifest.file))},line={finding.line},col={finding.column}"
                )
                message = "\n".join(filter(None, (f"{_subject(each)}: {finding.message}", *finding.more)))
                lines.append(f"::{level} {where},title={_property(finding.rule)}::{_data(message)}")
    return "\n".join((*lines, _summary(verdicts, errors)))


def junit(verdicts: Sequence[ResourceVerdict], errors: Sequence[ManifestError]) -> str:
    """Return the verdicts as a JUnit report, with a test case for each resource."""
    refused = sum(not each.answer.is_compatible for each in verdicts)
    counts = f'tests="{len(verdicts) + len(errors)}" failures="{refused}" errors="{len(errors)}" skipped="0"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {counts}>"]
    lines.append(f'  <testsuite name="topicschema check" {counts}>')
    for each in verdicts:
        resource = each.manifest.resource
        names = f"classname={_quoted(resource.namespace or resource.kind)} name={_quoted(resource.name)}"
        lines.append(f'    <testcase {names} file={_quoted(each.manifest.file)} line="{each.manifest.line}">')
        block, reasons = _xml("\n".join((*_block(each), *_closing([each])))), _reasons(each)
        if reasons:
            what = f"message={_quoted(reasons[0].message)} type={_quoted(reasons[0].rule)}"
            lines.append(f"      <failure {what}>{_escaped(block)}</failure>")
        else:
            lines.append(f"      <system-out>{_escaped(block)}</system-out>")
        lines.append("    </testcase>")
    for error in errors:
        names = f"classname={_quoted(error.file)} name={_quoted(f'line {error.line}')}"
        lines.append(f"    <testcase {names}><error message={_quoted(error.why)}/></testcase>")
    return "\n".join((*lines, "  </testsuite>", "</testsuites>"))


FORMS: Final[Mapping[str, Callable[[Sequence[ResourceVerdict], Sequence[ManifestError]], str]]] = {
    "text": text,
    "json": as_json,
    "github": github,
    "junit": junit,
}
"""Forms of the output."""


def _subject(verdict: ResourceVerdict) -> str:
    return f"{_PREFIXES.get(verdict.manifest.resource.kind, '')}{verdict.manifest.label}"


def _files(verdict: ResourceVerdict) -> Files:
    return Files(
        f"{verdict.manifest.file}: {_subject(verdict)}",
        verdict.names,
        excerpts=ManifestExcerpts(verdict.manifest),
        set_by=_set_by(verdict),
        is_compared=verdict.source is not HistorySource.NONE,
        type_path=TYPE_FIELD,
    )


def _block(verdict: ResourceVerdict) -> Iterator[str]:
    """Yield the lines about one resource."""
    answer, request, files = verdict.answer, verdict.request, _files(verdict)
    subject = files.candidate
    if verdict.is_unchanged:
        version = "" if answer.equal_to is None else f": it is version {answer.equal_to}"
        yield from wrapped(f"{subject} is unchanged{version}")
    elif request is not None:
        yield from check_text.lines(request, answer, files)
    elif answer.refusal is not None:
        yield from wrapped(f"{subject} is refused")
        yield from check_text.refusal_lines(answer.refusal, files, "")
    else:
        yield from wrapped(f"{subject} is {_outcome(verdict)}{verdict.remark}")
        if answer.incompatibilities:
            yield from check_text.findings(answer.incompatibilities, files, "")
        for each in answer.warnings:
            yield from wrapped(f"warning: {each.rule}: {each.message}" if each.rule else f"warning: {each.message}")


def _set_by(verdict: ResourceVerdict) -> str:
    """Return the source of the strategy, and what an exception of the policy does or did for the topic."""
    source = _source_of_strategy(verdict)
    if not source or verdict.request is None:
        return source
    policy, own, is_refused = verdict.request.policy, verdict.request.choices.strategy, not verdict.answer.is_compatible
    note = exception_note(policy, own, is_refused=is_refused)
    return f"{source[:-1]}; {note})" if note else source


def _exception(request: CheckRequest) -> dict[str, Any] | None:
    """Return the exception that the topic's own strategy needs, as JSON, or None."""
    own = request.choices.strategy
    exception = used_exception(request.policy, own) or ended_exception(request.policy, own)
    if exception is None:
        return None
    return {"until": exception.until, "reason": exception.reason, "hasEnded": request.policy.has_ended}


def _source_of_strategy(verdict: ResourceVerdict) -> str:
    if verdict.request is None or verdict.governing is None:
        return ""
    resource, source = verdict.governing.resource, verdict.request.effective.source
    policy = None if resource is None else f"policy {resource.metadata.name}"
    if source is StrategySource.TOPIC:
        is_in_spec = verdict.request.choices.strategy is not None
        return " (set by the manifest)" if is_in_spec else " (the topic's own at the broker)"
    if source is StrategySource.NAMESPACE:
        return f" ({policy or '--strategy'})"
    return f" (the broker's own, by {policy})" if policy else " (the default)"


def _summary(verdicts: Sequence[ResourceVerdict], errors: Sequence[ManifestError]) -> str:
    counts = Counter("unchanged" if each.is_unchanged else _outcome(each) for each in verdicts)
    total = f"{len(verdicts)} {'resource' if len(verdicts) == 1 else 'resources'}"
    outcomes = ", ".join(f"{counts[each]} {each}" for each in _OUTCOMES if counts[each])
    unread = f"; {len(errors)} could not be read" if errors else ""
    return f"{total}: {outcomes}{unread}"


def _outcome(verdict: ResourceVerdict) -> str:
    return "removed" if verdict.is_removed else "accepted" if verdict.answer.is_compatible else "refused"


def _reasons(verdict: ResourceVerdict) -> list[PlacedFinding]:
    refusal = verdict.answer.refusal
    result = list(_findings(verdict, verdict.answer.incompatibilities))
    if refusal is not None and not result:
        place = refusal.place or Place(refusal.path)
        result.append(PlacedFinding(refusal.reason, refusal.message, *position(verdict.manifest, place)))
    return result


def _findings(verdict: ResourceVerdict, findings: Sequence[Incompatibility]) -> Iterator[PlacedFinding]:
    files = _files(verdict)
    for each in mistakes_of(findings):
        more = (check_text.demand(each, files), check_text.to_do(each))
        yield PlacedFinding(each.newest.rule, each.newest.message, *_position(verdict, each.newest), more)


def _position(verdict: ResourceVerdict, finding: Incompatibility) -> tuple[int, int]:
    return position(verdict.manifest, Place(_files(verdict).path_of(finding)))


def _json(verdict: ResourceVerdict) -> dict[str, Any]:
    manifest, request, governing = verdict.manifest, verdict.request, verdict.governing
    resource = None if governing is None else governing.resource
    answer = json_io.line_of(
        manifest.file, verdict.answer, None if request is None else request.policy.profile.pulsar_version
    )
    for each, finding in zip(answer["incompatibilities"], verdict.answer.incompatibilities, strict=True):
        each["line"] = _position(verdict, finding)[0]
    for each, finding in zip(answer["warnings"], verdict.answer.warnings, strict=True):
        each["line"] = _position(verdict, finding)[0]
    return {
        **answer,
        "line": manifest.line,
        "kind": manifest.resource.kind,
        "namespace": manifest.resource.namespace,
        "name": manifest.resource.name,
        "isUnchanged": verdict.is_unchanged,
        "isRemoved": verdict.is_removed,
        "policy": None if resource is None else resource.metadata.name,
        "strategy": None if request is None else request.strategy,
        "strategySource": None if request is None else request.effective.source,
        "exception": None if request is None else _exception(request),
        "history": verdict.source,
        "comparedVersions": len(verdict.names),
        "mayLackVersions": verdict.may_lack_versions,
    }


def _from_workspace(file: str) -> str:
    """Return the file's path in the repository that GitHub has checked out."""
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if not workspace:
        return file
    try:
        return Path(file).resolve().relative_to(Path(workspace).resolve()).as_posix()
    except ValueError:
        return file


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _escaped(text: str) -> str:
    from xml.sax.saxutils import escape  # noqa: PLC0415  # a tenth of the command line's startup time

    return escape(text)


def _quoted(text: str) -> str:
    from xml.sax.saxutils import quoteattr  # noqa: PLC0415  # as above

    return quoteattr(_xml(text))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
