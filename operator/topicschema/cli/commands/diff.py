"""`topicschema diff`: the changes between two versions of a topic in a cluster, and the clients that they break."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

from topicschema.cli import printing, topics
from topicschema.cli.changes import SchemaChange, changes
from topicschema.cli.check import json_io
from topicschema.cli.check.text import explained, to_do, wrapped
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.topics import AbsentError, ClusterTopic
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.mistakes import mistakes_of
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo
from topicschema.core.severity import Severity, severity_of
from topicschema.core.strategies import Direction, Strategy


def run(options: Namespace) -> int:
    """Print the changes. Return 1 if a client with one version cannot read messages of the other."""
    return topics.run(options, _diff)


@dataclass(frozen=True, slots=True)
class _Diff:
    """Two versions. `broken` are the findings of the check in both directions, `risks` what else consumers may lose."""

    numbers: tuple[int, int]
    infos: tuple[SchemaInfo, SchemaInfo]
    changes: list[SchemaChange]
    broken: tuple[Incompatibility, ...]
    risks: tuple[Incompatibility, ...]
    strategy: Strategy | None
    is_accepted: bool
    is_equal: bool


def _diff(topic: ClusterTopic, options: Namespace) -> int:
    diff = _compared(topic, _numbers(topic, options), PulsarVersion(options.pulsar_version))
    if options.output == "text":
        print("\n".join(_lines(topic, diff)))
    else:
        printing.write(_object(topic, diff), options.output)
    return INCOMPATIBLE if diff.broken or any(map(_is_loss, diff.risks)) else COMPATIBLE


def _numbers(topic: ClusterTopic, options: Namespace) -> tuple[int, int]:
    """Return the versions: by default the latest and the one before it, or before the later one."""
    present = [each.schema_version for each in topic.versions]
    later = options.later if options.later is not None else present[-1] if present else 0
    if options.earlier is not None:
        return options.earlier, later
    before = [each for each in present if each < later]
    if not present:
        raise topic.no_version()
    if not before:
        raise AbsentError(
            f"{topic.label} has no version before {later} to compare it with: topicschema history lists them"
        )
    return before[-1], later


def _compared(topic: ClusterTopic, numbers: tuple[int, int], pulsar_version: PulsarVersion) -> _Diff:
    earlier, later = infos = (topic.info(numbers[0]), topic.info(numbers[1]))
    schemas = [_parsed(info, number, pulsar_version) for info, number in zip(infos, numbers, strict=True)]
    before = [Predecessor(numbers[0], earlier.type, schemas[0])]
    strategy = None if topic.status.effective_strategy is None else topic.status.effective_strategy.value
    refused = strategy is not None and compatibility.check(schemas[1], before, strategy)
    return _Diff(
        numbers,
        infos,
        changes(earlier, later),
        compatibility.check(schemas[1], before, Strategy.FULL_TRANSITIVE),
        compatibility.risks(schemas[1], before, Strategy.FULL_TRANSITIVE),
        strategy,
        is_accepted=not refused,
        is_equal=schemas[0].fingerprint == schemas[1].fingerprint,
    )


def _parsed(info: SchemaInfo, number: int, pulsar_version: PulsarVersion) -> Schema:
    try:
        return formats.parse(info, pulsar_version, validate_defaults=False)
    except InvalidSchemaError as error:
        raise AbsentError(f"version {number} cannot be compared: {error.sentence}") from None


def _is_loss(risk: Incompatibility) -> bool:
    return severity_of(risk.rule) is Severity.WIRE


def _object(topic: ClusterTopic, diff: _Diff) -> dict[str, object]:
    return {
        "topic": str(topic.topic),
        "earlier": diff.numbers[0],
        "later": diff.numbers[1],
        "isEqual": diff.is_equal,
        "changes": [each.wire for each in diff.changes],
        "incompatibilities": json_io.findings(diff.broken),
        "warnings": json_io.findings(diff.risks),
        "strategy": None if diff.strategy is None else diff.strategy.value,
        "isAccepted": None if diff.strategy is None else diff.is_accepted,
    }


def _lines(topic: ClusterTopic, diff: _Diff) -> Iterator[str]:
    earlier, later = diff.numbers
    yield f"{topic.label}: version {earlier} to version {later} ({diff.infos[1].type})"
    yield ""
    yield from (f"  {each}" for each in diff.changes)
    if not diff.changes:
        yield "  no change of text or properties"
    yield from _broken("", diff.broken, diff.numbers)
    yield from _broken("warning: ", diff.risks, diff.numbers)
    yield ""
    yield from _readers(diff)
    if diff.is_equal:
        yield "To the broker, the two are one schema."
    elif diff.strategy is not None:
        verb = "accepts" if diff.is_accepted else "refuses"
        yield f"{diff.strategy}, the topic's strategy, {verb} version {later} after version {earlier}."
    yield from explained(each.rule for each in (*diff.broken, *diff.risks))


def _broken(title: str, findings: tuple[Incompatibility, ...], numbers: tuple[int, int]) -> Iterator[str]:
    earlier, later = numbers
    for each in mistakes_of(findings):
        finding = each.newest
        before = (
            f" (version {earlier}: {finding.earlier_path})" if finding.earlier_path not in ("", finding.path) else ""
        )
        yield ""
        yield from wrapped(f"{title}{finding.rule} at {finding.path}{before}")
        yield from wrapped(finding.message.replace("the candidate", f"version {later}"), "  ")
        yield from wrapped(to_do(each), "  ")


def _readers(diff: _Diff) -> Iterator[str]:
    """Yield who can read whose messages."""
    earlier, later = diff.numbers
    losses = [*diff.broken, *filter(_is_loss, diff.risks)]
    for direction, reader, writer in ((Direction.BACKWARD, later, earlier), (Direction.FORWARD, earlier, later)):
        fails = any(each.direction in (None, direction) for each in diff.broken)
        loses = any(each.direction in (None, direction) for each in losses)
        verb = "cannot read" if fails else "may lose or misread parts of" if loses else "read"
        yield f"Consumers with version {reader} {verb} messages of version {writer} ({direction})."
