"""Comparison of a candidate with the versions before it, one part of them at a time.

Few versions are in memory together, however long the history is. The parts depend only on the versions, so that one
process and several processes count the same steps.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Self, TypeVar

from topicschema.core import broker_versions, compatibility, formats, notes
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.history import VersionEntry
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.steps import MOST_STEPS, Listing, Steps, TooComplexError
from topicschema.core.strategies import Strategy

MOST_VERSIONS: Final = 100
MOST_BYTES: Final = 1024 * 1024
"""Bytes of the texts of a part, without its last."""
_READS_AT_ONCE: Final = 16

Parse = Callable[[SchemaInfo, PulsarVersion], Schema]
"""Function with the result of `formats.parse`, perhaps cached. It raises InvalidSchemaError."""


T = TypeVar("T")


class Earlier(NamedTuple):
    """An earlier version, and what a verdict needs of it. `entry` is None for an edit that is not registered yet.

    `is_compared` is True if the candidate is compared with it. `is_read` is True if its text is read, `is_required` if
    there is no verdict without the text. Other texts are for risks that are reported and not refused. `info` is the
    text, once it is read. `incarnation` is set for a deleted version of an earlier one.
    """

    entry: VersionEntry | None
    type: SchemaType
    is_compared: bool = True
    is_read: bool = True
    is_required: bool = True
    info: SchemaInfo | None = None
    incarnation: int | None = None

    @property
    def schema_version(self) -> int | None:
        """The version's number, or None if it is not registered yet."""
        return None if self.entry is None else self.entry.schema_version

    @property
    def unread(self) -> VersionEntry | None:
        """The entry of the text that is still to be read, or None."""
        return self.entry if self.is_read and self.info is None else None

    def parsed(self, pulsar_version: PulsarVersion) -> Predecessor:
        """Return the parsed version, without a schema if it has no text or the text does not parse."""
        schema = None
        with suppress(InvalidSchemaError):
            schema = None if self.info is None else formats.parse(self.info, pulsar_version)
        return self.with_schema(schema)

    def with_schema(self, schema: Schema | None) -> Predecessor:
        """Return the parsed version, or the version without a schema."""
        return Predecessor(self.schema_version, self.type, schema)


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """The candidate as text, and the parameters of its comparison.

    `is_equal` is True if the broker considers it equal to an earlier version. `is_first` is True for the first part,
    whose answer also has the candidate's own risks and notes. `replaced` are the types that have a custom checker.
    """

    candidate: SchemaInfo
    pulsar_version: PulsarVersion
    strategy: Strategy
    is_equal: bool = False
    is_first: bool = True
    replaced: frozenset[SchemaType] = frozenset()


@dataclass(slots=True)
class Findings:
    """Findings: `refused` are reasons to refuse the candidate, `risks` and `notes` only lead to warnings.

    `steps` is their cost. Under Strict, `risks` are reasons to refuse it, too.

    `too_complex` names the version at which the steps or the memory did not suffice. There may be more findings then.
    """

    refused: Listing[Incompatibility] = field(default_factory=Listing)
    risks: Listing[Incompatibility] = field(default_factory=Listing)
    notes: tuple[Incompatibility, ...] = ()
    steps: int = 0
    too_complex: Incompatibility | None = None

    def __iadd__(self, other: "Findings") -> Self:
        """Add the later findings."""
        self.refused += other.refused
        self.risks += other.risks
        self.notes += other.notes
        self.steps += other.steps
        self.too_complex = self.too_complex or other.too_complex
        return self


class ComparisonResult(NamedTuple):
    """Findings, and the parse errors of versions by version number.

    If `is_beyond_limits` is True, CPU time or memory did not suffice. The findings replace those of the earlier parts.
    """

    findings: Findings
    unreadable: Mapping[int, InvalidSchemaError]
    is_beyond_limits: bool = False


class Read(NamedTuple):
    """Step: read texts. The answer is the versions with `info`, where `is_read` is True and it is None."""

    versions: Sequence[Earlier]


class Compare(NamedTuple):
    """Step: call `compare` with these arguments. The answer is its `ComparisonResult`."""

    request: ComparisonRequest
    newest_first: Sequence[Earlier]
    most_steps: int


