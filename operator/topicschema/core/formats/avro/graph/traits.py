"""What must be known of a schema as a whole before it is compared: aliases, and records that come back to themselves.

An endless record directly contains itself, with no union, array or map in between, so no finite datum has its type.
Tangled records have a circle of any kind with a field in it that is itself a record; endless ones are among them.
A straight schema has no circle, and no default that one of the libraries cannot put in: comparing a part of it leaves
nothing behind that matters to others. A plain one has no alias either: what comes of comparing a part of it depends on
nothing else then.
"""

from typing import Any, Final

from topicschema.core.formats.avro.graph import cycles
from topicschema.core.formats.avro.graph.components import components
from topicschema.core.formats.avro.model import (
    ABSENT,
    Array,
    Enum,
    Fixed,
    Map,
    Node,
    Primitive,
    Record,
    SchemaTraits,
    Union,
)
from topicschema.core.formats.avro.resolution.default_encoding import are_fit
from topicschema.core.steps import PER_DEFAULT, Steps

_ALIASED = frozenset({Enum, Fixed})


def traits_of(root: Node) -> SchemaTraits:
    """What is known of the schema; it is found out once of a record."""
    if isinstance(root, Record) and root.traits is not None:
        return root.traits
    survey = Survey()
    met: list[Record] = []
    tangled = survey.walk(root, met) and _is_tangled(met)
    traits = SchemaTraits(survey.aliased, tangled)
    if isinstance(root, Record):
        root.traits = traits
    return traits


def is_straight(root: Node) -> bool:
    """Whether the schema is straight. What is known to be plain is not walked again as a part of another schema."""
    traits = traits_of(root)
    if traits.is_straight is None:
        met: list[Record] = []
        Survey().walk(root, met)
        traits.is_straight = not traits.is_tangled and _are_straight(met)
        for record in met if traits.is_plain else ():
            record.traits = record.traits or _PLAIN
    return traits.is_straight


_PLAIN: Final = SchemaTraits(is_aliased=False, is_tangled=False, is_straight=True)


def _are_straight(records: list[Record]) -> bool:
    """Whether records are straight that lead to no others but plain ones."""
    inside = set(records)
    if cycles.find(records, lambda record: [each for each in _held(record) if each in inside]) is not None:
        return False
    return are_fit(field for record in records for field in record.fields if field.default is not ABSENT)


class Survey:
    """Walks a schema and remembers what it has seen, so that parts asked about again cost nothing."""

    __slots__ = ("_endless", "_seen", "_steps", "aliased")

    def __init__(self, steps: Steps | None = None) -> None:
        self._steps = steps
        self.aliased = False
        """Whether anything walked so far has an alias."""
        self._seen: set[Record] = set()
        self._endless: dict[Record, Record] = {}
        """Those of the records asked about, and of all they lead to, that are endless or lead to such a record."""

    def endless(self, root: Node) -> Record | None:
        """A record within `root`, at any depth, that directly contains itself; None when there is none."""
        stack: list[Node] = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, Record):
                found = self._endless_in(node)
                if found is not None:
                    return found
            elif isinstance(node, Union):
                stack += node.branches
            elif isinstance(node, Array | Map):
                stack.append(node.items if isinstance(node, Array) else node.values)
        return None

    def _endless_in(self, record: Record) -> Record | None:
        if record not in self._seen:
            met: list[Record] = []
            is_again = self.walk(record, met)
            if self._steps:
                self._steps.take(PER_DEFAULT * len(met))
            if is_again and (len(met) > 1 or self._endless or record in _direct(record)):
                self._trace_back(met)
        return self._endless.get(record)

    def _trace_back(self, met: list[Record]) -> None:
        """Note which of the records that `walk` has just met lead to an endless one, each to the nearest."""
        behind: dict[Record, list[Record]] = {}
        for record in met:
            for held in _held(record):
                behind.setdefault(held, []).append(record)
        self._endless.update((record, record) for record in _on_direct_circles(met))
        reached = [record for record in behind if record in self._endless]
        for record in reached:  # grows while it is gone through
            for holder in behind.get(record, ()):
                if holder not in self._endless:
                    self._endless[holder] = self._endless[record]
                    reached.append(holder)

    def walk(self, root: Node, met: list[Record]) -> bool:
        """Add the records not seen before to `met`; whether one was met twice, as every circle has it.

        What is known to be plain is passed by: it has nothing that is looked for, and leads back to nothing.
        """
        again = False
        seen = self._seen
        stack: list[Any] = [root]
        while stack:
            node = stack.pop()
            kind = node.__class__
            if kind is Record:
                if node in seen:
                    again = True
                elif node.traits is None or not node.traits.is_plain:
                    seen.add(node)
                    met.append(node)
                    self._enter(node, stack)
            elif kind is Union:
                stack += node.branches
            elif kind is Array or kind is Map:
                stack.append(node.items if kind is Array else node.values)
            elif kind in _ALIASED and node.aliases:
                self.aliased = True
        return again

    def _enter(self, record: Record, stack: list[Any]) -> None:
        if record.aliases:
            self.aliased = True
        for field in record.fields:
            if field.aliases:
                self.aliased = True
            if field.type.__class__ is not Primitive:
                stack.append(field.type)


def _direct(record: Record) -> list[Record]:
    return [field.type for field in record.fields if isinstance(field.type, Record)]


def _on_direct_circles(records: list[Record]) -> list[Record]:
    """Those that directly contain themselves by way of these records alone."""
    inside = set(records)
    direct = {record: [each for each in _direct(record) if each in inside] for record in records}
    circles_and_others = components(direct)
    return [each for some in circles_and_others for each in some if len(some) > 1 or each in direct[each]]


def _is_tangled(records: list[Record]) -> bool:
    """Whether a direct field is left when all that leads nowhere, or is led to from nowhere, is taken away."""
    inside = set(records)
    ahead = {record: inside.intersection(_held(record)) for record in records}
    behind: dict[Record, set[Record]] = {record: set() for record in records}
    for record, held in ahead.items():
        for each in held:
            behind[each].add(record)
    _peel(ahead, behind)
    _peel(behind, ahead)
    return any(each in ahead for record in ahead for each in _direct(record))


def _held(record: Record) -> dict[Record, None]:
    """The records that a record holds, with no other record in between; always in the same order."""
    held: dict[Record, None] = {}
    stack: list[Node] = [field.type for field in record.fields]
    while stack:
        node = stack.pop()
        if isinstance(node, Record):
            held[node] = None
        elif isinstance(node, Union):
            stack += node.branches
        elif isinstance(node, Array | Map):
            stack.append(node.items if isinstance(node, Array) else node.values)
    return held


def _peel(edges: dict[Record, set[Record]], others: dict[Record, set[Record]]) -> None:
    """Take away what has no edge, until all that is left has one; `others` are the same edges, backwards."""
    loose = [record for record, held in edges.items() if not held]
    while loose:
        record = loose.pop()
        for each in others.pop(record):
            edges[each].discard(record)
            if not edges[each]:
                loose.append(each)
        del edges[record]
