"""The compatibility check of a schema with earlier versions. `verdict` applies the policy to the result.

The order of checks is the broker's (SchemaRegistryServiceImpl.checkCompatible, Pulsar 4.0): the short circuit of
ALWAYS_COMPATIBLE, the type, the equal bytes of the latest-only path, then the type's own checker. The risks are in
addition: the broker does not check them, but they hurt consumers.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple

from topicschema.core import formats
from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.formats import Mismatch
from topicschema.core.formats.key_value import KeyValueSchema, Side
from topicschema.core.schemas import Schema, SchemaType
from topicschema.core.steps import MOST_STEPS, Listing, Steps, TooComplexError
from topicschema.core.strategies import Direction, Strategy

_EITHER = (Direction.BACKWARD,)
_PART_TYPE = "PART_TYPE_CHANGED"
TOO_COMPLEX: Final = "COMPARISON_TOO_COMPLEX"
MORE: Final = "MORE_FINDINGS"
OF_DELETED: Final = (
    "this version was deleted with its TopicSchema, and still counts: to allow the change, the owner of the policy "
    "adds an exception (constraints.exceptions)"
)
"""Note of a finding about a deleted version."""
_Question = Callable[[Schema, Schema, Steps], tuple[Mismatch, ...]]


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """One reason for which a schema is refused, or will hurt consumers.

    `rule` is a stable UPPER_SNAKE id (docs/rules.md), `path` a JSON path from `$` into the candidate's text.
    `direction` is None if both directions break alike. It and `schema_version` are None if no earlier version is
    involved. `earlier_path` is the path in that version's text, or empty.
    """

    rule: str
    path: str
    message: str
    direction: Direction | None = None
    schema_version: int | None = None
    earlier_path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Predecessor:
    """An earlier version to compare the candidate with. `name` is its name in messages, for instance `version 3`.

    `schema` may be None for a version whose type alone decides (see `is_payload_needed`).
    """

    schema_version: int | None
    type: SchemaType
    schema: Schema | None

    @property
    def name(self) -> str:
        """The version's name in messages."""
        return self.name_of(self.schema_version)

    @staticmethod
    def name_of(schema_version: int | None) -> str:
        """Return the name in messages of the version with that number."""
        if schema_version is None:
            return "the accepted edit that is not registered yet"
        return f"version {schema_version}"


def is_payload_needed(
    strategy: Strategy, candidate: SchemaType, predecessor: SchemaType, checkers: Checkers = BUILT_IN
) -> bool:
    """Return True if the check depends on the text of a predecessor of that type, False if its type alone decides."""
    decided = strategy in (Strategy.ALWAYS_COMPATIBLE, Strategy.ALWAYS_INCOMPATIBLE)
    return not decided and candidate == predecessor and (formats.has_checker(candidate) or candidate in checkers)


def is_payload_used(
    strategy: Strategy, candidate: SchemaType, predecessor: SchemaType, checkers: Checkers = BUILT_IN
) -> bool:
    """Return True if the check or the risks depend on the text."""
    if is_payload_needed(strategy, candidate, predecessor, checkers):
        return True
    if candidate != predecessor or not formats.has_risks(candidate):
        return False
    if strategy is Strategy.ALWAYS_COMPATIBLE:
        return candidate is SchemaType.KEY_VALUE  # whose parts may change their types, as a schema may
    return strategy is not Strategy.ALWAYS_INCOMPATIBLE


def uses_custom_checker(candidate: Schema, checkers: Container[SchemaType]) -> bool:
    """Return True if `check` may call one of `checkers` with the candidate or with a part of it."""
    return any(True for _ in _replaced(candidate, checkers))


def check(
    candidate: Schema,
    considered: Sequence[Predecessor],
    strategy: Strategy,
    checkers: Checkers = BUILT_IN,
    steps: Steps | None = None,
) -> tuple[Incompatibility, ...]:
    """Return every reason why `candidate` is incompatible, in order and within the limit of `Listing`.

    The result is empty if it is compatible. `considered` is what the strategy compares, oldest first: all versions
    since the last deletion for a transitive strategy, the latest otherwise, none for an empty history. Versions are
    compared newest first, as in the broker. The broker never resolves `strategy` to UNDEFINED; for it, the result is
    that of Pulsar's checkers.

    Each of `checkers` is called once with all versions, in place of the built-in one; its findings are last. If the
    built-in checkers need more than the remaining `steps`, the last finding is COMPARISON_TOO_COMPLEX and no checker is
    called.
    """
    if strategy is Strategy.ALWAYS_COMPATIBLE:
        return ()
    steps = steps or Steps()
    findings = Listing[Incompatibility]()
    for each in reversed(considered):
        try:
            findings += against(candidate, each, strategy, checkers, steps)
        except TooComplexError:
            return (*listed(findings), too_complex(each))
    findings += check_plugged(candidate, considered, strategy, checkers)
    return listed(findings)


