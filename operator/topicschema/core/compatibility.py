"""When one schema may follow others: the check, without policy. What a policy makes of it is `verdict`'s matter.

The order of questions is the broker's (SchemaRegistryServiceImpl.checkCompatible, line 4.0): the short circuit of
ALWAYS_COMPATIBLE, the type, the equal bytes of the latest-only path, then the type's own checker. Beside it stands what
the broker does not ask and consumers suffer from: the risks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from topicschema.core import formats
from topicschema.core.formats import Mismatch
from topicschema.core.schemas import Schema, SchemaType
from topicschema.core.strategies import Direction, Strategy

_EITHER = (Direction.BACKWARD,)
_Question = Callable[[Schema, Schema], tuple[Mismatch, ...]]


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """One reason why a schema is refused, or why it will hurt consumers.

    `rule` is a stable UPPER_SNAKE id (docs/rules.md), `path` the place in the candidate's text (a JSON path from `$`).
    `direction` is None where both directions break alike, it and `schema_version` where no earlier version is involved.
    """

    rule: str
    path: str
    message: str
    direction: Direction | None = None
    schema_version: int | None = None


@dataclass(frozen=True, slots=True)
class Predecessor:
    """An earlier version that the candidate is compared with; `name` is how messages call it, for instance `version 3`.

    `schema` may be None for a version whose type alone decides (see `is_payload_needed`).
    """

    schema_version: int | None
    type: SchemaType
    schema: Schema | None

    @property
    def name(self) -> str:
        """How messages call this version."""
        if self.schema_version is None:
            return "the accepted edit that is not registered yet"
        return f"version {self.schema_version}"


def is_payload_needed(strategy: Strategy, candidate: SchemaType, predecessor: SchemaType) -> bool:
    """Whether the text of a predecessor of that type matters to the answer, or its type alone decides."""
    decided = strategy in (Strategy.ALWAYS_COMPATIBLE, Strategy.ALWAYS_INCOMPATIBLE)
    return not decided and candidate == predecessor and formats.has_checker(candidate)


def is_payload_wanted(strategy: Strategy, candidate: SchemaType, predecessor: SchemaType) -> bool:
    """Whether the text of a predecessor of that type matters to the risks."""
    if candidate != predecessor or not formats.has_risks(candidate):
        return False
    if strategy is Strategy.ALWAYS_COMPATIBLE:
        return candidate is SchemaType.KEY_VALUE  # whose parts may change their types, as a schema may
    return strategy is not Strategy.ALWAYS_INCOMPATIBLE


def check(candidate: Schema, considered: Sequence[Predecessor], strategy: Strategy) -> tuple[Incompatibility, ...]:
    """Every reason why `candidate` may not follow, in order; empty when it may.

    `considered` holds what the strategy looks at, oldest first: all versions since the last deletion for a transitive
    strategy, the latest otherwise; none on an empty history. Versions are compared newest first, as the broker does.
    `strategy` is never UNDEFINED in a broker's own resolution; here it answers as Pulsar's checkers do.
    """
    if strategy is Strategy.ALWAYS_COMPATIBLE:
        return ()
    return tuple(
        incompatibility
        for predecessor in reversed(considered)
        for incompatibility in _against(candidate, predecessor, strategy)
    )


def risks(candidate: Schema, considered: Sequence[Predecessor], strategy: Strategy) -> tuple[Incompatibility, ...]:
    """What the broker lets pass, and consumers then lose or misread: nothing that `check` tells, in its order.

    First stands what the candidate does by itself, on an empty history too.

    `considered` is what `check` is given; nothing is told of a predecessor without its schema but a change of type.
    """
    return (
        *(Incompatibility(trap.rule, trap.reader_path, trap.message) for trap in formats.traps(candidate)),
        *(risk for predecessor in reversed(considered) for risk in _risks_against(candidate, predecessor, strategy)),
    )


def risks_of_equal(candidate: Schema, predecessor: Predecessor) -> tuple[Incompatibility, ...]:
    """What is wrong with taking `candidate` for an earlier version that the broker takes it for.

    That is what differs in properties by which clients read: types and encoding of a pair, the charset of a text. What
    the versions in between make of it is not asked: going back to an earlier version is always allowed.
    """
    if predecessor.schema is None or not formats.properties_matter(candidate.info.type):
        return ()
    return tuple(_in_directions(candidate, predecessor, predecessor.schema, _EITHER, _all_that_hurts))


def _risks_against(candidate: Schema, predecessor: Predecessor, strategy: Strategy) -> Iterator[Incompatibility]:
    kind, earlier = candidate.info.type, predecessor.schema
    if kind != predecessor.type:
        if strategy is Strategy.ALWAYS_COMPATIBLE:
            yield _type_changed(kind, predecessor)
    elif earlier is None:
        return
    elif strategy is Strategy.ALWAYS_COMPATIBLE:
        found = _in_directions(candidate, predecessor, earlier, _EITHER, _all_that_hurts)
        yield from (each for each in found if each.direction is None)
    elif not strategy.is_transitive and earlier.info.schema == candidate.info.schema:
        yield from risks_of_equal(candidate, predecessor)
    else:
        yield from _in_directions(candidate, predecessor, earlier, strategy.directions, formats.risks)


def _all_that_hurts(reader: Schema, writer: Schema) -> tuple[Mismatch, ...]:
    """Where the broker asks nothing: what its check would find, too."""
    return (*formats.unreadable(reader, writer), *formats.risks(reader, writer))


def _against(candidate: Schema, predecessor: Predecessor, strategy: Strategy) -> Iterator[Incompatibility]:
    kind = candidate.info.type
    if kind != predecessor.type:
        yield _type_changed(kind, predecessor)
    elif strategy is Strategy.ALWAYS_INCOMPATIBLE or (strategy is Strategy.UNDEFINED and formats.compares(candidate)):
        yield _refusal(strategy.value, f"{strategy} admits no schema after {predecessor.name}", predecessor)
    elif formats.has_checker(kind) and predecessor.schema is not None:
        if not strategy.is_transitive and predecessor.schema.info.schema == candidate.info.schema:
            return  # the registry compares hashes first, but only where it looks at the latest version alone
        # Under UNDEFINED only pairs come here whose parts have no checkers: all that can differ is the parts' types.
        yield from _in_directions(candidate, predecessor, predecessor.schema, strategy.directions or _EITHER)


def _type_changed(kind: SchemaType, predecessor: Predecessor) -> Incompatibility:
    message = f"{predecessor.name} has type {predecessor.type}, the candidate {kind}"
    return _refusal("TYPE_CHANGED", message, predecessor)


def _refusal(rule: str, message: str, predecessor: Predecessor) -> Incompatibility:
    return Incompatibility(rule, "$", message, None, predecessor.schema_version)


def _in_directions(
    candidate: Schema,
    predecessor: Predecessor,
    earlier: Schema,
    directions: Sequence[Direction],
    ask: _Question = formats.unreadable,
) -> Iterator[Incompatibility]:
    mutual: dict[tuple[str, str], Direction] = {}
    for direction in directions:
        backward = direction is Direction.BACKWARD
        reader, writer = (candidate, earlier) if backward else (earlier, candidate)
        for mismatch in ask(reader, writer):
            path = mismatch.reader_path if backward else mismatch.writer_path
            if mismatch.only_in not in (None, direction):
                continue
            if mismatch.is_mutual and mutual.setdefault((mismatch.rule, path), direction) is not direction:
                continue
            message = mismatch.message.replace("{reader}", "the candidate" if backward else predecessor.name)
            message = message.replace("{writer}", predecessor.name if backward else "the candidate")
            told = None if mismatch.is_mutual else direction
            yield Incompatibility(mismatch.rule, path, message, told, predecessor.schema_version)
