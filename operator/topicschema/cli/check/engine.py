"""Answers of a Pulsar broker to a candidate, given the history as schemas.

`core.verdict` judges: `judge` for an upload, `compare` for the check alone. This module adds what the broker reads
before, and its refusal of texts that it cannot read. It has no input or output.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol, TypeVar

from topicschema.core import broker_versions, comparison, compatibility, formats, verdict
from topicschema.core.broker_versions import UnreadableVersionError
from topicschema.core.comparison import Earlier, Judging
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.history import DeletedVersions, History, Origin, VersionEntry
from topicschema.core.policy import EffectiveStrategy, Policy, Strictness, TopicChoices, effective_strategy
from topicschema.core.schemas import (
    AVRO_TEXTS,
    PRIMITIVES,
    PulsarVersion,
    Schema,
    SchemaInfo,
    fingerprint_of_bytes,
)
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic, TopicKey
from topicschema.core.verdict import Candidate, Outcome
from topicschema.judging import cpu_time
from topicschema.judging.cpu_time import MOST_SECONDS, OutOfTimeError

T = TypeVar("T")

_ANY_TOPIC = TopicKey("", Topic("", "", ""))


class BrokerOperation(StrEnum):
    """Operation of the broker.

    REGISTER: all of an upload: parse, deduplicate with its validation of defaults, then check, as the webhook does.

    COMPATIBILITY: the check alone, as the broker's `/compatibility`.
    """

    REGISTER = "register"
    COMPATIBILITY = "compatibility"


class ParseSchema(Protocol):
    """Function with the result of `formats.parse`, perhaps cached."""

    def __call__(self, info: SchemaInfo, pulsar_version: PulsarVersion, *, validate_defaults: bool) -> Schema:
        """Return the parsed schema, or raise InvalidSchemaError."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """Request to a broker: may `candidate` follow `history` under `policy`?

    `history` is oldest first, and the index is the version's number. The schemas are in the form of the REST API, so a
    KEY_VALUE's is the text `{"key": ..., "value": ...}`. `choices` are what the topic sets for
    itself. `deleted` are versions, oldest first, that its resource deleted.
    """

    candidate: SchemaInfo
    history: tuple[SchemaInfo, ...] = ()
    policy: Policy = field(default_factory=Policy)
    step: BrokerOperation = BrokerOperation.REGISTER
    choices: TopicChoices = field(default_factory=TopicChoices)
    deleted: tuple[SchemaInfo, ...] = ()

    @property
    def effective(self) -> EffectiveStrategy:
        """The effective strategy, never UNDEFINED, and the level that sets it."""
        return effective_strategy(self.policy, self.choices.strategy)

    @property
    def strategy(self) -> Strategy:
        """The effective strategy, never UNDEFINED: the broker's own if none is set."""
        return self.effective.value