def check_plugged(
    candidate: Schema, considered: Sequence[Predecessor], strategy: Strategy, checkers: Checkers
) -> Iterator[Incompatibility]:
    """Yield the findings of the plugged-in checkers, each of all versions together."""
    for part in _replaced(candidate, checkers) if checkers else ():
        yield from _of_plugged(part, checkers, candidate, considered, strategy)


def risks(
    candidate: Schema, considered: Sequence[Predecessor], strategy: Strategy, steps: Steps | None = None
) -> tuple[Incompatibility, ...]:
    """Return what the broker accepts and consumers then lose or misread, without the findings of `check`, in its order.

    The candidate's own risks are first, on an empty history too. `considered` is that of `check`; for a predecessor
    without its schema, only a change of type is reported. If this needs more than the remaining `steps`, the last
    finding is COMPARISON_TOO_COMPLEX.
    """
    steps = steps or Steps()
    findings = Listing(self_risks(candidate))
    for predecessor in reversed(considered):
        try:
            findings += risks_against(candidate, predecessor, strategy, steps)
        except TooComplexError:
            return (*listed(findings), too_complex(predecessor))
    return listed(findings)


def self_risks(candidate: Schema) -> Iterator[Incompatibility]:
    """Yield the risks of the candidate by itself."""
    for risk in formats.self_risks(candidate):
        yield Incompatibility(risk.rule, risk.reader_path, risk.message)


def risks_of_equal(
    candidate: Schema, predecessor: Predecessor, steps: Steps | None = None
) -> tuple[Incompatibility, ...]:
    """Return the risks if the broker takes `candidate` for an earlier version.

    They are the differences in properties by which clients read: types and encoding of a pair, the charset of a text.
    The versions in between are not compared: going back to an earlier version is always allowed.
    """
    if predecessor.schema is None or not formats.properties_matter(candidate.info.type):
        return ()
    steps, findings = steps or Steps(), Listing[Incompatibility]()
    try:
        findings += _in_directions(candidate, predecessor, predecessor.schema, _EITHER, steps, _all_that_hurts)
    except TooComplexError:
        return (too_complex(predecessor),)
    return listed(findings)


def risks_against(
    candidate: Schema, predecessor: Predecessor, strategy: Strategy, steps: Steps
) -> Iterator[Incompatibility]:
    """Yield the risks of `candidate` after that version.

    Raises TooComplexError if they need more than the remaining `steps`.
    """
    kind, earlier = candidate.info.type, predecessor.schema
    if kind != predecessor.type:
        if strategy is Strategy.ALWAYS_COMPATIBLE:
            yield _type_changed(kind, predecessor)
    elif earlier is None:
        return
    elif strategy is Strategy.ALWAYS_COMPATIBLE:
        findings = _in_directions(candidate, predecessor, earlier, _EITHER, steps, _all_that_hurts)
        yield from (each for each in findings if each.direction is None)
    elif not strategy.is_transitive and earlier.info.schema == candidate.info.schema:
        yield from risks_of_equal(candidate, predecessor, steps)
    else:
        yield from _in_directions(candidate, predecessor, earlier, strategy.directions, steps, formats.risks)


def _all_that_hurts(reader: Schema, writer: Schema, steps: Steps) -> tuple[Mismatch, ...]:
    """Return the risks, and the findings of the check that the broker skips here."""
    return (*formats.unreadable(reader, writer, steps), *formats.risks(reader, writer, steps))


def against(
    candidate: Schema, predecessor: Predecessor, strategy: Strategy, checkers: Container[SchemaType], steps: Steps
) -> Iterator[Incompatibility]:
    """Yield the findings of the built-in checkers for `candidate` after that version, but for the types in `checkers`.

    Raises TooComplexError as above.
    """
    kind = candidate.info.type
    if kind != predecessor.type:
        yield _type_changed(kind, predecessor)
    elif strategy is Strategy.ALWAYS_INCOMPATIBLE or (
        strategy is Strategy.UNDEFINED and (kind in checkers or formats.compares(candidate))
    ):
        yield _refusal(strategy.value, f"{strategy} admits no schema after {predecessor.name}", predecessor)
    elif kind not in checkers and formats.has_checker(kind) and predecessor.schema is not None:
        if _is_settled(candidate, predecessor.schema, strategy):
            return
        # Under UNDEFINED, only pairs whose parts have no checkers come here: only the parts' types can differ.
        findings = _in_directions(candidate, predecessor, predecessor.schema, strategy.directions or _EITHER, steps)
        replaced = [part.path for part in _replaced(candidate, checkers)]
        yield from (each for each in findings if each.rule == _PART_TYPE or not _is_below(each.path, replaced))


