"""Reasons why a reader cannot read a writer: the faults, collected in the reader's order, and their messages.

Faults are stored without messages at first: most of them belong to union branches that were only tried.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from topicschema.core.formats.avro.graph.trampoline import Computation
from topicschema.core.formats.avro.model import Field, Fixed, Named, Node, Primitive, Record, Union
from topicschema.core.formats.avro.names import shown
from topicschema.core.formats.format import Mismatch
from topicschema.core.steps import PER_FINDING, Steps


class ReadingRule(StrEnum):
    """The rules of reading, by the IDs in docs/rules.md."""

    TYPE_MISMATCH = "TYPE_MISMATCH"
    NAME_MISMATCH = "NAME_MISMATCH"
    FIXED_SIZE = "FIXED_SIZE"
    FIELD_WITHOUT_DEFAULT = "FIELD_WITHOUT_DEFAULT"
    INVALID_DEFAULT = "INVALID_DEFAULT"
    RECURSIVE_DEFAULT = "RECURSIVE_DEFAULT"
    NO_UNION_BRANCH = "NO_UNION_BRANCH"
    UNION_BRANCH_UNREADABLE = "UNION_BRANCH_UNREADABLE"
    INFINITE_RECORD = "INFINITE_RECORD"
    RECURSIVE_RECORD_CRASHES_AVRO = "RECURSIVE_RECORD_CRASHES_AVRO"
    ALIAS_CONFLICT = "ALIAS_CONFLICT"
    INVALID_WRITER_DEFAULT = "INVALID_WRITER_DEFAULT"
    DOLLAR_IN_NAME = "DOLLAR_IN_NAME"


@dataclass(slots=True, eq=False)
class Fault:
    """One part that cannot be read: a rule, the places in both schemas, and details for the message."""

    rule: ReadingRule
    reader: Node | Field
    writer: Node | Field
    detail: str = ""
    tried: "tuple[SchemaPair, ...]" = ()


@dataclass(slots=True, eq=False)
class SchemaPair:
    """A writer's and a reader's record, compared once.

    `parts` has the outcomes by the reader's field, with None for those of no field. If `lacks_field` or `wrong_field`
    is True, Avro rejects the pair when it tries a union's branch. The pair is open until all fields have been compared.
    `reason` is the cache of the reason, for messages.
    """

    writer: Record
    reader: Record
    parts: "list[tuple[Field | None, TypeOutcome]]" = field(default_factory=list)
    lacks_field: bool = False
    wrong_field: bool = False
    is_open: bool = True
    reason: str = ""

    def add(self, read: Field, outcome: "TypeOutcome") -> None:
        """Add the outcome of a field that both records have."""
        self.parts.append((read, outcome))
        if outcome.__class__ is Fault or (outcome.__class__ is SchemaPair and outcome.lacks_field):
            self.wrong_field = True


@dataclass(slots=True, eq=False)
class Nested:
    """The outcomes within a union, an array or a map."""

    parts: "tuple[TypeOutcome, ...]"


TypeOutcome = Fault | SchemaPair | Nested
"""The outcome of comparing two types. None means readable, with no part to revisit."""


def inner(answer: TypeOutcome | None) -> Nested | None:
    """Return the outcome of a part as that of its whole."""
    return None if answer is None else Nested((answer,))


def inner_later(step: Computation[TypeOutcome | None]) -> Computation[TypeOutcome | None]:
    """Return the outcome as `inner` does, after running the step."""
    return inner((yield step))


def mismatches(outcome: TypeOutcome | None, fatal: Iterable[Fault], steps: Steps) -> tuple[Mismatch, ...]:
    """Return all faults in `outcome`, in the reader's field order, each once, and then the other faults in `fatal`."""
    listed: dict[tuple[ReadingRule, object, object], Mismatch] = {}
    faults = [(outcome, None)] if outcome.__class__ is Fault else _faults(outcome, steps)
    for fault, within in (*faults, *[(fault, None) for fault in fatal]):
        # An infinite record is one cause, for all writers.
        key = fault.rule, fault.reader, None if fault.rule is ReadingRule.INFINITE_RECORD else fault.writer
        if key not in listed:
            steps.take(PER_FINDING)
            where = "" if within is None or within is fault.reader else f"{_field(within)}: "
            message = where + _MESSAGES[fault.rule](fault)
            listed[key] = Mismatch(str(fault.rule), message, fault.reader.path, fault.writer.path)
    return tuple(listed.values())


def _faults(outcome: TypeOutcome | None, steps: Steps) -> list[tuple[Fault, Field | None]]:
    """Return each fault in `outcome` with the reader's field, in the reader's field order. Visit each pair once."""
    faults: list[tuple[Fault, Field | None]] = []
    ahead: list[tuple[TypeOutcome, Field | None]] = [] if outcome is None else [(outcome, None)]
    visited: set[SchemaPair] = set()
    while ahead:
        following, within = ahead.pop()
        steps.take()
        if isinstance(following, Nested):
            ahead.extend((part, within) for part in reversed(following.parts))
        elif isinstance(following, Fault):
            faults.append((following, within))
        elif following not in visited:
            visited.add(following)
            steps.take(len(following.reader.fields))
            ahead.extend(reversed(_in_reader_order(following)))
    return faults


def _in_reader_order(pair: SchemaPair) -> list[tuple[TypeOutcome, Field | None]]:
    if len(pair.parts) == 1:
        return [pair.parts[0][::-1]]
    position: dict[Field | None, int] = {each: index for index, each in enumerate(pair.reader.fields)}
    position[None] = len(position)
    return [(part, each) for each, part in sorted(pair.parts, key=lambda part: position[part[0]])]