class CustomCheck(NamedTuple):
    """Step: call the custom checkers. The answer is the result of the call."""

    call: Callable[[], tuple[Incompatibility, ...]]


Judging = Generator[Read | Compare | CustomCheck, Any, T]
"""A judgment without input and output: it yields steps, gets the answer to each, and returns the result.

`run` takes the steps one after the other in this process.
"""


def run(judging: Judging[T], read: Callable[[VersionEntry], SchemaInfo], parse: Parse = formats.parse) -> T:
    """Return the result of a judgment. `read` returns the text of a version."""
    answer: Any = None
    while True:
        try:
            step = judging.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
        match step:
            case Read(versions):
                answer = [each._replace(info=read(each.unread)) if each.unread else each for each in versions]
            case Compare(request, newest_first, most_steps):
                answer = compare(request, newest_first, most_steps, parse)
            case CustomCheck(call):
                answer = call()


def compare_all(
    request: ComparisonRequest, newest_first: Sequence[Earlier], texts: list[Earlier] | None = None
) -> Judging[Findings]:
    """Return the findings of all versions, which share the steps. Add the versions as read to `texts`.

    Raise UnreadableVersionError if a required version does not parse.
    """
    findings, part, size = Findings(), list[Earlier](), 0
    for start in range(0, len(newest_first), _READS_AT_ONCE):
        for each in (yield Read(newest_first[start : start + _READS_AT_ONCE])):
            if is_full(len(part), size):
                findings = yield from _compare_part(request, part, findings)
                if findings.too_complex:
                    return findings
                request, part, size = replace(request, is_first=False), [], 0
            part.append(each)
            size += len(each.info.schema) if each.info else 0
            if texts is not None:
                texts.append(each)
    return (yield from _compare_part(request, part, findings))


def _compare_part(request: ComparisonRequest, part: Sequence[Earlier], findings: Findings) -> Judging[Findings]:
    """Return the findings with those of the part."""
    result: ComparisonResult = yield Compare(request, part, MOST_STEPS - findings.steps)
    for each in part:
        if each.entry is not None and each.is_required and each.entry.schema_version in result.unreadable:
            error = result.unreadable[each.entry.schema_version]
            raise broker_versions.unreadable(each.entry, request.pulsar_version, error)
    if result.is_beyond_limits:
        return result.findings
    findings += result.findings
    return findings


def is_full(versions: int, size: int) -> bool:
    """Return True if a part of this number of versions and bytes of text takes no more."""
    return versions == MOST_VERSIONS or size >= MOST_BYTES


def compare(
    request: ComparisonRequest, newest_first: Sequence[Earlier], most_steps: int, parse: Parse = formats.parse
) -> ComparisonResult:
    """Return the result for the versions of one part, within this number of steps. No custom checker is called.

    Raise InvalidSchemaError if the candidate does not parse.
    """
    candidate = parse(request.candidate, request.pulsar_version)
    predecessors, unreadable = list[Predecessor](), dict[int, InvalidSchemaError]()
    for each in newest_first:
        schema = None
        try:
            schema = None if each.info is None else parse(each.info, request.pulsar_version)
        except InvalidSchemaError as error:
            if each.schema_version is not None:
                unreadable[each.schema_version] = error
        if each.is_compared:
            predecessors.append(each.with_schema(schema))
    findings = Findings()
    if request.is_equal:
        for predecessor in predecessors:
            findings.risks += compatibility.risks_of_equal(candidate, predecessor)
    else:
        if request.is_first:
            findings.risks += compatibility.self_risks(candidate)
            findings.notes = notes.notes_of(candidate)
        findings += _compare(candidate, predecessors, request, most_steps)
    return ComparisonResult(findings, unreadable)


def _compare(
    candidate: Schema, newest_first: Sequence[Predecessor], request: ComparisonRequest, most_steps: int
) -> Findings:
    steps, findings, strategy = Steps(most_steps), Findings(), request.strategy
    try:
        for each in newest_first if strategy is not Strategy.ALWAYS_COMPATIBLE else ():
            findings.refused += compatibility.against(candidate, each, strategy, request.replaced, steps)
        for each in newest_first:
            findings.risks += compatibility.risks_against(candidate, each, strategy, steps)
    except TooComplexError:
        findings.too_complex = compatibility.too_complex(each)
    findings.steps = steps.taken
    return findings
