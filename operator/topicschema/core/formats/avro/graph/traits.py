"""Traits of a whole schema that a comparison depends on: aliases and recursive records.

An endless record directly contains itself, with no union, array or map in between, so no finite datum has its type.
Tangled records have a cycle of any kind with a field in it whose type is itself a record; endless records are among
them. A straight schema has no cycle, and no default that one of the Avro libraries cannot encode. So comparing a part
of it has no effect on other comparisons. A plain schema is straight and has no alias, so the result of comparing a part
of it depends on nothing else.
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
    """Return the traits of the schema. Those of a record are cached."""
    if isinstance(root, Record) and root.traits is not None:
        return root.traits
    survey = Survey()
    met: list[Record] = []
    cyclic = survey.walk(root, met) and _is_cyclic(met)
    traits = SchemaTraits(survey.aliased, cyclic, cyclic and _is_tangled(met))
    if isinstance(root, Record):
        root.traits = traits
    return traits


def is_straight(root: Node) -> bool:
    """Return True if the schema is straight. Walks over other schemas skip the records of a plain schema afterward."""
    traits = traits_of(root)
    if traits.is_straight is None:
        met: list[Record] = []
        Survey().walk(root, met)
        defaulted = (field for record in met for field in record.fields if field.default is not ABSENT)
        traits.is_straight = not traits.is_cyclic and are_fit(defaulted)
        for record in met if traits.is_plain else ():
            record.traits = record.traits or _PLAIN
    return traits.is_straight


_PLAIN: Final = SchemaTraits(is_aliased=False, is_cyclic=False, is_tangled=False, is_straight=True)


def _is_cyclic(records: list[Record]) -> bool:
    """Return True if the records have a cycle; they lead to no other records but plain ones."""
    inside = set(records)
    return cycles.find(records, lambda record: [each for each in _held(record) if each in inside]) is not None


class Survey:
    """A walk over schemas that visits each record once, so that repeated requests for a part cost nothing."""

    __slots__ = ("_endless", "_seen", "_steps", "aliased")

    def __init__(self, steps: Steps | None = None) -> None:
        self._steps = steps
        self.aliased = False
        """True if any part walked so far has an alias."""
        self._seen: set[Record] = set()
        self._endless: dict[Record, Record] = {}
        """The nearest endless record of each visited record that is endless or leads to an endless one."""

    def endless(self, root: Node) -> Record | None:
        """Return a record within `root`, at any depth, that directly contains itself, or None."""
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
        """Store which of the records that `walk` has just met lead to an endless one, each with the nearest."""
        behind: dict[Record, list[Record]] = {}
        for record in met:
            for held in _held(record):
                behind.setdefault(held, []).append(record)
        self._endless.update((record, record) for record in _on_direct_circles(met))
        reached = [record for record in behind if record in self._endless]
        for record in reached:  # the loop extends it
            for holder in behind.get(record, ()):
                if holder not in self._endless:
                    self._endless[holder] = self._endless[record]
                    reached.append(holder)

    def walk(self, root: Node, met: list[Record]) -> bool:
        """Add the unvisited records to `met`. Return True if a record was met twice, as in every cycle.

        Skip plain records: they have no alias and no cycle, and do not lead back to other records.
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
    """Return the records that directly contain themselves through these records alone."""
    inside = set(records)
    direct = {record: [each for each in _direct(record) if each in inside] for record in records}
    circles_and_others = components(direct)
    return [each for some in circles_and_others for each in some if len(some) > 1 or each in direct[each]]


def _is_tangled(records: list[Record]) -> bool:
    """Return True if a direct field remains without the records that lead to no cycle or that no cycle leads to."""
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
    """Return the records that a record contains with no other record in between, in a stable order."""
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
    """Remove records without an edge until all others have one. `others` are the same edges, reversed."""
    loose = [record for record, held in edges.items() if not held]
    while loose:
        record = loose.pop()
        for each in others.pop(record):
            edges[each].discard(record)
            if not edges[each]:
                loose.append(each)
        del edges[record]