def _kind(node: Node | Field) -> str:
    """Return the name of a type for messages."""
    if isinstance(node, Primitive):
        return node.kind
    kind = type(node).__name__.lower()
    return f"{kind} {shown(node.full_name)}" if isinstance(node, Named) else kind


def _branches(node: Node | Field) -> str:
    branches = node.branches if isinstance(node, Union) else ()
    more = len(branches) - _SHOWN_BRANCHES
    return ", ".join(map(_kind, branches[:_SHOWN_BRANCHES])) + (f" and {more} more" if more > 0 else "") or "nothing"


_SHOWN_BRANCHES: Final = 8


def _type_mismatch(fault: Fault) -> str:
    return f"{{writer}} has {_kind(fault.writer)} where {{reader}} has {_kind(fault.reader)}, which cannot read it"


def _name_mismatch(fault: Fault) -> str:
    return (
        f"{{writer}} has {_kind(fault.writer)} where {{reader}} has {_kind(fault.reader)}; give the reader's "
        "the same name, or the writer's name as an alias"
    )


def _fixed_size(fault: Fault) -> str:
    sizes = [node.size for node in (fault.writer, fault.reader) if isinstance(node, Fixed)]
    return (
        f"{_kind(fault.writer)} has {sizes[0]} bytes in {{writer}} and {sizes[1]} in {{reader}}; a size cannot change"
    )


def _field_without_default(fault: Fault) -> str:
    return (
        f"{_field(fault.reader)} of {{reader}} is not in {{writer}} ({_kind(fault.writer)}) and has no default; "
        "give it a default"
    )


def _bad_default(fault: Fault) -> str:
    return (
        f"{_field(fault.reader)} of {{reader}} is not in {{writer}} ({_kind(fault.writer)}), and its default "
        f"{fault.detail}"
    )


def _no_union_branch(fault: Fault) -> str:
    tried = "".join(f"; {_kind(pair.reader)} was tried: {_first_reason(pair)}" for pair in fault.tried)
    return (
        f"{{writer}} has {_kind(fault.writer)}, for which the union of {{reader}} has no branch; "
        f"it has {_branches(fault.reader)}{tried}"
    )


def _first_reason(pair: SchemaPair) -> str:
    """Return a short reason why a tried branch does not take the record."""
    if not pair.reason:
        parts = ((each, part) for each, part in pair.parts if each is not None)
        pair.reason = next((_reason(each, part) for each, part in parts if _is_refused(part)), "it does not fit")
    return pair.reason


def _is_refused(part: TypeOutcome) -> bool:
    return isinstance(part, Fault) or (isinstance(part, SchemaPair) and part.lacks_field)


def _reason(each: Field, part: TypeOutcome) -> str:
    lacking = isinstance(part, Fault) and part.rule is ReadingRule.FIELD_WITHOUT_DEFAULT
    return f"{_field(each)} " + ("has no default" if lacking else "has another type")


def _union_branch_unreadable(fault: Fault) -> str:
    return (
        f"the union of {{writer}} allows {_kind(fault.writer)}, which {_kind(fault.reader)} of {{reader}} cannot read"
    )


def _infinite_record(fault: Fault) -> str:
    return (
        f"record {fault.detail} contains itself directly, so no message can have it, and the broker fails on "
        "it; put a union with null, an array or a map in between"
    )


def _crash(fault: Fault) -> str:
    outer = f"record {fault.detail}"
    return (
        f"{_kind(fault.reader)} comes back to itself in an array or a map, and directly holds {outer}, of which it is "
        f"a part; the broker fails on that (NullPointerException); make the field of {outer} a union with null"
    )


def _alias_conflict(fault: Fault) -> str:
    what = "field" if isinstance(fault.reader, Field) else "union branch"
    return (
        f"the aliases in {{reader}} give a {what} of {{writer}} the name {shown(_name(fault.reader))}, "
        f"which another {what} beside it has already; remove the alias"
    )


def _invalid_writer_default(fault: Fault) -> str:
    return f"{{reader}} has aliases, so Avro checks all defaults of {{writer}}: {fault.detail}"


def _dollar_in_name(fault: Fault) -> str:
    return (
        f"{{reader}} has aliases, so Avro reads the names in {{writer}} again, and then refuses the $ in "
        f"{fault.detail}; do without aliases"
    )


def _field(place: Node | Field) -> str:
    return f"field {shown(_name(place))}"


def _name(place: Node | Field) -> str:
    return place.name if isinstance(place, Field) else place.full_name if isinstance(place, Named) else "?"


_MESSAGES: Final[Mapping[ReadingRule, Callable[[Fault], str]]] = MappingProxyType(
    {
        ReadingRule.TYPE_MISMATCH: _type_mismatch,
        ReadingRule.NAME_MISMATCH: _name_mismatch,
        ReadingRule.FIXED_SIZE: _fixed_size,
        ReadingRule.FIELD_WITHOUT_DEFAULT: _field_without_default,
        ReadingRule.INVALID_DEFAULT: _bad_default,
        ReadingRule.RECURSIVE_DEFAULT: _bad_default,
        ReadingRule.NO_UNION_BRANCH: _no_union_branch,
        ReadingRule.UNION_BRANCH_UNREADABLE: _union_branch_unreadable,
        ReadingRule.INFINITE_RECORD: _infinite_record,
        ReadingRule.RECURSIVE_RECORD_CRASHES_AVRO: _crash,
        ReadingRule.ALIAS_CONFLICT: _alias_conflict,
        ReadingRule.INVALID_WRITER_DEFAULT: _invalid_writer_default,
        ReadingRule.DOLLAR_IN_NAME: _dollar_in_name,
    }
)