@dataclass(frozen=True, slots=True)
class Refusal:
    """Error that the broker would return instead of a verdict.

    `reason` is a rule id. `path` is a place in the candidate's text (from `$`), or a member of the request if that is
    at fault (`history[2].schema`). `place` also has line and column if the candidate cannot be read.
    """

    reason: str
    message: str
    path: str = "$"
    place: Place | None = None

    @classmethod
    def of(cls, error: InvalidSchemaError) -> "Refusal":
        """Return the refusal of a candidate that is no schema."""
        return cls(error.rule, error.message, error.place.path, error.place)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Verdict, or the refusal instead of it. `equal_to` is the version that the broker would return, if any.

    If the broker's comparison itself fails, `refusal` is the incompatibility on which it fails.
    """

    equal_to: int | None = None
    incompatibilities: tuple[Incompatibility, ...] = ()
    warnings: tuple[Incompatibility, ...] = ()
    refusal: Refusal | None = None

    @property
    def is_compatible(self) -> bool:
        """True if the broker would accept the candidate."""
        return self.refusal is None and not self.incompatibilities


class UnusableVersionError(Exception):
    """A version of the history that the broker would have to read, and cannot."""

    def __init__(self, schema_version: int, error: InvalidSchemaError) -> None:
        super().__init__(schema_version)
        self.refusal = Refusal(
            "INVALID_HISTORY",
            f"version {schema_version} cannot be read, so nothing can be compared with it: {error.sentence}",
            f"history[{schema_version}].schema",
        )


def answer(
    request: CheckRequest, parse: ParseSchema = formats.parse, *, cpu_seconds: float = MOST_SECONDS
) -> CheckResult:
    """Return the broker's answer. A schema that it cannot read is a refusal, never an exception.

    The CPU time is limited as in the operator, unless there are custom checkers.
    """
    try:
        if request.policy.profile.checkers:
            return _answer(request, parse)
        return cpu_time.call(cpu_seconds, _answer, request, parse)
    except InvalidSchemaError as error:
        return CheckResult(refusal=Refusal.of(error))
    except UnusableVersionError as error:
        return CheckResult(refusal=error.refusal)
    except OutOfTimeError as error:
        why = f"reading and comparing the schemas {error}; make unions smaller, and break circles of records"
        return CheckResult(incompatibilities=(Incompatibility(compatibility.TOO_COMPLEX, "$", why),))


def _answer(request: CheckRequest, parse: ParseSchema) -> CheckResult:
    return _STEPS[request.step](_stored(request), parse)


def _stored(request: CheckRequest) -> CheckRequest:
    history: list[SchemaInfo] = []
    for number, info in enumerate(request.history):
        try:
            history.append(formats.as_stored(info))
            if info.type in PRIMITIVES:  # the broker does not read it, and its validator stores none with a text
                formats.parse(info, request.policy.profile.pulsar_version)
        except InvalidSchemaError as error:
            raise UnusableVersionError(number, error) from None
    deleted = tuple(map(formats.as_stored, request.deleted))
    return replace(request, candidate=formats.as_stored(request.candidate), history=tuple(history), deleted=deleted)


def _register(request: CheckRequest, parse: ParseSchema) -> CheckResult:
    policy = request.policy
    schema = parse(request.candidate, policy.profile.pulsar_version, validate_defaults=True)
    reading = _Reading(request, schema, parse, validate_defaults=True)
    entries = _entries(schema, request.history, reading)
    deleted = tuple(_entry(number, info, "") for number, info in enumerate(request.deleted))
    history = History(_ANY_TOPIC, incarnation=1, entries=entries, deleted=(DeletedVersions(0, deleted),))
    judged = reading.run(verdict.judge(Candidate(schema, request.choices), history, policy))
    reading.require_readable(judged.incompatibilities)
    equal_to = judged.schema_version if judged.outcome is Outcome.EQUAL_VERSION else None
    return CheckResult(equal_to, judged.incompatibilities, judged.risks + judged.notes, _failure(judged.thrown))


def _compatibility(request: CheckRequest, parse: ParseSchema) -> CheckResult:
    policy, kind = request.policy, request.candidate.type
    schema = parse(request.candidate, policy.profile.pulsar_version, validate_defaults=False)
    reading = _Reading(request, schema, parse, validate_defaults=False)
    candidate = Candidate(schema, request.choices)
    entries = tuple(_entry(number, info, "") for number, info in enumerate(request.history))
    latest_text = [(info.type, info.schema) for info in request.history[-1:]]
    is_equal = not request.strategy.is_transitive and latest_text == [(kind, request.candidate.schema)]
    if is_equal:
        is_read = formats.properties_matter(kind)
        is_required = is_read and policy.strictness is Strictness.STRICT
        earlier = [Earlier(entries[-1], kind, is_read=is_read, is_required=is_required)]
    else:
        history = History(_ANY_TOPIC, entries=entries)
        earlier = verdict.earlier_versions(candidate, history, policy, is_deduplicated=False)
    try:
        compared = reading.run(verdict.compare(candidate, earlier, policy, is_equal=is_equal))
    except UnreadableVersionError as error:
        reading.require_readable([error.finding])
        raise
    return CheckResult(None, compared.incompatibilities, compared.risks, _failure(compared.thrown))


def _failure(thrown: Incompatibility | None) -> Refusal | None:
    return None if thrown is None else Refusal(thrown.rule, thrown.message, thrown.path)


_STEPS: Mapping[BrokerOperation, Callable[[CheckRequest, ParseSchema], CheckResult]] = {
    BrokerOperation.REGISTER: _register,
    BrokerOperation.COMPATIBILITY: _compatibility,
}


class _Reading:
    """Parser of the schemas of one request, each once. Raises UnusableVersionError if a version cannot be read."""

    def __init__(
        self, request: CheckRequest, candidate: Schema, parse: ParseSchema, *, validate_defaults: bool
    ) -> None:
        self._request = request
        self._parse = parse
        self._validate_defaults = validate_defaults
        self._parsed: dict[int, Schema] = {id(request.candidate): candidate}

    def __call__(self, schema_version: int) -> Schema:
        pulsar_version = self._request.policy.profile.pulsar_version
        try:
            return self._once(self._request.history[schema_version], pulsar_version)
        except InvalidSchemaError as error:
            raise UnusableVersionError(schema_version, error) from None

    def run(self, judging: Judging[T]) -> T:
        """Return the result of a judgment."""
        texts = {
            (number, info.content_hash): info
            for infos in (self._request.deleted, self._request.history)
            for number, info in enumerate(infos)
        }
        return comparison.run(judging, lambda entry: texts[entry.identity], self._once)

    def require_readable(self, findings: Sequence[Incompatibility]) -> None:
        """Raise UnusableVersionError if a finding is about a version that cannot be read."""
        for each in findings:
            if each.rule == broker_versions.RULE and each.schema_version is not None:
                self(each.schema_version)

    def _once(self, info: SchemaInfo, pulsar_version: PulsarVersion) -> Schema:
        if id(info) not in self._parsed:
            self._parsed[id(info)] = self._parse(info, pulsar_version, validate_defaults=self._validate_defaults)
        return self._parsed[id(info)]


def _entries(candidate: Schema, history: tuple[SchemaInfo, ...], read: _Reading) -> tuple[VersionEntry, ...]:
    """Return the history up to the first version that equals the candidate: the broker reads no further."""
    entries: list[VersionEntry] = []
    for number, info in enumerate(history):
        by_structure = {info.type, candidate.info.type} <= AVRO_TEXTS
        fingerprint = read(number).fingerprint if by_structure else fingerprint_of_bytes(info.type, info.schema)
        entries.append(_entry(number, info, fingerprint))
        if fingerprint == candidate.fingerprint:
            break
    return tuple(entries)


def _entry(number: int, info: SchemaInfo, fingerprint: str) -> VersionEntry:
    return VersionEntry(number, info.type, fingerprint, info.content_hash, Origin.BROKER, "")