def _is_settled(candidate: Schema, earlier: Schema, strategy: Strategy) -> bool:
    """Return True if the bytes are equal. The registry compares hashes first, but only with the latest version."""
    return not strategy.is_transitive and earlier.info.schema == candidate.info.schema


def _is_below(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith((f"{place}.", f"{place}[")) for place in places)


class _Part(NamedTuple):
    """A part of a schema that a custom checker compares: all of it, or a pair's key or value."""

    path: str
    of: Callable[[Schema], Schema]


def _replaced(candidate: Schema, checkers: Container[SchemaType]) -> Iterator[_Part]:
    """Yield the parts of the candidate whose types are in `checkers`."""
    if candidate.info.type in checkers:
        yield _Part("$", lambda schema: schema)
    elif isinstance(candidate, KeyValueSchema):
        for side in Side:
            part = attrgetter(side.value)
            if part(candidate).info.type in checkers:
                yield _Part(f"$.{side}", part)


def _of_plugged(
    part: _Part, checkers: Checkers, candidate: Schema, considered: Sequence[Predecessor], strategy: Strategy
) -> Iterator[Incompatibility]:
    if not strategy.directions or any(each.type != candidate.info.type for each in considered):
        return  # a change of type is reported, and the broker goes no further
    read = [(each, each.schema) for each in considered if each.schema is not None]
    if not read or _is_settled(candidate, read[-1][1], strategy):
        return
    own = part.of(candidate).info
    alike = [(each, part.of(schema).info) for each, schema in read if part.of(schema).info.type is own.type]
    for finding in checkers[own.type].check(own, [info for _, info in alike], strategy) if alike else ():
        number = None if finding.earlier is None else alike[finding.earlier][0].schema_version
        yield Incompatibility(finding.rule, part.path + finding.path[1:], finding.message, finding.direction, number)


def _type_changed(kind: SchemaType, predecessor: Predecessor) -> Incompatibility:
    message = f"{predecessor.name} has type {predecessor.type}, the candidate {kind}"
    return _refusal("TYPE_CHANGED", message, predecessor)


def too_complex(predecessor: Predecessor, why: str = f"takes more than {MOST_STEPS:,} steps") -> Incompatibility:
    """Return the finding that the comparison was given up at that version."""
    message = (
        f"comparing {why} and was given up at {predecessor.name}; make unions smaller, and break circles of records"
    )
    return _refusal(TOO_COMPLEX, message, predecessor)


def listed(findings: Listing[Incompatibility]) -> tuple[Incompatibility, ...]:
    """Return the findings and, last, the number of the others."""
    if not findings.left_out:
        return tuple(findings.listed)
    return (*findings.listed, Incompatibility(MORE, "$", f"{findings.left_out:,} more are not listed"))


def _refusal(rule: str, message: str, predecessor: Predecessor) -> Incompatibility:
    return Incompatibility(rule, "$", message, None, predecessor.schema_version)


def _in_directions(  # noqa: PLR0913, PLR0917 - the schemas, the check, and its limit
    candidate: Schema,
    predecessor: Predecessor,
    earlier: Schema,
    directions: Sequence[Direction],
    steps: Steps,
    compare: _Question = formats.unreadable,
) -> Iterator[Incompatibility]:
    mutual: dict[tuple[str, str], Direction] = {}
    for direction in directions:
        backward = direction is Direction.BACKWARD
        reader, writer = (candidate, earlier) if backward else (earlier, candidate)
        for mismatch in compare(reader, writer, steps):
            path, earlier_path = mismatch.reader_path, mismatch.writer_path
            if not backward:
                path, earlier_path = earlier_path, path
            if mismatch.only_in not in (None, direction):
                continue
            if mismatch.is_mutual and mutual.setdefault((mismatch.rule, path), direction) is not direction:
                continue
            message = mismatch.message.replace("{reader}", "the candidate" if backward else predecessor.name)
            message = message.replace("{writer}", predecessor.name if backward else "the candidate")
            one_way = None if mismatch.is_mutual else direction
            yield Incompatibility(mismatch.rule, path, message, one_way, predecessor.schema_version, earlier_path)
