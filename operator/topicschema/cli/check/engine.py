"""What a Pulsar broker would say to a candidate, given the history as schemas rather than as a record.

The answers are `core`'s: `verdict.judge` for an upload, `compatibility.check` for the check alone. Here stands only
what the broker reads on the way and what becomes of texts that cannot be read. No input or output; batch and single
check ask here.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from topicschema.core import compatibility, formats, verdict
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import json_text, key_value
from topicschema.core.history import History, Origin, VersionEntry
from topicschema.core.policy import Policy, Strictness, effective_strategy
from topicschema.core.schemas import (
    AVRO_TEXTS,
    PulsarLine,
    Schema,
    SchemaInfo,
    SchemaType,
    fingerprint_of_bytes,
)
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic, TopicKey
from topicschema.core.verdict import Candidate, Outcome

_ANY_TOPIC = TopicKey("", Topic("", "", ""))


class Step(StrEnum):
    """What is asked of the broker.

    REGISTER: all an upload does: parse, dedupe with its validation of defaults, then the check; what the webhook asks.
    COMPATIBILITY: the check alone, as the broker's `/compatibility`.
    """

    REGISTER = "register"
    COMPATIBILITY = "compatibility"


class Parse(Protocol):
    """What `formats.parse` does, perhaps with a memory."""

    def __call__(self, info: SchemaInfo, line: PulsarLine, *, validate_defaults: bool) -> Schema:
        """The parsed schema, or InvalidSchemaError."""


@dataclass(frozen=True, slots=True)
class Question:
    """May `candidate` follow `history` (oldest first; the index is the version's number) under `policy`?

    The schemas are as they are sent over REST, so a KEY_VALUE's is the text `{"key": ..., "value": ...}`.
    """

    candidate: SchemaInfo
    history: tuple[SchemaInfo, ...] = ()
    policy: Policy = field(default_factory=Policy)
    step: Step = Step.REGISTER

    @property
    def strategy(self) -> Strategy:
        """The strategy in force, never UNDEFINED: without one it is the broker's own."""
        return effective_strategy(self.policy, None).value


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the broker would answer with an error instead of a verdict.

    `reason` is a rule id, `path` a place in the candidate's text (from `$`) or, for another culprit, a member of the
    question (`history[2].schema`). `place` has line and column too, where the candidate cannot be read.
    """

    reason: str
    message: str
    path: str = "$"
    place: Place | None = None

    @classmethod
    def of(cls, error: InvalidSchemaError) -> "Refusal":
        """The refusal of a candidate that is no schema."""
        return cls(error.rule, error.message, error.place.path, error.place)


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict, or what stands in its way; `equal_to` is the version that the broker would answer with, if any.

    Where the broker's comparison itself fails, `refusal` is the one of the incompatibilities that it fails on.
    """

    equal_to: int | None = None
    incompatibilities: tuple[Incompatibility, ...] = ()
    warnings: tuple[Incompatibility, ...] = ()
    refusal: Refusal | None = None

    @property
    def is_compatible(self) -> bool:
        """Whether the broker would say yes."""
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


def answer(question: Question, parse: Parse = formats.parse) -> Answer:
    """What the broker would answer; a schema that it cannot read is a refusal, never an exception."""
    try:
        return _STEPS[question.step](_stored(question), parse)
    except InvalidSchemaError as error:
        return Answer(refusal=Refusal.of(error))
    except UnusableVersionError as error:
        return Answer(refusal=error.refusal)


def as_stored(info: SchemaInfo) -> SchemaInfo:
    """What the broker makes of a schema sent over REST; InvalidSchemaError where it cannot."""
    if info.type is not SchemaType.KEY_VALUE:
        return info
    try:
        text = info.schema.decode(errors="surrogatepass")
    except UnicodeDecodeError as error:
        before = info.schema[: error.start].decode(errors="surrogatepass")
        place = json_text.place_of(before, len(before))
        raise InvalidSchemaError("NOT_UTF8", f"byte {error.start} is not UTF-8", place) from None
    return replace(info, schema=key_value.payload_of(text))


def _stored(question: Question) -> Question:
    history: list[SchemaInfo] = []
    for number, info in enumerate(question.history):
        try:
            history.append(as_stored(info))
        except InvalidSchemaError as error:
            raise UnusableVersionError(number, error) from None
    return replace(question, candidate=as_stored(question.candidate), history=tuple(history))


def _register(question: Question, parse: Parse) -> Answer:
    policy = question.policy
    schema = parse(question.candidate, policy.profile.line, validate_defaults=True)
    read = _Reading(question, parse, validate_defaults=True)
    candidate = Candidate(schema)
    history = History(_ANY_TOPIC, entries=_entries(schema, question.history, read))
    must = {each.schema_version for each in verdict.required(candidate, history, policy)}
    wanted = {each.schema_version for each in verdict.needed(candidate, history, policy)}
    judged = verdict.judge(candidate, history, policy, read.all(must, wanted))
    equal_to = judged.schema_version if judged.outcome is Outcome.EQUAL_VERSION else None
    return Answer(equal_to, judged.incompatibilities, judged.risks + judged.notes, _failure(judged.thrown))


def _compatibility(question: Question, parse: Parse) -> Answer:
    strategy, policy = question.strategy, question.policy
    schema = parse(question.candidate, policy.profile.line, validate_defaults=False)
    numbered = tuple(enumerate(question.history))
    considered = numbered if strategy.is_transitive else numbered[-1:]
    read = _Reading(question, parse, validate_defaults=False)
    if not strategy.is_transitive and any(_same_hash(info, question.candidate) for _, info in considered):
        found = verdict.compare_equal(schema, _equal(question, read), policy)
    else:
        found = verdict.compare(schema, _predecessors(question, schema, considered, read), strategy, policy)
    return Answer(None, found.incompatibilities, found.risks, _failure(found.thrown))


def _failure(thrown: Incompatibility | None) -> Refusal | None:
    return None if thrown is None else Refusal(thrown.rule, thrown.message, thrown.path)


def _equal(question: Question, read: "_Reading") -> Predecessor:
    """The latest version where its hash is the candidate's: no checker is asked, whatever else it is."""
    number = len(question.history) - 1
    kind = question.candidate.type
    wanted = {number} if formats.properties_matter(kind) else set()
    is_strict = question.policy.strictness is Strictness.STRICT
    return Predecessor(number, kind, read.all(wanted if is_strict else (), wanted).get(number))


def _predecessors(
    question: Question, candidate: Schema, considered: Sequence[tuple[int, SchemaInfo]], read: "_Reading"
) -> list[Predecessor]:
    strategy, kind, checkers = question.strategy, candidate.info.type, question.policy.profile.checkers
    wanted = {n for n, info in considered if compatibility.is_payload_wanted(strategy, kind, info.type, checkers)}
    needed = {n for n, info in considered if compatibility.is_payload_needed(strategy, kind, info.type, checkers)}
    schemas = read.all(wanted if question.policy.strictness is Strictness.STRICT else needed, wanted)
    return [Predecessor(number, info.type, schemas.get(number)) for number, info in considered]


_STEPS: Mapping[Step, Callable[[Question, Parse], Answer]] = {
    Step.REGISTER: _register,
    Step.COMPATIBILITY: _compatibility,
}


class _Reading:
    """Parses versions of a question's history by number; UnusableVersionError where that fails."""

    def __init__(self, question: Question, parse: Parse, *, validate_defaults: bool) -> None:
        self._question = question
        self._parse = parse
        self._validate_defaults = validate_defaults
        self._read: dict[int, Schema] = {}

    def __call__(self, schema_version: int) -> Schema:
        if schema_version not in self._read:
            info, line = self._question.history[schema_version], self._question.policy.profile.line
            try:
                schema = self._parse(info, line, validate_defaults=self._validate_defaults)
            except InvalidSchemaError as error:
                raise UnusableVersionError(schema_version, error) from None
            self._read[schema_version] = schema
        return self._read[schema_version]

    def all(self, must: Collection[int], wanted: Collection[int]) -> dict[int, Schema]:
        """The versions by number; of those that are wanted and no must, the ones that can be read."""
        found = {number: self(number) for number in must}
        for number in set(wanted) - set(must):
            with suppress(UnusableVersionError):
                found[number] = self(number)
        return found


def _entries(candidate: Schema, history: tuple[SchemaInfo, ...], read: _Reading) -> tuple[VersionEntry, ...]:
    """The history as a record, up to the first version that is equal to the candidate: the broker reads no further."""
    entries: list[VersionEntry] = []
    for number, info in enumerate(history):
        by_structure = {info.type, candidate.info.type} <= AVRO_TEXTS
        fingerprint = read(number).fingerprint if by_structure else fingerprint_of_bytes(info.type, info.schema)
        entries.append(VersionEntry(number, info.type, fingerprint, info.content_hash, Origin.BROKER, ""))
        if fingerprint == candidate.fingerprint:
            break
    return tuple(entries)


def _same_hash(one: SchemaInfo, other: SchemaInfo) -> bool:
    return one.type is other.type and one.schema == other.schema
